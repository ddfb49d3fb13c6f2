/* Datagrams from inside: whom they were for, and answers that come from there.
 *
 * One socket takes what was sent to its port at any address; the kernel tells the
 * address with each datagram, and takes it back as the source of the answer. */
#ifndef GATE_INSIDE_H
#define GATE_INSIDE_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "policy/host.h"

/* As the kernel gave it, to be given back. */
struct inside_origin {
	struct sockaddr_storage from;
	socklen_t n_from;
	size_t n_control;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct in6_pktinfo))];
};

/* The length of one datagram, or -1: there is none. */
ssize_t inside_recv(int fd, void *bytes, size_t max, struct inside_origin *ret);
/* The address that it was sent to; false: the kernel did not tell. */
bool inside_target(const struct inside_origin *o, struct host_addr *ret);
/* Back to where it came from; what cannot be sent is lost, as datagrams are. */
void inside_send(int fd, struct inside_origin *o, const void *bytes, size_t n);

#endif

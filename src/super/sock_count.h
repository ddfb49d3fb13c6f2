/* The memory in buffers of a tree's sockets, which is in no process's count.
 *
 * Asked of the kernel by a socket of its own (NETLINK_SOCK_DIAG) that was made in
 * the tree's network namespace: it lists the sockets of that alone.
 */
#ifndef SUPER_SOCK_COUNT_H
#define SUPER_SOCK_COUNT_H

#include <stddef.h>
#include <stdint.h>

/* What one socket holds at the most, both ways: net.ipv4.tcp_rmem and tcp_wmem as they
 * are set inside, and more than net.core.wmem_default. */
#define SOCK_MOST_BYTES	(1 << 20)

/* How many there are, with those that are closed while their bytes are still to be
 * read; 0 where that can not be told. */
int64_t sock_count(int proc_fd);
/* How many of `n` are of no protocol's list: they are not, or no longer, bound. */
int64_t sock_count_strays(int proc_fd, int64_t n);
/* Bytes that `n` sockets and their buffers take; `room` is for what the kernel says. */
int64_t sock_measure(int diag_fd, int64_t n, int64_t strays, void *room, size_t size);
/* Of those that no group of processes is charged for: connections that nobody has accepted
 * yet, what UDP holds, and what was sent and waits to be read as an error. */
int64_t sock_measure_uncharged(int diag_fd, int proc_fd, int64_t n, void *room, size_t size);

#endif

/* Asking the machine's name servers for the addresses of a name; blocks.
 *
 * Not by the C library: musl, with which the program is linked, knows no DNS over TCP before
 * 1.2.4, and waits seconds for the second of two answers though it has the first.
 */
#ifndef GATE_ASK_H
#define GATE_ASK_H

#include <sys/socket.h>

#include "gate/resolve_priv.h"

#define MAX_NAME_SERVERS	3	/* as every resolver reads of the list */

struct name_servers {
	size_t n;
	struct sockaddr_storage list[MAX_NAME_SERVERS];
	socklen_t size[MAX_NAME_SERVERS];
	int wait_ms;			/* for an answer of one of them */
	int rounds;			/* through all of them */
};

/* No line of a list was read yet. */
#define NAME_SERVERS	((struct name_servers){ .wait_ms = 5000, .rounds = 2 })
/* A line of resolv.conf(5); cuts it into words.  Names are whole here: what is to be added to
 * others (search, ndots) does not count. */
void name_servers_read(struct name_servers *s, char *line);

/* Without a list, the server is the machine's own.  Adds what is found to `ret`. */
void ask_servers(const struct name_servers *s, const char *name, struct resolve_answer *ret);

#endif

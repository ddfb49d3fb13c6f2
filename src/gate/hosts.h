/* Lines of /etc/hosts, as hosts(5) has them. */
#ifndef GATE_HOSTS_H
#define GATE_HOSTS_H

#include <stdbool.h>

struct host_addr;

/* Does this line give `name` an address?  Then that is it.  Cuts the line into words. */
bool hosts_line_has(char *line, const char *name, struct host_addr *ret);

#endif

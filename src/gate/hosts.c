/* Lines of /etc/hosts; pure.  Run by a worker of the resolver. */
#include "gate/hosts.h"

#include <string.h>
#include <strings.h>

#include "policy/host.h"

static char *take_word(char **rest)
{
	char *word = *rest + strspn(*rest, " \t\r\n");

	*rest = word + strcspn(word, " \t\r\n");
	if (**rest)
		*(*rest)++ = '\0';
	return *word ? word : NULL;
}

bool hosts_line_has(char *line, const char *name, struct host_addr *ret)
{
	char *address, *word;

	line[strcspn(line, "#")] = '\0';
	address = take_word(&line);
	while ((word = take_word(&line)))
		if (strcasecmp(word, name) == 0)
			return host_addr_parse(str_from(address), ret);
	return false;
}

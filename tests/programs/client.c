/* GETs a path of a host by its name: client HOST PORT PATH.  For a libc that
 * resolves names in its own way. */
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int dial(const char *host, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list;
	int fd = -1, rc = getaddrinfo(host, port, &hints, &list);

	if (rc != 0) {
		fprintf(stderr, "%s\n", gai_strerror(rc));
		return -1;
	}
	for (struct addrinfo *i = list; i && fd < 0; i = i->ai_next) {
		fd = socket(i->ai_family, i->ai_socktype, i->ai_protocol);
		if (fd >= 0 && connect(fd, i->ai_addr, i->ai_addrlen) < 0) {
			perror("connect");
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(list);
	return fd;
}

int main(int argc, char **argv)
{
	char text[4096];
	ssize_t n, all = 0;
	int fd = argc == 4 ? dial(argv[1], argv[2]) : -1;

	if (fd < 0)
		return 1;
	n = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n",
		     argv[3], argv[1]);
	if (write(fd, text, (size_t)n) != n)
		return 1;
	while ((n = read(fd, text + all, sizeof(text) - 1 - (size_t)all)) > 0)
		all += n;
	text[all] = '\0';
	fputs(text, stdout);
	return strstr(text, " 200 OK") ? 0 : 1;
}

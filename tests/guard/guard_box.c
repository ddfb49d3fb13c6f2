/* guard-box [-g NAME]... [-a ALIAS] [-d FILE] [-u] [-l] [-o] DIR COMMAND...
 *
 * Runs a command in a cage with guarded names: -u unguarded, -l with Landlock,
 * -o the inside outlives us, -d writes the refusals to a file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "box.h"

int main(int argc, char **argv)
{
	const char *names[64];
	struct box b = { .names = names };
	int c;

	while ((c = getopt(argc, argv, "+g:a:d:ulo")) != -1) {
		switch (c) {
		case 'g':
			if (b.n_names < 64)
				names[b.n_names++] = optarg;
			break;
		case 'a':
			b.alias = optarg;
			break;
		case 'd':
			b.denials = optarg;
			break;
		case 'u':
			b.unguarded = true;
			break;
		case 'l':
			b.landlock = true;
			break;
		case 'o':
			b.outlive = true;
			break;
		default:
			return 125;
		}
	}
	if (argc - optind < 2)
		return 125;
	b.dir = argv[optind];
	if (box_start(&b, argv + optind + 1, NULL, NULL) < 0) {
		fprintf(stderr, "guard-box: cannot start\n");
		return 125;
	}
	return box_wait(&b);
}

/* The recordings among the seeds of tests/fuzz: whole streams of real clients. */
#ifndef TESTS_UNIT_PEEK_CORPUS_H
#define TESTS_UNIT_PEEK_CORPUS_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

/* Calls `check` for each file of the corpus whose name begins with `prefix`;
 * returns how many there are. */
static int corpus_each(const char *corpus, const char *prefix,
		       void (*check)(const char *name, const unsigned char *bytes, size_t n))
{
	char path[4096];
	struct dirent **entries;
	int n, found = 0;

	snprintf(path, sizeof(path), "%s/%s", CORPUS_DIR, corpus);
	n = scandir(path, &entries, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		static unsigned char bytes[MAX_PEEK_HELD];
		const char *name = entries[i]->d_name;
		FILE *f = NULL;

		snprintf(path, sizeof(path), "%s/%s/%s", CORPUS_DIR, corpus, name);
		if (strncmp(name, prefix, strlen(prefix)) == 0)
			f = fopen(path, "re");
		if (f) {
			check(name, bytes, fread(bytes, 1, sizeof(bytes), f));
			found++;
			fclose(f);
		}
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return found;
}

#endif

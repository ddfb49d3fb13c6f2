/* Run the files of the folders given through one fuzz target. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int run_file(const char *folder, const char *name)
{
	static uint8_t data[1 << 20];
	char path[4096];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "re");
	if (!f) {
		perror(path);
		return 1;
	}
	n = fread(data, 1, sizeof(data), f);
	fclose(f);
	LLVMFuzzerTestOneInput(data, n);
	return 0;
}

static int run_folder(const char *folder)
{
	DIR *d = opendir(folder);
	int failed = 0, n = 0;

	if (!d) {
		perror(folder);
		return 1;
	}
	for (struct dirent *e; (e = readdir(d));) {
		if (e->d_name[0] == '.')
			continue;
		failed |= run_file(folder, e->d_name);
		n++;
	}
	closedir(d);
	printf("%s: %d files\n", folder, n);
	return failed || n == 0;
}

int main(int argc, char **argv)
{
	int failed = argc < 2;

	for (int i = 1; i < argc; i++)
		failed |= run_folder(argv[i]);
	return failed;
}

/* The file of --result.  What runs meanwhile may own the folder that it lies in
 * and is not to be trusted: the place is opened before, and no link of its
 * making is followed after. */
#ifndef CLI_RESULT_FILE_H
#define CLI_RESULT_FILE_H

struct result_file {
	int dir;		/* the folder, or -1: `fd` is written as it is */
	int fd;
	char name[256];		/* in the folder */
	char folder[4096];	/* its path, which the command may have given to another */
};

/* Before the run.  -1 with errno. */
int result_file_open(struct result_file *f, const char *path);
/* After it: the file is there as a whole, or not at all (`text` NULL: nothing was run),
 * also where an earlier run has left one.  -1 with errno. */
int result_file_close(struct result_file *f, const char *text);
/* Instead of that, where nothing was meant to be run: what is there stays. */
void result_file_release(struct result_file *f);

#endif

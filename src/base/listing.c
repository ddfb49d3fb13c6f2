/* The names in a folder; see listing.h. */
#include "base/listing.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/fd.h"
#include "base/macros.h"
#include "base/syscalls.h"

#define XFS_MAGIC	0x58465342
/* Reading a larger one costs more than asking for a hundred names. */
#define MAX_FOLDER	8192

/* Can a name only be found there that is listed, in some case of its letters?  Not
 * where a server or another file system decides: some hide what they have. */
static bool lists_all(int dir)
{
	static const unsigned long types[] = { EXT4_SUPER_MAGIC, TMPFS_MAGIC, XFS_MAGIC,
					       BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC };
	struct statfs fs;
	struct stat st;

	if (fstatfs(dir, &fs) < 0 || fstat(dir, &st) < 0 || st.st_size > MAX_FOLDER)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if ((unsigned long)fs.f_type == types[i])
			return true;
	return false;
}

static unsigned char small(char c)
{
	return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

/* FNV-1a of the name in small letters, cut to the marks there are. */
static size_t mark_of(struct str name)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < name.n; i++)
		hash = (hash ^ small(name.s[i])) * 16777619u;
	return (hash ^ hash >> 16) % (64 * LISTING_MARKS);
}

/* False: there is no room; or it is none of ASCII, and a file system that folds the
 * case of letters may take it for one that is. */
static bool add(struct listing *l, unsigned char type, const char *name)
{
	size_t n = strlen(name) + 1, mark = mark_of(str_from(name));

	for (const char *at = name; *at; at++)
		if ((unsigned char)*at >= 0x80)
			return false;
	if (n + 1 > sizeof(l->names) - l->n)
		return false;
	l->names[l->n] = (char)type;
	memcpy(l->names + l->n + 1, name, n);
	l->n += n + 1;
	l->marks[mark / 64] |= 1ull << mark % 64;
	return true;
}

static bool read_names(struct listing *l, int dir)
{
	_Alignas(struct dirent64) char entries[4096];
	ssize_t n;

	while ((n = sys_getdents64(dir, entries, sizeof(entries))) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *e = (const void *)(entries + at);

			if (!add(l, e->d_type, e->d_name))
				return false;
			at += e->d_reclen;
		}
	return n == 0;
}

void listing_read(struct listing *l, int dir)
{
	/* Nobody shall see from its times that we looked. */
	cleanup_fd int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC);

	l->n = 0;
	memset(l->marks, 0, sizeof(l->marks));
	l->whole = fd >= 0 && lists_all(fd) && read_names(l, fd);
}

static enum listing_kind kind_of(unsigned char type)
{
	if (type == DT_UNKNOWN)
		return LISTING_UNSURE;
	return type == DT_LNK ? LISTING_LINK : LISTING_OTHER;
}

enum listing_kind listing_find(const struct listing *l, struct str name)
{
	enum listing_kind found = LISTING_NONE;
	size_t mark = mark_of(name);

	if (!l->whole)
		return LISTING_UNSURE;
	if (!(l->marks[mark / 64] & 1ull << mark % 64))
		return LISTING_NONE;
	for (const char *at = l->names; at < l->names + l->n; at += strlen(at + 1) + 2) {
		if (strncasecmp(at + 1, name.s, name.n) != 0 || at[1 + name.n])
			continue;
		/* One in another case of its letters may be something else. */
		if (found != LISTING_NONE)
			return LISTING_UNSURE;
		found = kind_of((unsigned char)*at);
	}
	return found;
}

bool listing_lacks(const struct listing *l, const char *name)
{
	return listing_find(l, str_from(name)) == LISTING_NONE;
}

/* Landlock's rights, by the ABI that brought them.  Our own copy: the headers
 * of a distribution are often older than the kernel it runs on. */
#ifndef PLAN_LANDLOCK_H
#define PLAN_LANDLOCK_H

#include <stdint.h>

#define LL_EXECUTE	(UINT64_C(1) << 0)
#define LL_WRITE_FILE	(UINT64_C(1) << 1)
#define LL_READ_FILE	(UINT64_C(1) << 2)
#define LL_READ_DIR	(UINT64_C(1) << 3)
#define LL_REMOVE_DIR	(UINT64_C(1) << 4)
#define LL_REMOVE_FILE	(UINT64_C(1) << 5)
#define LL_MAKE_CHAR	(UINT64_C(1) << 6)
#define LL_MAKE_DIR	(UINT64_C(1) << 7)
#define LL_MAKE_REG	(UINT64_C(1) << 8)
#define LL_MAKE_SOCK	(UINT64_C(1) << 9)
#define LL_MAKE_FIFO	(UINT64_C(1) << 10)
#define LL_MAKE_BLOCK	(UINT64_C(1) << 11)
#define LL_MAKE_SYM	(UINT64_C(1) << 12)
#define LL_REFER	(UINT64_C(1) << 13)	/* ABI 2 */
#define LL_TRUNCATE	(UINT64_C(1) << 14)	/* ABI 3 */
#define LL_IOCTL_DEV	(UINT64_C(1) << 15)	/* ABI 5 */

#define LL_SCOPE_ABSTRACT_UNIX	(UINT64_C(1) << 0)	/* ABI 6 */
#define LL_SCOPE_SIGNAL		(UINT64_C(1) << 1)

#define LL_READ		(LL_EXECUTE | LL_READ_FILE | LL_READ_DIR)
/* Everything below a writable root but device nodes. */
#define LL_WRITE	(LL_READ | LL_WRITE_FILE | LL_REMOVE_DIR | LL_REMOVE_FILE | LL_MAKE_DIR | \
			 LL_MAKE_REG | LL_MAKE_SOCK | LL_MAKE_FIFO | LL_MAKE_SYM | LL_REFER | \
			 LL_TRUNCATE)
#define LL_DEVICE	(LL_READ_FILE | LL_WRITE_FILE | LL_TRUNCATE)
#define LL_TERMINAL	(LL_DEVICE | LL_READ_DIR | LL_IOCTL_DEV)
/* Those that may stand on a rule for something that is no directory. */
#define LL_FILE_RIGHTS	(LL_EXECUTE | LL_WRITE_FILE | LL_READ_FILE | LL_TRUNCATE | LL_IOCTL_DEV)

/* Every right that this ABI knows: what a ruleset handles. */
static inline uint64_t landlock_handled(int abi)
{
	return abi >= 5 ? (LL_IOCTL_DEV << 1) - 1 : abi >= 3 ? (LL_TRUNCATE << 1) - 1 :
	       abi == 2 ? (LL_REFER << 1) - 1 : abi == 1 ? (LL_MAKE_SYM << 1) - 1 : 0;
}

#endif

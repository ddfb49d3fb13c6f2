/* The protocol of the control socket: between whoever asks something of a live
 * cordon and its supervisor.
 *
 * SOCK_SEQPACKET in the folder of live.h, both ends of one user and one version.
 * The supervisor greets; then each request has one answer, but for EXEC, which
 * has STARTED and RESULT, and takes SIGNAL in between.  A message is a head and
 * texts in up to four lists; texts that are too large for a packet come in a
 * memfd.  Parsing is pure.
 */
#ifndef SUPER_CONTROL_H
#define SUPER_CONTROL_H

#include <stdint.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum control_type {
	CONTROL_HELLO,		/* numbers: enum control_hello */
	/* requests */
	CONTROL_EXEC,		/* argv, environ, words, settings of the environment; streams */
	CONTROL_SIGNAL,		/* number: to the command of this connection */
	CONTROL_PHASE,		/* its name, or none: the base; number: end leftovers first */
	CONTROL_NETWORK,	/* a mode, or ""; hosts */
	CONTROL_ALLOW,		/* hosts; number: for how many ms, 0: for good */
	CONTROL_STATUS,		/* number: in JSON */
	/* answers */
	CONTROL_STARTED,	/* with the master of the terminal, if there is one */
	CONTROL_RESULT,		/* see result_message.h */
	CONTROL_DONE,		/* a text; of PHASE a number: processes that were there before,
				 * if its network is wider */
	CONTROL_REFUSED,	/* number: enum cordon_errc; a text */
	CONTROL_STOPPED,	/* the command, by its terminal: as the caller's shell wants it */
	N_CONTROL_TYPES
};

enum control_hello { HELLO_OUTPUT, HELLO_OUTPUT_COUNTED, HELLO_IS_SESSION, N_CONTROL_HELLOS };

/* Of EXEC. */
enum control_exec_number { EXEC_TIMEOUT_MS, EXEC_TERMINAL, EXEC_CONTROLLING, EXEC_STREAMS,
			   N_EXEC_NUMBERS };
enum control_exec_list { EXEC_ARGV, EXEC_ENVIRON, EXEC_WORDS, EXEC_SETTINGS };
enum control_exec_word { EXEC_CWD, EXEC_CWD_ASKED, EXEC_SHELL_TEXT, N_EXEC_WORDS };

#define N_CONTROL_LISTS		4
#define N_CONTROL_NUMBERS	20
#define N_CONTROL_FDS		3
#define CONTROL_MAGIC		0x63726431u	/* "crd1": another version has another one */

struct control_head {
	uint32_t magic;
	uint16_t type;
	uint16_t outside;	/* 1: the texts are in a memfd, the last descriptor */
	uint32_t n_bytes;	/* of the texts, each with its NUL */
	uint32_t counts[N_CONTROL_LISTS];
	int64_t numbers[N_CONTROL_NUMBERS];
	struct termios settings;	/* EXEC: of the terminal */
	struct winsize size;
};

/* One that came.  The texts and descriptors are its own. */
struct control_message {
	struct control_head head;
	char *texts;
	int fds[N_CONTROL_FDS];
	size_t n_fds;
};
#define CONTROL_MESSAGE	((struct control_message){ .fds = { -1, -1, -1 } })

/* Is this a message?  `n` bytes, the texts behind the head unless they are
 * outside.  Changes nothing. */
int control_check(const void *data, size_t n, struct cordon_err *err) MUST_USE;
/* The same for texts that came outside. */
int control_check_texts(const struct control_head *h, const char *texts, size_t n,
			struct cordon_err *err) MUST_USE;
void control_release(struct control_message *m);
#define cleanup_control __attribute__((cleanup(control_release)))
/* A list as argv; the texts stay the message's.  NULL without memory. */
const char *const *control_list(const struct control_message *m, size_t list, struct arena *a);
/* The text at this place of a list, or NULL. */
const char *control_text(const struct control_message *m, size_t list, size_t at);
const char *control_type_name(enum control_type type);

/* One to be sent.  Texts are added list by list, in order. */
struct control_out {
	struct control_head head;
	struct buf texts;
	int fds[N_CONTROL_FDS];	/* stay the caller's */
	size_t n_fds;
};
void control_out_init(struct control_out *o, enum control_type type);
void control_out_release(struct control_out *o);
#define cleanup_control_out __attribute__((cleanup(control_out_release)))
void control_put(struct control_out *o, size_t list, const char *text);
/* Does not wait: who does not read what it asked for is not answered. */
int control_send(int fd, struct control_out *o, struct cordon_err *err) MUST_USE;

/* 1: a message; 0: the other side is gone; -1: nothing yet, or nonsense (err is
 * then filled; else its code is CORDON_E_NONE).  `flags`: of recvmsg. */
int control_recv(int fd, int flags, struct control_message *ret, struct cordon_err *err) MUST_USE;

#endif

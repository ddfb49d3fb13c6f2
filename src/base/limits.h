/* Every maximum of the project, in one place.
 *
 * Nothing grows without a bound that stands here, and a test goes over each.
 */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#define MIN_INSIDE_FILES	32		/* enough for the first process inside */
#define MIN_OPEN_FILES		80		/* with fewer no cordon can be built */
#define MAX_SOURCE_BYTES	(16u << 20)	/* one policy file */
#define MAX_TEXT_DEPTH		64		/* nesting of a policy text */
#define MAX_TEXT_NODES		(2u << 20)	/* values in one policy text */
#define MAX_TEXT_CONTAINERS	(1u << 16)	/* tables and arrays */
#define MAX_ARENA_BYTES		(512u << 20)	/* one policy with all it points to */
#define MAX_DIAGS		64		/* problems reported in one go */
#define MAX_DIAG_BYTES		1024		/* one of them */
#define MAX_OUTPUT_BYTES	(64u << 20)	/* one printed policy */
#define MAX_LIST_ITEMS		(1u << 17)	/* hosts of one list field */
#define MAX_HOST_RULES		1024		/* of one list for the same name or network */
#define MAX_SHORT_LIST		4096		/* entries of a list that is not of hosts */
#define MAX_POLICY_LAYERS	64		/* files and ceilings composed in one run */
#define MAX_PHASES		256
#define MAX_PHASE_HOSTS		(4u << 20)	/* hosts of all phases that change them */
#define MAX_TASK_STEPS		64		/* of one task; each makes three phases */
#define MAX_HOST_NAME		253		/* RFC 1035, without the trailing dot */
#define MAX_HOST_LABEL		63
#define MAX_URL_BYTES		8192
#define MAX_CONNECTIONS		5000		/* of one cordon at a time */
#define MAX_REROUTES		1024		/* words about where a host is, a run */
#define MAX_COMMAND_TEXT	(1u << 20)	/* one shell text to split into commands */
#define MAX_COMMAND_DEPTH	16		/* shells and substitutions inside others */
#define MAX_COMMAND_WORD	1023		/* one word of a blocked pattern */
#define MAX_FILTER_CODE		512		/* instructions of a seccomp filter */
#define MAX_LIMITER_FS		32		/* private file systems that count as memory */
#define MAX_ETC_ENTRIES		64		/* of /etc that a pattern of the system's names */
#define MAX_DISK_ROOTS		64		/* writable roots whose disk is counted */
#define MAX_DISK_DEPTH		256		/* folders below one another in one */
#define MAX_DISK_ENTRIES	(4u << 20)	/* files in all of them; a power of two */
#define MAX_WALK_DEPTH		256		/* folders below one another, for a pattern */
#define MAX_WALK_ENTRIES	(4u << 20)	/* files looked at for patterns */
#define MAX_COPY_DEPTH		64		/* folders below one another that are copied */
#define MAX_WALK_FOUND		4096		/* files that fit one */
#define MAX_PROBE_MS		5000		/* one act tried on the machine */
#define MAX_HINT_BYTES		1024		/* what to do about one thing it lacks */
#define MAX_GUARD_NAMES		16384		/* names that may not be made */
#define MAX_GUARD_NAME		2048		/* bytes of one; much less than PATH_MAX */
#define MAX_HELD_LINKS		1024		/* in folders that are protected */
#define MAX_SERVER_LIST		(64u << 10)	/* bytes of a list of name servers */
#define MAX_GUARD_PARTS		64		/* components of one */
#define MAX_PEEK_HELD		(64u << 10)	/* bytes of a client kept until judged */
#define MAX_PEEK_LINE		(16u << 10)	/* of a line that may become a request */
#define MAX_PEEK_FIELDS		256		/* header lines of one request, or trailers */
#define MAX_PEEK_CHUNK_LINE	256		/* a chunk's size with its extensions */
#define MAX_PEEK_EXTENSIONS	64		/* of one TLS ClientHello */
#define MAX_PEEK_WHY		640		/* why a connection was refused, in words */
#define MAX_PROXY_ASK		4096		/* bytes in which a client says whom it wants */
#define MAX_PROXY_ASKS		64		/* clients that have not, beyond all connections */
#define MAX_NET_PORTS		64		/* listeners, and datagram sockets, of one cordon */
#define MAX_NET_RANGES		512		/* of addresses of one kind, in nf_tables */
#define MAX_AUDIT_LINE		4096		/* one line of the log; PIPE_BUF */
#define MAX_AUDIT_WAITING	(256u << 10)	/* lines of it that are not written yet */
#define MAX_AUDIT_BYTES		(1024u << 20)	/* of one run */
#define MAX_AUDIT_REFUSALS	8192		/* lines of refusals; one more a second */
#define MAX_AUDIT_CONNECTIONS	(1u << 20)	/* of allowed connections; 100 more a second */
#define MAX_AUDIT_QUESTIONS	4096		/* of refused names; one more a second */
#define MAX_AUDIT_PATH		4096
#define MAX_DENIALS		256		/* different refusals in one result */
#define MAX_DENIAL_LINES	20		/* of them for people */
#define MAX_GUARD_FIFOS		64		/* opens of FIFOs that wait, a worker */
#define MAX_EXEC_BYTES		(6u << 20)	/* the arguments of an execution, as the kernel's */
#define MAX_EXEC_WORDS		(MAX_EXEC_BYTES / 9)	/* each has a pointer and a NUL */
#define MAX_GATE_NAMES		4096		/* names that one cordon has in use */
#define MAX_GATE_CONNECTIONS	5000		/* of one cordon */
#define MAX_GATE_MEMORY	(INT64_C(1) << 30)	/* bytes that connections of one cordon hold */
#define MAX_GATE_FLOWS		256		/* datagrams: pairs of ports inside and outside */
#define MAX_SESSION_COMMANDS	256		/* of one session at a time */
#define MAX_FAMILY		8192		/* processes of commands that are to end */
#define MAX_SESSION_CLIENTS	512		/* connections to one supervisor */
#define MAX_SESSION_NAME	64
#define MAX_CONTROL_INLINE	(32u << 10)	/* a message; what is larger comes in a memfd */
#define MAX_CONTROL_BYTES	(8u << 20)
#define MAX_CONTROL_WORDS	(1u << 20)	/* texts of one message */
#define MAX_ALLOWANCES		256		/* words of the operator about a live network */
#define MAX_REWARD_BYTES	(1u << 20)	/* of what one verifier writes */
#define MAX_REWARDS		1024		/* names in it */
#define MAX_TRIALS		65536		/* in one go */
#define MAX_TRIAL_JOBS		256		/* at one time */
#define MAX_TRIAL_COPY_BYTES	(INT64_C(8) << 30)	/* of a task, and of what it leaves */
#define MAX_DNS_QUERY		4096		/* one question with its padding and options */
#define MAX_DNS_ANSWER		1024		/* one answer of ours */
#define MAX_DNS_BUFFER		(16u << 10)	/* SO_RCVBUF, SO_SNDBUF of a client over TCP */
#define MAX_DNS_REASON		128		/* the text of why a name is blocked */

#endif

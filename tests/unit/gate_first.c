/* The first bytes of clients: HTTP, TLS, or neither. */
#include "gate/first.h"

#include "base/macros.h"
#include "base/limits.h"
#include "tap.h"

#define TEXT(t)	t, sizeof(t) - 1

static const struct {
	const char *bytes;
	size_t n;
	enum first_bytes want;
	size_t known;		/* with so many of the bytes and not with fewer */
} rows[] = {
	{ TEXT("GET / HTTP/1.1\r\nHost: a\r\n"), FIRST_HTTP, 12 },
	{ TEXT("OPTIONS * HTTP/1.0\r\n"), FIRST_HTTP, 16 },
	{ TEXT("CONNECT a.test:443 HTTP/1.1\r\n"), FIRST_HTTP, 25 },
	{ TEXT("\r\n\r\nGET / HTTP/1.1\r\n"), FIRST_HTTP, 16 },
	{ TEXT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), FIRST_HTTP, 12 },
	{ TEXT("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), FIRST_TLS, 6 },
	{ TEXT("\x16\x03\x01\x02\x00\x02"), FIRST_OTHER, 6 },
	{ TEXT("\x16\x02\x01"), FIRST_OTHER, 2 },
	{ TEXT("\x15\x03\x01\x00\x02\x01\x00"), FIRST_OTHER, 1 },
	{ TEXT("SSH-2.0-OpenSSH_9.2\r\n"), FIRST_OTHER, 20 },
	{ TEXT("EHLO a.test\r\n"), FIRST_OTHER, 12 },
	{ TEXT("USER anonymous\r\n"), FIRST_OTHER, 15 },
	{ TEXT("GET /\r\n"), FIRST_OTHER, 6 },
	{ TEXT("GET  / HTTP/1.1\r\n"), FIRST_OTHER, 5 },
	{ TEXT("GET / HTTP/3\r\n"), FIRST_OTHER, 12 },
	{ TEXT("GET / SMTP/1\r\n"), FIRST_OTHER, 7 },
	{ TEXT("get key\r\n"), FIRST_OTHER, 8 },
	{ TEXT("PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n"), FIRST_OTHER, 12 },
	{ TEXT("0032git-upload-pack /a\0host=a\0"), FIRST_OTHER, 23 },
	{ TEXT("\0\0\0\x08\x04\xd2\x16\x2f"), FIRST_OTHER, 1 },
	{ TEXT("\x80\x2e\x01\x03\x01"), FIRST_OTHER, 1 },
	{ TEXT("{\"jsonrpc\": 1}"), FIRST_OTHER, 1 },
	{ TEXT(" GET / HTTP/1.1"), FIRST_OTHER, 1 },
	{ TEXT("GET /a"), FIRST_UNSEEN, 7 },
};

static void test_every_piece(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t n = 0; n <= rows[i].n; n++)
			is_int(first_read((const unsigned char *)rows[i].bytes, n),
			       n < rows[i].known ? FIRST_UNSEEN : rows[i].want,
			       "row %zu, %zu bytes", i, n);
}

static void test_a_line_without_end(void)
{
	static unsigned char line[MAX_PEEK_LINE + 1];

	memset(line, 'a', sizeof(line));
	is_int(first_read(line, MAX_PEEK_LINE - 1), FIRST_UNSEEN, "more may come");
	is_int(first_read(line, MAX_PEEK_LINE), FIRST_OTHER, "no longer");
	memset(line, '\n', sizeof(line));
	is_int(first_read(line, sizeof(line)), FIRST_OTHER, "nor empty lines");
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_every_piece), TAP(test_a_line_without_end),
					    TAP_END });
}

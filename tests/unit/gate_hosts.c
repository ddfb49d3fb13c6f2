/* Lines of /etc/hosts. */
#include "gate/hosts.h"

#include "policy/host.h"
#include "tap.h"

static const struct {
	const char *line, *name, *address;	/* NULL: none */
} rows[] = {
	{ "127.0.0.1 localhost", "localhost", "127.0.0.1" },
	{ "127.0.0.1\tlocalhost localhost.localdomain\n", "localhost.localdomain", "127.0.0.1" },
	{ "  10.1.2.3 \t db.test\r\n", "db.test", "10.1.2.3" },
	{ "::1 ip6-localhost # ip6-loopback", "ip6-localhost", "::1" },
	{ "2001:db8::7 Db.Test", "dB.tEST", "2001:db8::7" },
	{ "10.1.2.3 my_db.test", "my_db.test", "10.1.2.3" },
	/* Only whole names, and only names */
	{ "10.1.2.3 db.test", "b.test", NULL },
	{ "10.1.2.3 db.test", "db.tes", NULL },
	{ "10.1.2.3 db.test", "10.1.2.3", NULL },
	{ "10.1.2.3", "10.1.2.3", NULL },
	{ "# 10.1.2.3 db.test", "db.test", NULL },
	{ "10.1.2.3 #db.test", "#db.test", NULL },
	{ "", "db.test", NULL },
	{ "\n", "db.test", NULL },
	/* What is no address, or one of an interface */
	{ "10.1 db.test", "db.test", NULL },
	{ "0x7f.1 db.test", "db.test", NULL },
	{ "fe80::1%lo0 localhost", "localhost", NULL },
	{ "db.test db.test", "db.test", NULL },
};

static void test_lines(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct host_addr found = { 0 }, want = { 0 };
		char line[80];
		bool has;

		snprintf(line, sizeof(line), "%s", rows[i].line);
		has = hosts_line_has(line, rows[i].name, &found);
		if (rows[i].address && !host_addr_parse(str_from(rows[i].address), &want))
			abort();
		ok(has == !!rows[i].address && memcmp(&found, &want, sizeof(want)) == 0,
		   "'%s' for %s", rows[i].line, rows[i].name);
	}
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_lines), TAP_END });
}

/*
 * servers.h - real servers for the contract tests
 *
 * No function returns an error: a failure fails the calling test, or the whole
 * case if a fixture called.
 */
#ifndef TESTS_SERVERS_H
#define TESTS_SERVERS_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"

#define NROWS(table)	((int)(sizeof(table) / sizeof((table)[0])))

#define ck_has(text, part)	\
	ck_assert_msg(strstr(text, part) != NULL, "\"%s\" is not in \"%s\"", \
	    part, text)
#define ck_has_not(text, part)	\
	ck_assert_msg(strstr(text, part) == NULL, "\"%s\" is in \"%s\"", \
	    part, text)
/* A call of the NATS library must succeed. */
#define ck_nats(call)	do {						\
	natsStatus s_ = (call);						\
	ck_assert_msg(s_ == NATS_OK, #call ": %s", natsStatus_GetText(s_)); \
} while (0)
#define ck_near(value, low, high)	do {	\
	ck_assert_int_ge(value, low);		\
	ck_assert_int_le(value, high);		\
} while (0)

/* The password of the accounts. */
#define OUTBOX_PASSWORD	"relay-s3cret"

/*
 * Make the private directory.  When this process ends, in any way, the servers
 * are stopped and the directory is removed; servers_end does so now and waits.
 * Tests are forked and must not call these.
 */
void		 servers_begin(void);
void		 servers_end(void);

/*
 * Start a server under a name, unless it runs already.  lines: for its
 * configuration, ended by NULL; may be NULL.  If the server is not installed,
 * the program exits as skipped.
 */
void		 servers_start(const char *name, const char *kind,
		    const char *const *lines);
/* Can a broker of Kafka be started?  Not in the short form: it takes seconds. */
bool		 servers_have_kafka(void);
void		 servers_restart(const char *name);
void		 servers_kill(const char *name);	/* and wait for it */
void		 servers_signal(const char *name, int signo);
bool		 servers_runs(const char *name);

/* A value of the server's env file: PORT, SOCKET, URL, ... */
const char	*servers_get(const char *name, const char *key);

/* The path of a file in the private directory; write the file. */
const char	*servers_path(const char *file);
const char	*servers_write(const char *file, const char *text);

/*
 * Make ca.pem, server.pem and server.key (for localhost and 127.0.0.1),
 * client.pem and client.key, and other.pem, which ca.pem has not signed.
 */
void		 servers_certificates(void);

/* Run a shell command that must succeed. */
void		 servers_run(const char *, ...)
		    __attribute__((format(printf, 1, 2)));

/* Load a configuration, which must be valid, from a text. */
struct conf	*servers_conf(const char *, ...)
		    __attribute__((format(printf, 1, 2)));

/*
 * SQL as root by the socket, on one connection of this process.  A result is
 * text: blanks between columns, line breaks between rows, "NULL" for NULL.  It
 * is valid for 16 further calls.
 */
void		 sql_open(const char *name);
void		 sql_close(void);
void		 sql(const char *, ...) __attribute__((format(printf, 1, 2)));
bool		 sql_works(const char *, ...)
		    __attribute__((format(printf, 1, 2)));
const char	*sql_text(const char *, ...)
		    __attribute__((format(printf, 1, 2)));
/* The same for one column, by its name. */
const char	*sql_column(const char *column, const char *, ...)
		    __attribute__((format(printf, 2, 3)));
unsigned	 sql_errno(void);	/* of the last sql_works */

#define ck_sql(expected, ...)	\
	ck_assert_str_eq(sql_text(__VA_ARGS__), (expected))

/* Make the database anew, with the schema, the accounts and the grants. */
void		 sql_load(const char *name, const char *database);

/*
 * To wait: for (int64_t until = patience(); !what; ) wait_more(&until, text);
 * fails the test after ten seconds.
 */
int64_t		 patience(void);
void		 wait_more(int64_t *until, const char *what);
int64_t		 ms_since(int64_t start);

/* A TCP port that is closed, or one that accepts and never answers. */
int		 dumb_port(bool listens);

/* A case with a timeout of a minute; setup may be NULL. */
TCase		*server_case(Suite *, const char *name, void (*start)(void),
		    void (*setup)(void), void (*teardown)(void));

/* Run the suite from servers_begin() to servers_end(); for main() to return. */
int		 servers_test(Suite *);

#endif

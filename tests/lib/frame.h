/*
 * frame.h - what the contract tests of the store share
 *
 * Every case runs on MariaDB, and again on Oracle MySQL where the environment
 * names one in OUTBOX_MYSQL_TREE.  The store works with the account and the
 * rights that sql/ gives it; what it did is looked up as root, on a
 * connection of the test's own.
 */
#ifndef TESTS_FRAME_H
#define TESTS_FRAME_H

#include "conf/conf.h"
#include "util/err.h"
#include "common/msg.h"
#include "lib/servers.h"
#include "store/store.h"

#define ME		"here:00:00000000000000a1"
#define OTHER		"here:01:00000000000000b2"
#define DEAD		"here:02:00000000000000c3"
#define MY_NONCE	"00000000000000a1"
#define OTHER_NONCE	"00000000000000b2"
#define DEAD_NONCE	"00000000000000c3"

#define ck_ok(call)	\
	ck_assert_msg((call) == 0, #call ": %s", e.text)
#define ck_fails(call)	\
	ck_assert_msg((call) == -1 && e.text[0] != '\0', #call)

extern const char	*server;	/* its name, and its kind */
extern struct conf	*conf;
extern struct store	*st;		/* of ME */
extern struct err	 e;

/*
 * Servers, and what surrounds a test
 */

bool		 is_mysql(void);
void		 frame_start_mariadb(void);
void		 frame_start_mysql(void);
struct conf	*conf_for(const char *database);

/* A test that failed may have left the server in any mood. */
void		 calm_down(void);

/*
 * Commits are durable, until the next begin(): messages go early there only.
 * Connections that are open learn of it by store_check_server().
 */
void		 be_durable(void);

/* An empty database "app" and a configuration for it; with a store. */
void		 begin(void);
void		 end(void);
void		 begin_store(void);
void		 end_store(void);

/* Everything that was logged. */
const char	*logged(void);
void		 wait_for_locks(unsigned n);

/* End this connection, or the account's latest one, and see it gone. */
void		 kill_thread(unsigned long thread);
void		 kill_latest(void);

/* The server takes its time to see that a connection is gone. */
void		 wait_for_goodbye(void);

/*
 * Rows and leases
 */

struct store	*store_of(const struct conf *, const char *id);

/* Rows first..last with an event each; label is a literal or NULL. */
void		 add_rows(unsigned first, unsigned last, const char *label);

/*
 * Until "DROP TRIGGER obstacle" or the next begin(), such changes of such rows
 * fail: with 23000 the row is to blame, with HY000 nobody knows what is.
 */
void		 put_obstacle(const char *state, const char *verb,
		    const char *table, const char *row);

/* How often it was logged. */
unsigned	 times_logged(const char *text);

/* A lease of id, for a minute. */
void		 add_lease(const char *label, const char *id, unsigned epoch);

struct range	 range(const char *label, uint64_t epoch);

/* Claim first..last of partition p00 under epoch 1; how many it were. */
uint64_t	 claim(struct store *, struct batch *, uint64_t first,
		    uint64_t last);

/* A batch of first..last, claimed and fetched. */
void		 take(struct batch *, uint64_t first, uint64_t last);

/* "sequence:range ..." of what was found; the first frees it. */
const char	*candidates_text(struct candidate *, size_t n);
const char	*candidates(const struct range *, size_t n);

/*
 * What the server was asked, and how it does it
 */

/* What the server was asked by the account, one statement a line. */
void		 log_statements(void);

#define STATEMENTS	"FROM mysql.general_log WHERE command_type = 'Query' "\
			"AND user_host LIKE 'outbox%%' "

#define DIGITS(name)	"(SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT " \
			"2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL "  \
			"SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 "     \
			"UNION ALL SELECT 8 UNION ALL SELECT 9) AS " name

/* What the server has read so far: by key, in order, one after the other. */
unsigned long	 reads(void);

/* Nothing is scanned or sorted, and only these keys are used. */
void		 ck_plan(const char *statement, const char *want_keys);

/*
 * The suite: every case once for each kind of server
 */

struct kind {
	const char	*name;
	void		(*start)(void);
};

TCase		*add_case(Suite *, const char *what, const struct kind *,
		    void (*start)(void), void (*setup)(void),
		    void (*teardown)(void));
int		 frame_run(const char *name, void (*add)(Suite *,
		    const struct kind *));

#endif

/*
 * frame.h - helpers for the contract tests of the store
 *
 * Every case runs on MariaDB, and also on Oracle MySQL if OUTBOX_MYSQL_TREE
 * names one; with KIND=mysql or KIND=mariadb on that one alone.  The store uses
 * the account and the rights of sql/; tests check its work as root on a
 * connection of their own.
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

extern const char	*server;	/* name and kind */
extern struct conf	*conf;
extern struct store	*st;		/* of ME */
extern struct err	 e;

/* Servers, and setup of a test */

bool		 is_mysql(void);
void		 frame_start_mariadb(void);
void		 frame_start_mysql(void);
struct conf	*conf_for(const char *database);

/* Undo global settings that a failed test may have left. */
void		 calm_down(void);

/* Make an empty database "app" and its configuration; _store: and a store. */
void		 begin(void);
void		 end(void);
void		 begin_store(void);
void		 end_store(void);

/* The whole log. */
const char	*logged(void);
void		 wait_for_locks(unsigned n);

/* Kill this connection, or the account's latest one; waits until it ended. */
void		 kill_thread(unsigned long thread);
void		 kill_latest(void);

/* Wait until the server has noticed that all connections are closed. */
void		 wait_for_goodbye(void);

/*
 * Rows and leases
 */

struct store	*store_of(const struct conf *, const char *id);

/* Make leases for labels without one; their number, and one of them if any. */
unsigned	 adopt_strays(struct store *, char label[STORE_LABEL]);

/* How many labels can have no lease, and the first; runs what mends them. */
size_t		 strays_of(struct store *, struct stray *first);

/* Insert the missing ones of the first count lease rows: p00, p01, ... */
int		 fill_partitions(struct store *, unsigned count);

/* Add rows first..last with an event each; label: an SQL literal or NULL. */
void		 add_rows(unsigned first, unsigned last, const char *label);

/*
 * Make these changes of these rows fail until "DROP TRIGGER obstacle" or the
 * next begin(): SQLSTATE 23000 blames the row, HY000 gives no cause.
 */
void		 put_obstacle(const char *state, const char *verb,
		    const char *table, const char *row);

/* How often the text was logged. */
unsigned	 times_logged(const char *text);

/* Add a lease of id, for a minute; of ME under epoch 1 p<first>..p<last>. */
void		 add_lease(const char *label, const char *id, unsigned epoch);
void		 own_leases(unsigned first, unsigned last);

/* Add the lease of p00, of ME under epoch 1, and its rows 1 to n. */
void		 own_rows(unsigned n);

/* Change a row or a lease: "column = value, ...". */
void		 update_row(unsigned sequence, const char *what);
void		 update_lease(const char *label, const char *what);

/* Check which rows meet a condition: "1,2,3". */
#define ck_rows(want, ...)	\
	ck_sql(want, "SELECT GROUP_CONCAT(global_sequence ORDER BY 1) "	\
	    "FROM outbox WHERE " __VA_ARGS__)

struct range	 range(const char *label, uint64_t epoch);

/* Claim first..last of partition p00 under epoch 1; returns the number. */
uint64_t	 claim(struct store *, struct batch *, uint64_t first,
		    uint64_t last);

/* Claim and fetch a batch of first..last. */
void		 take(struct batch *, uint64_t first, uint64_t last);

/* Candidates as "sequence:range ..."; the first function frees them. */
const char	*candidates_text(struct candidate *, size_t n);
const char	*candidates(const struct range *, size_t n);

/* Statements and their plans */

/* Log statements into mysql.general_log; STATEMENTS are the account's. */
void		 log_statements(void);

#define STATEMENTS	"FROM mysql.general_log WHERE command_type = 'Query' "\
			"AND user_host LIKE 'outbox%%' "

#define DIGITS(name)	"(SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT " \
			"2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL "  \
			"SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 "     \
			"UNION ALL SELECT 8 UNION ALL SELECT 9) AS " name

/* Ten thousand numbers n from 0. */
#define NUMBERS		"(SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n AS n" \
			" FROM " DIGITS("a") ", " DIGITS("b") ", " DIGITS("c")  \
			", " DIGITS("d") ") AS numbers"

/* Rows that the server has read so far, by key or in order. */
unsigned long	 reads(void);

/* Check that a plan scans and sorts nothing, and uses only these keys. */
void		 ck_plan(const char *statement, const char *want_keys);

/* The suite: each case once per kind of server */

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

/*
 * ctl.h - functions that the commands of outboxctl share
 *
 * A command is one row of the table in main.c: its words, its options and its
 * function.  The function gets an open store, prints the result and returns an
 * exit status.  All functions may block on the database; -1 and NULL: see err.
 */
#ifndef OUTBOXCTL_CTL_H
#define OUTBOXCTL_CTL_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "ctl/base/args.h"
#include "ctl/base/outcome.h"
#include "conf/conf.h"
#include "util/err.h"
#include "store/store_sql.h"

/* Exit statuses beside EXIT_CONFIG (78). */
enum {
	CTL_DONE = 0,		/* done, or nothing to do */
	CTL_FAILED = 1,		/* a check failed, or no such object */
	CTL_USAGE = 2,
	CTL_UNREACHABLE = 3,	/* a server is away, or accepts no writes */
	CTL_NO_READER = 141	/* of standard output; as SIGPIPE would end it */
};

struct pub;

struct ctl {
	const struct command	*table;		/* all commands */
	const struct command	*command;
	struct args		 args;
	const char		*path;		/* of the configuration */
	struct conf		*conf;
	struct err		 bad_file;	/* not empty: the error of the file;
						   conf finds this host only */
	bool			 bad_secret;	/* it is of a secret only */
	struct store		*store;		/* NULL: it was not needed */
	struct pub		*bus;		/* the serving process keeps it;
						   NULL: each command its own */
	json_t			*host_before;	/* with bus: this_host of the
						   last status; or NULL */
	uint64_t		 audit;		/* id in the audit; 0: no row */
	uint64_t		 audited;	/* changed rows noted in it, or
						   to be noted without one */
	bool			 in_doubt;	/* last change in doubt? */
	char			*arguments;	/* the command line */
	struct counts		 counts;	/* locked by change.c */
};

enum command_kind {
	COMMAND_READS,		/* serve runs it in its own process */
	COMMAND_OTHER,
	COMMAND_CHANGES,	/* rows; takes --dry-run and --yes */
	COMMAND_ADDS		/* rows, without asking */
};

/* What is there when it runs. */
enum command_needs {
	NEEDS_TABLES,		/* a store that knows the tables */
	NEEDS_DATABASE,		/* a store with long time-outs */
	NEEDS_SERVERS,		/* secrets for both; it connects itself */
	NEEDS_STATE,		/* the same, or bad_file */
	NEEDS_HOST,		/* the file, or bad_file; no secret */
	NEEDS_FILE,		/* no secret, or those that it reads itself */
	NEEDS_NOTHING
};

struct command {
	const char	*words;		/* "dead list" */
	const char	*options;	/* names between blanks, or NULL */
	const char	*rest;		/* "SEQUENCE...", or NULL */
	int		 min, max;	/* of the rest */
	enum command_kind	 kind;
	enum command_needs	 needs;
	enum store_table	 table;	/* that it is about, if Pillar's
					   database has none; else 0 */
	const char	*limit_help;	/* of a --limit whose default is 0 */
	const char	*help;		/* one line */
	int		(*prepare)(struct ctl *);	/* before the
					   configuration is loaded; or NULL */
	int		(*run)(struct ctl *);
	const struct change	*change;	/* instead of run: change.h */
};

/* ctl.c */

/*
 * With several mysql.hosts: the next connection begins with the server that the
 * workers of this host use, and a store that is open elsewhere is closed.
 */
void	ctl_follow_workers(struct ctl *);

/*
 * Open the store if it was not needed, again if it was lost.  -1: see err.
 * The second prints the error: CTL_DONE, or ctl_fail's status.
 */
int	ctl_open(struct ctl *, struct err *);
int	ctl_connect(struct ctl *);

/* Is the table there that the command is about?  Prints the error. */
int	ctl_check_table(const struct ctl *);

/* Print the error, and how to get a missing right; returns a status. */
int	ctl_fail(const struct ctl *, const struct err *);

/* The same for a broker that does not answer. */
int	ctl_no_broker(const struct err *);

/*
 * Let mysql.user be the account of --admin, or root, with the password of
 * --admin-password-file, or by the socket of the server.
 */
void	ctl_use_admin(const struct ctl *, struct conf *);	/* admin.c */

/* The file of the configuration, for commands in the texts of errors. */
void	ctl_use_file(const char *path);

/*
 * Print an error, with a remedy behind the text or NULL: an act, such as "use
 * --yes".  Their commands get the file, see command_file.h.  Returns a status.
 */
int	ctl_refuse(const char *remedy, const char *, ...)
	    __attribute__((format(printf, 2, 3)));
#define ctl_error(...)	ctl_refuse(NULL, __VA_ARGS__)
#define ctl_misuse(...)	(ctl_error(__VA_ARGS__), CTL_USAGE)

/*
 * Wrong usage of one option or argument, in words of programs: outcome_field();
 * then the error.
 */
#define ctl_misuse_of(code, field, text, ...) \
	(outcome_field(code, field, text), ctl_misuse(__VA_ARGS__))

/* A wrong value of an option: "--limit: ..." and "limit: ...". */
int	ctl_misuse_value(const char *option, const char *, ...)
	    __attribute__((format(printf, 2, 3)));

/*
 * load.c: read the configuration, again if it was in error.  false: bad_file
 * says why, and the command cannot go on with that.  Else conf is another one.
 */
bool	ctl_load(struct ctl *);

/* The same, which prints the error: CTL_DONE or EXIT_CONFIG. */
int	ctl_need_conf(struct ctl *);

/* Can the secrets that the command needs still be read? */
bool	ctl_has_secrets(const struct ctl *, struct err *);

/*
 * May n things ("message") be changed?  Asks if there are more than CTL_MANY:
 * on a terminal; elsewhere --yes is needed.  done: "deleted".  May block.
 */
#define CTL_MANY	100
bool	ctl_confirm(const struct ctl *, uint64_t n, const char *thing,
	    const char *done);

/* The same, and it always asks: for what stops or gives up messages. */
bool	ctl_confirm_impact(const struct ctl *, const char *impact, ...)
	    __attribute__((format(printf, 2, 3)));

/*
 * print.c: text for people, JSON for programs.  Both free the object.
 *
 * In text the name says how a number is shown: with "_ms" or "_s" at its end it
 * is a duration, "3 min 20 s", and a count has separators, "1,234,567"; ids and
 * sequences are plain.  A terminal's width limits the text, see screen.h.
 */

/*
 * An array of objects, one a line below the names of the columns.  Where a
 * terminal is too narrow, texts are cut and columns left out.
 */
void	print_rows(const struct ctl *, const char *const *columns, json_t *);

/* The same for a list that was asked for: a terminal shows that it is empty. */
void	print_list(const struct ctl *, const char *const *columns, json_t *);

/* Findings, [{"level", "text"}], a line each: "warn    what has ..." */
void	print_verdict(const struct ctl *, const char *what, const json_t *);

/* One object, one member a line. */
void	print_object(const struct ctl *, json_t *);

/* The value of a member of this name, as text; the caller frees. */
char	*print_text(const char *name, const json_t *value);

/* A line of text for people, below lines with names of this width. */
void	print_member(const struct ctl *, int width, const char *name,
	    const char *text);

/* Print the sentence, or with --json {"changed": n}. */
void	print_done(const struct ctl *, uint64_t n, const char *, ...)
	    __attribute__((format(printf, 3, 4)));

/* The same: "3 keys released", or "would be released" in a dry run. */
void	print_changed(const struct ctl *, uint64_t n, const char *thing,
	    const char *done);

/* "1 key", "3,000 keys"; COUNTED() is valid in its block. */
#define COUNT_SIZE	64
const char *count_text(char to[COUNT_SIZE], uint64_t n, const char *thing);
#define COUNTED(n, thing)	count_text((char[COUNT_SIZE]){ 0 }, n, thing)

/* "1 h 5 min", as in display.h */
json_t	*span_json(int64_t ms);

/* rows.c: from results to JSON */

/* ROWS_BYTES: a key, type or label, printed as in printable.h. */
enum rows_type { ROWS_TEXT, ROWS_BYTES, ROWS_NUMBER, ROWS_BOOL, ROWS_TIME };

struct rows_column {
	const char	*name;
	enum rows_type	 type;
};

/* Bytes as a string, by the rule of printable.h. */
json_t	*bytes_json(const char *, size_t);

/* An array of objects; frees the rows. */
json_t	*rows_json(struct db_rows *, const struct rows_column *, size_t n);

/* Send the prepared SELECT; *o is its row as an object, NULL without one. */
int	rows_one(struct ctl *, const char *what, const struct rows_column *,
	    size_t n, json_t **o, struct err *);

/* A time of the database, which is UTC, in the form of RFC 3339. */
#define ROWS_TIME_SIZE	40
void	rows_time(char to[ROWS_TIME_SIZE], const char *text);

/*
 * Milliseconds from such a time until now; negative: in the future, or it is
 * NULL or no such time.
 */
int64_t	moment_age_ms(const char *at);

/* A member of an object; 0 or NULL if there is none. */
static inline long long
member_number(const json_t *o, const char *name)
{
	return json_integer_value(json_object_get(o, name));
}

static inline const char *
member_text(const json_t *o, const char *name)
{
	return json_string_value(json_object_get(o, name));
}

static inline bool
member_true(const json_t *o, const char *name)
{
	return json_is_true(json_object_get(o, name));
}

static inline void
member_set(json_t *o, const char *name, json_int_t n)
{
	json_object_set_new(o, name, json_integer(n));
}

static inline void
member_add(json_t *o, const char *name, json_int_t n)
{
	member_set(o, name, member_number(o, name) + n);
}

/* audit.c */

/*
 * Note n changed rows in the audit, inside the transaction that changes them.
 * The first call inserts our row, later calls add to it.  If there is no such
 * table, prints that once and returns 0.
 */
int	audit_note(struct ctl *, uint64_t n, struct err *);

/*
 * version.c
 *
 * Read the schema's version from the settings table; "": it has no row.  1:
 * known; 2: newer than ours; 0: cannot be found out; -1: see err.
 */
#define VERSION_SIZE	12
int	version_of(struct ctl *, char version[VERSION_SIZE], struct err *);

/* -1: the command changes data, and the schema is newer than ours. */
int	version_guard(struct ctl *, struct err *);

/* batch.c - transactions with retries, and progress */

/*
 * Run fn in a transaction, audit notes included; retries if the server is busy.
 * If the answer to COMMIT is lost, reconnects (session variables and named
 * locks are gone) and reads in the audit whether it was committed.  -1: rolled
 * back, or with c->in_doubt in doubt, as the error says.
 */
int	ctl_transaction(struct ctl *,
	    int (*fn)(struct ctl *, void *, struct err *), void *,
	    struct err *);

void	ctl_sleep(int64_t ms);

/* Progress on a terminal: a bar, or a number if the total is 0. */
struct progress {
	const char	*what;
	int64_t		 next_at;
	bool		 shown;
};

void	progress_show(struct progress *, uint64_t done, uint64_t total);
void	progress_end(struct progress *);

/* The commands; those that change rows are rows of change.h */

extern const struct change messages_retry, messages_discard, messages_resolve,
	    messages_replay, dead_retry, dead_purge, keys_release, keys_bury,
	    keys_retry, phantoms_forget, stream_forget, partitions_pause,
	    partitions_resume, prune, reconcile, workers_forget;

int	messages_list(struct ctl *);
int	messages_show(struct ctl *);
int	dead_list(struct ctl *);
int	dead_groups(struct ctl *);
int	doctor_run(struct ctl *);
int	reload_run(struct ctl *);
int	stop_run(struct ctl *);
int	logs_show(struct ctl *);
int	probe_run(struct ctl *);
int	status_show(struct ctl *);
int	top_show(struct ctl *);
int	workers_list(struct ctl *);
int	partitions_list(struct ctl *);
int	partitions_sync(struct ctl *);
int	dead_show(struct ctl *);
int	keys_blocked(struct ctl *);
int	audit_list(struct ctl *);
int	stream_republish(struct ctl *);
int	stream_info(struct ctl *);
int	topic_info(struct ctl *);
int	topic_add(struct ctl *);
int	stream_add(struct ctl *);
int	enqueue(struct ctl *);
int	plan_show(struct ctl *);
int	plan_config(struct ctl *);
int	schema_print(struct ctl *);
int	schema_install(struct ctl *);
int	schema_check(struct ctl *);
int	schema_upgrade(struct ctl *);
int	serve_run(struct ctl *);
int	setup_prepare(struct ctl *);
int	setup_run(struct ctl *);

#endif

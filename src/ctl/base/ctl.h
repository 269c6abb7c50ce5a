/*
 * ctl.h - what the commands of outboxctl share
 *
 * A command is one row of the table in main.c: its words, the options that it
 * takes, and a function.  That one gets an open store, prints, and returns an
 * exit status.
 */
#ifndef OUTBOXCTL_CTL_H
#define OUTBOXCTL_CTL_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "ctl/base/args.h"
#include "conf/conf.h"
#include "util/err.h"
#include "store/store_sql.h"

/* Exit statuses beside EX_UNAVAILABLE (69) and EX_CONFIG (78). */
enum {
	CTL_DONE = 0,		/* done, or nothing to do */
	CTL_FAILED = 1,		/* a check failed, or there is no such thing */
	CTL_USAGE = 2
};

struct ctl {
	const struct command	*command;
	struct args		 args;
	struct conf		*conf;
	struct store		*store;		/* open, but for offline commands */
	uint64_t		 audit;		/* id of our row; 0: none yet */
	uint64_t		 audited;	/* what it says was changed */
	bool			 unknown;	/* was the last change made? */
	char			*arguments;	/* as they were given */
	struct counts		 counts;	/* held by mend: see mend.c */
};

struct command {
	const char	*words;		/* "dead list" */
	const char	*options;	/* their names, with blanks between */
	const char	*rest;		/* "SEQUENCE...", or "" */
	int		 min, max;	/* of the rest */
	bool		 changes;	/* takes --dry-run and --yes */
	bool		 adds;		/* changes, but has nothing to ask */
	bool		 offline;	/* needs no database, or not at once */
	bool		 bare;		/* needs no tables, and has patience */
	bool		 own_limit;	/* --limit is 0 when not given */
	const char	*help;		/* one line */
	int		(*run)(struct ctl *);
};

/*
 * ctl.c
 */

/* Open the store of an offline command; CTL_DONE, or as ctl_fail. */
int	ctl_connect(struct ctl *);

/* Say what is wrong, and the status that goes with it. */
int	ctl_fail(const struct ctl *, const struct err *);
int	ctl_no_such(const struct ctl *, const char *, ...)
	    __attribute__((format(printf, 2, 3)));

/* The same of a table that a command cannot do without. */
int	ctl_no_table(const struct ctl *, enum store_table);

/* May n rows be changed?  Asks on a terminal where they are many. */
bool	ctl_confirm(const struct ctl *, uint64_t n, const char *what);

/*
 * print.c: text for people, JSON for programs.  Both take the reference.
 */

/* Objects, one a line under the names of the columns. */
void	print_rows(const struct ctl *, const char *const *columns, json_t *);

/* One object, a line per name. */
void	print_object(const struct ctl *, json_t *);

/* What was done: people get the sentence, programs {"changed": n}. */
void	print_done(const struct ctl *, uint64_t n, const char *, ...)
	    __attribute__((format(printf, 3, 4)));

/* "1h 05m 03s" */
json_t	*span_json(int64_t ms);

/*
 * rows.c: from results to JSON
 */

/* ROWS_BYTES: a key, a type, a label: by the rule of plain.h. */
enum rows_type { ROWS_TEXT, ROWS_BYTES, ROWS_NUMBER, ROWS_BOOL, ROWS_TIME };

struct rows_column {
	const char	*name;
	enum rows_type	 type;
};

/* Bytes as people and programs see them: see plain.h. */
json_t	*bytes_json(const char *, size_t);

/* An array of objects; takes the rows. */
json_t	*rows_json(struct db_rows *, const struct rows_column *, size_t n);

/*
 * audit.c
 */

/*
 * Note that n rows were changed, in the transaction that changes them: the
 * first call makes our row, later ones add to it.  Without the table it
 * says so once and goes on.
 */
int	audit_note(struct ctl *, uint64_t n, struct err *);

/*
 * version.c
 *
 * The schema's version as the settings table has it, "" where that has no
 * row.  1: known; 2: it is newer than ours; 0: there is no telling.
 */
#define VERSION_SIZE	12
int	version_of(struct ctl *, char version[VERSION_SIZE], struct err *);

/* -1: the command would change a schema that is newer than ours. */
int	version_guard(struct ctl *, struct err *);

/*
 * batch.c - changes of many rows, some at a time
 */

/*
 * Run fn in a transaction with what it notes for the audit, several times if
 * the server is only busy.  Where the answer to COMMIT is lost, the audit tells
 * whether it was done; it is another connection then, without session
 * variables and named locks.  -1: nothing was done, but with c->unknown nobody
 * knows, and the error says so.
 */
int	ctl_transaction(struct ctl *,
	    int (*fn)(struct ctl *, void *, struct err *), void *,
	    struct err *);

void	ctl_sleep(int64_t ms);

/* On a terminal, how far it is: a bar, or with a total of 0 a number. */
struct progress {
	const char	*what;
	int64_t		 next_at;
	bool		 shown;
};

void	progress_show(struct progress *, uint64_t done, uint64_t total);
void	progress_end(struct progress *);

/*
 * The commands
 */

int	messages_list(struct ctl *);
int	messages_show(struct ctl *);
int	messages_retry(struct ctl *);
int	messages_discard(struct ctl *);
int	messages_replay(struct ctl *);
int	dead_list(struct ctl *);
int	doctor_run(struct ctl *);
int	status_show(struct ctl *);
int	workers_list(struct ctl *);
int	partitions_list(struct ctl *);
int	partitions_sync(struct ctl *);
int	partitions_pause(struct ctl *);
int	partitions_resume(struct ctl *);
int	dead_show(struct ctl *);
int	dead_retry(struct ctl *);
int	dead_purge(struct ctl *);
int	keys_blocked(struct ctl *);
int	keys_release(struct ctl *);
int	phantoms_forget(struct ctl *);
int	stream_republish(struct ctl *);
int	enqueue(struct ctl *);
int	prune(struct ctl *);
int	reconcile(struct ctl *);
int	plan_show(struct ctl *);
int	plan_config(struct ctl *);
int	schema_print(struct ctl *);
int	schema_install(struct ctl *);
int	schema_check(struct ctl *);
int	schema_upgrade(struct ctl *);

#endif

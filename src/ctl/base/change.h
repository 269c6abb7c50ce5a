/*
 * change.h - the commands that change rows
 *
 * What such a command changes is a row of a table, a struct change: how it
 * chooses rows, what it asks, locks and writes, and the words of its report.
 * The row stands below its statements, and the table of commands in main.c
 * names it.  change_run() runs any of them: it chooses rows and asks; for each
 * chunk of them, in one transaction, it locks them, raises epochs, changes them
 * and notes that in the audit under the words of the command; then it reports.
 *
 * Functions return -1 with an error, or an exit status after they printed why.
 */
#ifndef OUTBOXCTL_CHANGE_H
#define OUTBOXCTL_CHANGE_H

#include <stddef.h>
#include <stdint.h>

#include "ctl/base/ctl.h"
#include "ctl/base/cursor.h"

#define CHANGE_CHUNK	500	/* rows in one transaction */
#define CHANGE_REFUSED	100	/* more: it is not the rows */

/* How many of the rows that are left go into the next statement. */
static inline size_t
change_piece(size_t left)
{
	return left < CHANGE_CHUNK ? left : CHANGE_CHUNK;
}

/* The rows that a command has chosen, and what became of them. */
struct chosen {
	struct ctl		*c;
	const struct change	*how;
	void			*own;		/* how->own_size bytes */
	const char		*done;		/* how->done, or check's */

	uint64_t		*named;		/* SEQUENCE..., as given */
	size_t			 nkeys;		/* KEY..., each once */
	size_t			 missing;	/* named ones without a row */
	uint64_t		*list;		/* sorted, each once */
	size_t			 n;
	size_t			 at;		/* those before it are done */
	uint64_t		 changed;	/* in a dry run, n */

	/*
	 * Rows that the database refuses to change, as a trigger or a
	 * constraint may: they stay as they are, and the others are changed.
	 */
	uint64_t		 refused[CHANGE_REFUSED];
	size_t			 nrefused;
	struct err		 why;		/* of the first */
	struct progress		 bar;
};

/* What may be missing is NULL or 0 then. */
struct change {
	/* "3 messages", "due now"; in a dry run they "would be due now". */
	const char	*thing, *done;

	/* May it run? */
	int		(*check)(struct chosen *);

	/*
	 * How rows are chosen.  select writes a SELECT of sequences that are
	 * among the n named ones, or in a page of a cursor where filters are
	 * given; keep leaves those in the list that are to be changed.
	 */
	void		(*select)(struct ctl *, const uint64_t *, size_t n);
	enum cursor_by	 by, by_key;		/* without and with --key */
	int		(*keep)(struct ctl *, uint64_t *, size_t *n,
			    struct err *);
	/* Or for KEY...: a whole SELECT; key is NULL with --all. */
	void		(*select_key)(struct ctl *, const char *key);
	/* Or in its own way: sets list and n, or only n. */
	int		(*find)(struct chosen *, struct err *);
	/* The error of a named one that has none: "no such dead letter". */
	const char	*missing;

	/*
	 * May they be changed?  If there is no function, ctl_confirm() asks;
	 * impact_ask() uses the others: a SELECT of key and type of these rows,
	 * and whether it asks of a few as well.
	 */
	int		(*ask)(struct chosen *, bool *may, struct err *);
	void		(*select_loss)(struct ctl *, const uint64_t *,
			    size_t n);
	bool		 asks_of_few;

	/*
	 * The transaction.  lock begins a SELECT of the rows whose state allows
	 * the change, up to "WHERE ... AND <sequence>"; " IN (...) FOR UPDATE"
	 * follows, and only these are changed.  epochs writes a SELECT of the
	 * partitions that get a new epoch; false: none does.  change changes
	 * those of the n rows whose state still allows it, and says how many
	 * these are; it may be called again for the same ones after a deadlock.
	 */
	struct sql	 lock;
	bool		(*epochs)(struct ctl *, const uint64_t *, size_t n);
	int		(*change)(struct chosen *, const uint64_t *, size_t n,
			    uint64_t *changed, struct err *);
	size_t		 chunk;			/* 0: CHANGE_CHUNK */
	/* Instead of change_all(). */
	int		(*apply)(struct chosen *, struct err *);
	const char	*bar;			/* of the progress */

	/* Why chosen rows may be left out; NULL: that is no error. */
	const char	*skipped;
	/* Instead of change_report(); what to add to an error; the end. */
	int		(*report)(struct chosen *);
	void		(*failed)(struct chosen *);
	void		(*end)(struct chosen *);
	size_t		 own_size;
};

/* Run the command's row.  Returns an exit status. */
int	change_run(struct ctl *);

/* For check: SEQUENCE... or filters, not both. */
int	change_check_filter(struct chosen *);

/* Were --key, --type, --partition, --group, --since or --until given? */
bool	change_is_filtered(const struct args *);

/* Choose rows by select or select_key; they are appended to the list. */
int	change_choose(struct chosen *, struct err *);

/* Append the sequences that the prepared SELECT has; set n to its number. */
int	change_add(struct ctl *, uint64_t **list, size_t *n, struct err *);
int	change_count(struct chosen *, const char *what, struct err *);

/*
 * Change these rows in a transaction.  If one is refused, halves of them, down
 * to that row.  Adds to *changed and to the refused.  -1: it failed, or there
 * are too many of these.
 */
int	change_rows(struct chosen *, const struct change *, const uint64_t *,
	    size_t n, uint64_t *changed, struct err *);

/*
 * Change the next n rows of the list; all of them; or what was counted, without
 * a list.  -1: the chunks before the failed one are committed, or all rows but
 * the refused ones.
 */
int	change_next(struct chosen *, size_t n, struct err *);
int	change_all(struct chosen *, struct err *);
int	change_at_once(struct chosen *, struct err *);

/* -1 if a row was refused, with an error that names it. */
int	change_check_refused(const struct chosen *, struct err *);

/*
 * "3 messages due now", and how many were skipped; and the latter alone, with
 * the status: were all that were named found, and all that were found changed?
 */
int	change_report(struct chosen *);
int	change_status(const struct chosen *);

#endif

/*
 * filter.h - which rows: what --key, --type, --partition, --since and --until
 * add to a statement, and lists that read no more than they may
 */
#ifndef OUTBOXCTL_FILTER_H
#define OUTBOXCTL_FILTER_H

#include "ctl/base/ctl.h"
#include "ctl/base/walk.h"

/* The SQL of what a filter compares; NULL where none is wanted. */
struct filter {
	const char	*key, *type, *partition, *time;
};

/* Append " AND ..." for each option that was given. */
void	filter_put(struct ctl *, const struct filter *);

/*
 * " <column> = <key>", as the daemon compares keys: byte by byte, whatever the
 * collation of the column says of case and of blanks at the end.  "0x..." is
 * the key of these bytes, or the text itself, whichever there is.
 */
void	filter_put_key(struct store *, const char *column, const char *key);

/*
 * A label as literals for IN (...).  "0x..." is the label of these bytes, or
 * the text itself, whichever there is.
 */
void	filter_put_label(struct store *, const char *);

/* How a page of rows is read and shown. */
struct listing {
	const struct rows_column *columns;	/* the first is the sequence */
	size_t			 ncolumns;
	const char *const	*shown;		/* to people */
	/* Begin the statement, up to "WHERE <sequence> IN ("... */
	void			(*select)(struct ctl *);
	/* ... and what follows the ")": conditions and ORDER BY. */
	void			(*finish)(struct ctl *);
};

/*
 * Print the rows that a walk meets and the filters let pass: --limit of them
 * at most, and of no more than WALK_BUDGET that were looked at.  If there may
 * be more it says where to go on.  Takes the walk; NULL: it failed with this
 * error.  Returns an exit status.
 */
int	filter_list(struct ctl *, struct walk *, const struct listing *,
	    struct err *);

#endif

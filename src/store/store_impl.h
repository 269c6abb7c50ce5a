/* store_impl.h - shared by the files of the store, and private to them */
#ifndef OUTBOX_STORE_IMPL_H
#define OUTBOX_STORE_IMPL_H

#include "store/store.h"
#include "store/store_sql.h"

/* store_fit.c: what a column can hold */
struct fit {
	size_t		max;	/* characters or bytes; 0: not known, no limit */
	enum { FIT_UTF8, FIT_BYTES, FIT_ASCII } kind;
};

/* store_columns.c: columns of the outbox and the events that have a name */
#define NCOLUMNS	24

/* store_unstable.c: parts of a message that its id is made of */
#define NHASHED		5

/*
 * store_scheduled.c: rows that the database refuses to bring back.  They are
 * not tried again before a minute is over, or else they would be the first
 * ones each time.  If there are more than the list holds, it begins anew, and
 * only rows behind the last one are read until then.
 */
#define ASIDE_MAX	1000
struct aside {
	uint64_t	rows[ASIDE_MAX];	/* sequences */
	size_t		n;
	uint64_t	behind;			/* this row; 0: from the first */
	char		label[STORE_LABEL];	/* of that row */
	int64_t		until;			/* clock_ms() */
	uint64_t	first;			/* of those refused last */
	struct err	why;			/* it was */
	size_t		nuntold;		/* refusals since said_at */
	int64_t		said_at;		/* 0: never */
};

/* store_silent.c: the heartbeat of a worker as it was seen to change */
struct heard {
	char	id[IDENT_SIZE + 4];	/* other programs have 36 characters */
	int64_t	until;			/* its end, in microseconds */
	int64_t	since;			/* clock_ms(): first seen like that */
};

/* store_sql.c: parts of a statement that are made in one another */
#define STORE_PARTS	8

struct store {
	const struct conf	*conf;
	struct db		*db;
	struct buf		 sql;
	struct buf		 outer[STORE_PARTS];	/* a part is made apart */
	size_t			 nparts;
	const char		*tables[NTABLES];
	bool			 exists[NTABLES];	/* for store_schema.c */
	enum store_profile	 profile;
	/* What was learnt last; and by the connections before this one. */
	enum { SERVED_NOTHING, SERVED_PILLAR, SERVED_ALL } learnt, served;
	char			 id[IDENT_SIZE];
	char			 away[AWAY_SIZE];
	const char		*instance;	/* of the master; NULL: none */
	char			 server[SERVER_NAME];	/* its name; "": not
							   known */
	char			 outbox_id[33];
	const char		*names[NCOLUMNS];	/* "": none */
	bool			 there[NCOLUMNS];	/* is it in the table? */
	bool			 payload_is_text;	/* or JSON */
	bool			 has_local_times;	/* occurred_at: DATETIME */
	const char		*unstable[NHASHED];	/* why; NULL: it is not */
	unsigned		 left_out;	/* of ids: MSG_KEY, ... */
	bool			 delivers_all;	/* published_at changes itself */
	/* indexes that begin with the number of a row, an event */
	char			 primary[2][DB_NAME_SIZE];
	/* the claim's; "": there is none */
	char			 index[DB_NAME_SIZE];
	bool			 index_by_time;	/* it begins with published_at */
	struct buf		 dead;	/* quoted nonces, comma first */
	struct heard		*heard;
	size_t			 nheard;
	int64_t			 heard_at;	/* clock_ms(): it was asked for */
	struct buf		 silent;	/* " OR ..." for what makes a lease
						   free, see store_silent.c */
	unsigned		 claims;	/* tokens made so far */
	bool			 whole_seconds;	/* TIMESTAMP(0) columns */
	char			 stamped[2];	/* digits of the server's own
						   available_at, created_at;
						   0: another writes it */
	struct fit		 fits[NFITS];
	int64_t			 learned_at;	/* clock_ms(); 0: never */
	struct refusals		 refusals;
	int64_t			 locked_until;	/* clock_ms(); claims ask before
						   which rows are locked */
	struct aside		 aside;
	/* If set, statements are explained to it, not run. */
	void			(*planned)(void *, const char *,
				    struct db_rows *, const struct err *);
	void			*planned_arg;
	bool			 planned_waits;	/* one has waited for a lock */
};

/*
 * store_sql.c: append a template that is no literal and names no argument; and
 * what single arguments of a template do, the number with its comma.
 */
void	store_put_sql(struct store *, const char *);
void	store_put_text(struct store *, const char *);
void	store_put_item(struct store *, uint64_t);

/*
 * store_columns.c: name the columns as the configuration says; as long as they
 * are not marked, all of them are there.  Forget which are, mark one; append one
 * of a template, "o.attempts"; false: there is no such word.
 */
void	store_name_columns(struct store *);
void	store_forget_columns(struct store *);
void	store_mark_there(struct store *, const char *table, const char *name);
bool	store_put_column(struct store *, const char *word, size_t len);

/* Append what "as COLUMN" and "clear COLUMN" stand for. */
void	store_put_verb(struct store *, const char *word, size_t len);

/*
 * store_schema.c: read profile and columns, as store_learn() does, and warn of
 * nothing.
 */
int	store_learn_columns(struct store *, struct err *);

/*
 * store_index.c: read which indexes there are; a missing one is an error, or a
 * warning if only the claim is slow without it.
 */
int	store_learn_indexes(struct store *, struct err *);

/*
 * store_silent.c: note the heartbeat of a worker in the list of a new view, and
 * return whether the worker is alive by that; the list of the view before is
 * replaced afterwards.
 */
bool	store_hear(struct store *, struct heard *list, size_t *n,
	    const char *id, int64_t until, int64_t ttl_ms);
void	store_heard(struct store *, struct heard *list, size_t n);

/* store_unstable.c: the same; -1 also if no row could be told as waiting. */
int	store_learn_unstable(struct store *, struct err *);

/* store_fit.c: note a column's character set (NULL: binary) and length. */
void	store_learn_fit(struct store *, const char *table, const char *column,
	    const char *charset, uint64_t length);

/*
 * Append the bytes made to fit their column; the text of an error, of
 * characters that its column knows.
 */
void	store_make_fit(const struct store *, enum store_fit, const char *,
	    size_t, struct buf *);
void	store_make_error_fit(const struct store *, enum store_fit,
	    const char *, struct buf *);

/*
 * store_counts.c: three columns and their FROM; what was read of them, the first
 * at this index.  Without that table store_counts_from_file takes those of the
 * file and returns true.
 */
#define STORE_COUNTS	"COALESCE(partition_count, 0), former_counts, " \
			"counts_since IS NOT NULL FROM {settings} WHERE id = 1"
int	store_take_counts(const struct db_rows *, unsigned at, struct counts *,
	    struct err *);
bool	store_counts_from_file(const struct store *, struct counts *);

/* Rows of a batch that its token still holds. */
#define STORE_HELD " WHERE {global_sequence} IN (:held) " \
		    "AND {claim_token} = :token"

/* This worker holds the lease p, under its range's epoch; SQL_EPOCHS(). */
#define STORE_FENCE " AND p.lease_owner = {me} AND p.lease_until > NOW(6) " \
		    "AND (p.partition_key, p.lease_epoch) IN (:epochs)"

/*
 * store_msg.c: the columns of a message of row o and event e, first in the
 * SELECT, with bodies of up to max bytes; and how to read them.
 */
#define STORE_MSG_COLUMNS	20
void	store_put_msg(struct store *, size_t max);
void	store_read_msg(const struct store *, struct msg *,
	    const struct db_rows *, size_t max);

/*
 * Rows o with their events e; a row without its event is read too, for it must
 * not vanish.  More conditions of the join may follow.
 */
#define STORE_ROWS_AND_EVENTS(index) "{outbox} AS o " index " LEFT JOIN " \
		    "{events} AS e ON {e.sequence} = {o.global_sequence}"

/* A column with its length; data NULL: SQL NULL. */
struct bytes store_column(const struct db_rows *, unsigned i);

/* Give the rows to the batch, whose texts they hold. */
void	store_keep_rows(struct batch *, struct db_rows *);

/* store_stream_audit.c: columns of {streams} to set; a comma stands before. */
void	store_put_loss(struct store *, const struct store_loss *);

/*
 * store_stream_audit.c: acks (0: NULL) or hashes by row.  The rows are in
 * sequence order.
 */
void	store_put_by_row(struct store *, const struct acked *, size_t n,
	    bool hashes);

#endif

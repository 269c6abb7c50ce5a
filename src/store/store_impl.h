/* store_impl.h - what the files of the store share; nobody else includes it */
#ifndef OUTBOX_STORE_IMPL_H
#define OUTBOX_STORE_IMPL_H

#include "store/store.h"
#include "store/store_sql.h"

/* store_fit.c: what a column can hold */
struct fit {
	size_t		max;	/* characters or bytes; 0: not known, no limit */
	enum { FIT_UTF8, FIT_BYTES, FIT_ASCII } kind;
};

struct store {
	const struct conf	*conf;
	struct db		*db;
	struct buf		 sql;
	const char		*tables[NTABLES];
	bool			 exists[NTABLES];
	char			 id[IDENT_SIZE];
	char			 outbox_id[33];
	char			 index[65];	/* claim index; "": none found */
	bool			 index_by_time;	/* it begins with published_at */
	char			 dead[1024];	/* quoted nonces, comma first */
	unsigned		 claims;	/* so many tokens were made */
	int64_t			 crowded_until;	/* many rows of all waited */
	bool			 whole_seconds;	/* TIMESTAMP(0) columns */
	bool			 columns[NOPTIONAL];	/* that are there */
	struct fit		 fits[NFITS];
	uint64_t		 refused[16];	/* rows that were complained of */
	unsigned		 nrefused;
	/* Statements are explained to it; NULL: they are run. */
	void			(*planned)(void *, const char *,
				    struct db_rows *, const struct err *);
	void			*planned_arg;
};

/*
 * store_fit.c: a column of a table of ours, as the catalogue has it; charset
 * NULL: it holds bytes.
 */
void	store_learn_fit(struct store *, const char *table, const char *column,
	    const char *charset, uint64_t length);

/*
 * store_mark.c: ", ..." behind what an UPDATE of leases that are mine sets: I
 * may send rows up to this one early, or shall not any more.
 */
void	store_put_early(struct store *, uint64_t upto);
void	store_put_late(struct store *, bool at_once);

/*
 * ", ..." behind what an UPDATE sets of rows o under their leases p: what a
 * former owner's mark says of those that are free, they say themselves.
 */
void	store_put_marked(struct store *);

/* Have the tables what it takes? */
bool	store_marks_leases(const struct store *);

/*
 * store_counts.c: "... FROM {settings} ...", three columns, and what was read
 * of them, the first at this index.  Where there is no such table, which is
 * true then, the file tells.
 */
void	store_put_counts(struct store *);
int	store_take_counts(const struct db_rows *, unsigned at, struct counts *,
	    struct err *);
bool	store_counts_from_file(const struct store *, struct counts *);

/* "'a','b'": their labels, however many; "('a',1),('b',2)": epochs too. */
void	store_put_range_labels(struct store *, const struct range *, size_t n);
void	store_put_epochs(struct store *, const struct range *, size_t n);

/* " AND ...": the lease p is mine under one of these epochs, each its own. */
void	store_put_fence(struct store *, const struct range *, size_t n);

/* " AND ...": the row o is of one of these ranges, and all of them are mine. */
void	store_put_leases_are_mine(struct store *, const struct range *,
	    size_t n);

/*
 * store_msg.c: the columns of a message, of the row o and its event e, the
 * first of what a statement selects; bodies of up to max bytes.  And one that
 * was read.
 */
#define STORE_MSG_COLUMNS	16
void	store_put_msg(struct store *, size_t max);
void	store_read_msg(struct msg *, const struct db_rows *, size_t max);

/* " FROM ... WHERE ": o, and e of which o; index is a template. */
void	store_put_rows_and_events(struct store *, const char *index,
	    const char *which);

/*
 * The database refuses a statement about this row alone, because of what is in
 * it.  Said once; what was to be done: "buried".
 */
void	store_say_refused(struct store *, uint64_t sequence, const char *what,
	    const struct err *);

/* A column with its length; data NULL: SQL NULL. */
struct bytes store_column(const struct db_rows *, unsigned i);

/* They go with the batch whose texts they hold. */
void	store_keep_rows(struct batch *, struct db_rows *);

/* A new token, and the moment before the claim. */
void	store_begin_claim(struct store *, struct batch *);

/*
 * Are the stream sequences of delivered messages kept, and the hashes of their
 * ids?  And the value of the column, by row.
 */
bool	store_keeps_acks(const struct store *);
bool	store_keeps_hashes(const struct store *);
void	store_put_acks(struct store *, const struct batch *);
void	store_put_hashes(struct store *, const struct batch *);

/* A moment before all that happened here. */
#define STORE_EVER	"1970-01-02"

/* Bits of settled.done: written, and perhaps written. */
#define SETTLED(outcome)	(1u << (outcome))
#define SETTLED_DOUBT(outcome)	(SETTLED(outcome) << 8)

#endif

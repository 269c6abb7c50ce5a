/* store_impl.h - what the files of the store share; nobody else includes it */
#ifndef OUTBOX_STORE_IMPL_H
#define OUTBOX_STORE_IMPL_H

#include "store.h"

enum store_table {
	T_OUTBOX, T_EVENTS, T_PARTITIONS, T_WORKERS, T_SETTINGS, T_DEAD,
	T_BLOCKED, T_STREAMS, NTABLES
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
	bool			 has_created_at;	/* in the outbox table */
	bool			 has_ack_sequence;	/* the same */
	bool			 has_unsure_since;
};

/*
 * Append a template: {outbox} {events} {partitions} {workers} {settings}
 * {dead} {blocked} {streams} become quoted table names, {now} the moment to
 * write, {me} this worker's id, {index} the FORCE INDEX of the claim.
 */
void	store_put(struct store *, const char *);

/* Start a new statement with this template. */
void	store_sql(struct store *, const char *);

/* The time to add to now, as SQL: whole milliseconds. */
void	store_put_interval(struct store *, int64_t ms);

/* "1,2,3" */
void	store_put_list(struct store *, const uint64_t *, size_t n);

/* " AND ...": the lease p is mine under one of these epochs, each its own. */
void	store_put_fence(struct store *, const struct range *, size_t n);

/* "'a','b'" */
void	store_put_labels(struct store *, const char *const *, size_t n);

/* " FROM ... WHERE ...": the waiting rows of these partitions, of one range. */
void	store_put_rows_of(struct store *, const char *const *labels, size_t n);

int	store_exec(struct store *, const char *what, uint64_t *matched,
	    struct err *);
struct db_rows *store_query(struct store *, const char *what, struct err *);

#endif

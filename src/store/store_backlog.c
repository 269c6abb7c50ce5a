/*
 * store_backlog.c - the number of rows that wait, or were delivered in the last
 * hour, without reading all of them
 *
 * For the janitor and outboxctl.
 */

#include "store/store_impl.h"

#include <stdlib.h>

#include <bsd/string.h>

/* Rows counted before their number is estimated. */
#define FEW		1000

#define WAITING		"{published_at} IS NULL"

/* For an estimate: of numbers that are twice as far from the newest, so many. */
#define SAMPLES_OF_OCTAVE 32
#define SAMPLES_MAX	(SAMPLES_OF_OCTAVE * 65)
#define SAMPLES_ENOUGH	20

/*
 * Count the first max + 1 rows of the range, and the parked ones among them.
 * They are fetched and counted here, because the server would write a derived
 * table to count it.
 */
static int
count_rows(struct store *s, const char *index, struct sql where, unsigned max,
    struct store_backlog *b, struct err *e)
{
	struct db_rows	*rows;

	store_sql(s, "SELECT :parked FROM {outbox} FORCE INDEX (:index) "
	    "WHERE :where LIMIT :max",
	    SQL_EITHER("parked", !store_is_pillar(s),
	    PARKED_RANGE("{partition_key}"), "0"),
	    SQL_NAME("index", index), SQL_PART("where", where),
	    SQL_NUMBER("max", max + 1));
	if ((rows = store_query(s, "backlog", e)) == NULL)
		return -1;
	b->waiting = db_nrows(rows);
	for (b->parked = 0; db_next(rows); )
		b->parked += db_u64(rows, 0);
	db_rows_free(rows);
	b->exact = b->waiting <= max;
	if (b->parked > max)
		b->parked = max;
	return 0;
}

/* One number stands for width of them. */
struct sample {
	uint64_t	number, width;
};

/*
 * Numbers up to the newest, by chance but the same in each call: the more of
 * them the newer, because that is where most rows of the range are.
 */
static size_t
choose_samples(uint64_t newest, struct sample to[SAMPLES_MAX])
{
	size_t	n = 0;

	for (uint64_t end = newest + 1, from; end > 0; end = from) {
		uint64_t	width = 256;

		while (width < (newest + 1 - end) / SAMPLES_OF_OCTAVE)
			width *= 2;
		from = (end - 1) / width * width;
		to[n++] = (struct sample){ from + ((from + width) *
		    0x9e3779b97f4a7c15 >> 32) % (end - from), end - from };
	}
	return n;
}

/*
 * For more rows than may be counted: samples, and the rows that they stand for.
 * The optimizer reads a few pages of the index.  It also counts what is deleted
 * and not purged yet, and never says more than half of the table; so it is asked
 * only where few samples are in the range.
 */
static int
estimate(struct store *s, const char *index, struct sql where, uint64_t *n,
    struct err *e)
{
	struct sample	 list[SAMPLES_MAX];
	char		 newest[32];
	unsigned	 hits = 0;
	size_t		 nsamples, i = 0;
	struct db_rows	*rows;
	int		 col;

	store_sql(s, "SELECT MAX({global_sequence}) FROM {outbox}");
	if (store_query_text(s, "backlog", newest, sizeof(newest), e) < 0)
		return -1;
	nsamples = choose_samples(strtoull(newest, NULL, 10), list);
	if (nsamples > 0) {
		store_sql(s, "SELECT {global_sequence} FROM {outbox} {primary} "
		    "WHERE :where AND {global_sequence} IN (:samples) "
		    "ORDER BY {global_sequence} DESC", SQL_PART("where", where),
		    SQL_LIST_OF("samples", list, nsamples, number));
		if ((rows = store_query(s, "backlog", e)) == NULL)
			return -1;
		for (*n = 0; db_next(rows); hits++) {
			while (i < nsamples - 1 &&
			    list[i].number != db_u64(rows, 0))
				i++;
			*n += list[i].width;
		}
		db_rows_free(rows);
	}
	if (hits >= SAMPLES_ENOUGH)
		return 0;
	/* With FORCE INDEX MySQL would not read the index to estimate. */
	store_sql(s, "EXPLAIN FORMAT=TRADITIONAL SELECT {partition_key} "
	    "FROM {outbox} USE INDEX (:index) WHERE :where",
	    SQL_NAME("index", index), SQL_PART("where", where));
	if ((rows = store_query(s, "backlog", e)) == NULL)
		return -1;
	*n = 0;
	if ((col = db_column(rows, "rows")) >= 0 && db_next(rows))
		*n = db_u64(rows, (unsigned)col);
	db_rows_free(rows);
	return 0;
}

/*
 * Few rows are counted in any case: an estimate may include deleted ones.  Above
 * them, those are counted that are likely to be no more than most.  The index is
 * one in which all waiting rows are one range: the claim's, or any other that
 * begins with published_at.
 */
static int
measure(struct store *s, char index[DB_NAME_SIZE], struct sql where,
    unsigned most, struct store_backlog *b, struct err *e)
{
	uint64_t	n;

	*b = (struct store_backlog){ .known = false };
	if (store_index(s) == INDEX_BY_TIME)
		strlcpy(index, store_index_name(s), DB_NAME_SIZE);
	else {
		store_sql(s, "SELECT index_name "
		    "FROM information_schema.statistics "
		    "WHERE table_schema = DATABASE() AND seq_in_index = 1 "
		    "AND column_name = :published_at "
		    "AND table_name = :outbox LIMIT 1",
		    SQL_TEXT("published_at", store_column_name(s,
		    "published_at")),
		    SQL_TEXT("outbox", store_table_name(s, T_OUTBOX)));
		if (store_query_text(s, "backlog", index, DB_NAME_SIZE, e) < 0)
			return -1;
	}
	if (index[0] == '\0')
		return 0;
	b->known = true;
	if (count_rows(s, index, where, FEW, b, e) < 0)
		return -1;
	if (b->exact)
		return 0;
	if (estimate(s, index, where, &n, e) < 0)
		return -1;
	if (n <= 2 * most && most > FEW &&
	    count_rows(s, index, where, most, b, e) < 0)
		return -1;
	if (!b->exact && b->waiting < n)
		b->waiting = n;
	return 0;
}

int
store_backlog(struct store *s, struct store_backlog *b, struct err *e)
{
	char		index[DB_NAME_SIZE];
	uint64_t	parked;

	if (measure(s, index, SQL(WAITING), STORE_BACKLOG_EXACT, b, e) < 0)
		return -1;
	b->parked_least = b->known && !b->exact;
	if (!b->parked_least || store_is_pillar(s) ||
	    store_index(s) != INDEX_BY_TIME)
		return 0;
	if (estimate(s, index, SQL(WAITING " AND "
	    PARKED_RANGE("{partition_key}")), &parked, e) < 0)
		return -1;
	/* Where there are none the optimizer says 1. */
	if (b->parked < parked && parked > 1) {
		b->parked = parked;
		b->parked_least = false;
	}
	return 0;
}

int
store_delivered(struct store *s, struct store_backlog *b, struct err *e)
{
	char	index[DB_NAME_SIZE];

	return measure(s, index,
	    SQL("{published_at} > NOW(6) - INTERVAL 1 HOUR"), FEW, b, e);
}

/*
 * store_index.c - the indexes of the outbox and the events that statements name
 *
 * Tables may be an application's own, so they are learnt at each connect.
 */

#include "store/store_impl.h"

#include <string.h>
#include <strings.h>
#include <bsd/string.h>

#include "util/log.h"

/*
 * The claim's index: an equality on (published_at, partition_key) in either
 * order, then the sequence, which InnoDB appends if it is the primary key.
 */
#define CLAIM_COLUMNS	3
#define NCLAIMS		4

static const char *const claim_indexes[NCLAIMS][CLAIM_COLUMNS] = {
	{ "published_at", "partition_key", "global_sequence" },
	{ "partition_key", "published_at", "global_sequence" },
	{ "published_at", "partition_key", NULL },
	{ "partition_key", "published_at", NULL },
};

/* Which of them is it, as "a,b,c"; NCLAIMS: none. */
static size_t
find_claim_index(const struct store *s, const char *list)
{
	struct buf	names = { 0 };
	size_t		i, k;

	for (i = 0; i < NCLAIMS; i++) {
		buf_clear(&names);
		for (k = 0; k < CLAIM_COLUMNS && claim_indexes[i][k] != NULL;
		    k++)
			buf_printf(&names, "%s%s", k == 0 ? "" : ",",
			    store_column_name(s, claim_indexes[i][k]));
		/* Without the sequence that must be the primary key. */
		if (strcasecmp(names.data, list) == 0 && (k == CLAIM_COLUMNS ||
		    strcmp(s->primary[T_OUTBOX], "PRIMARY") == 0))
			break;
	}
	buf_free(&names);
	return i;
}

bool
store_is_claim_index(const struct store *s, const char *list)
{
	return find_claim_index(s, list) < NCLAIMS;
}

/* The index to look rows up by: PRIMARY, or one of their own. */
static int
learn_primary(struct store *s, enum store_table t, const char *sequence,
    struct err *e)
{
	const char	*table = s->tables[t];
	const char	*column = store_column_name(s, sequence);
	struct buf	 sql = { 0 };

	store_sql(s, "SELECT index_name FROM information_schema.statistics "
	    "WHERE table_schema = DATABASE() AND seq_in_index = 1 "
	    "AND non_unique = 0 AND table_name = :table "
	    "AND column_name = :sequence "
	    "ORDER BY index_name = 'PRIMARY' DESC LIMIT 1",
	    SQL_TEXT("table", table), SQL_TEXT("sequence", column));
	if (store_query_text(s, "schema", s->primary[t],
	    sizeof(s->primary[t]), e) < 0)
		return -1;
	if (s->primary[t][0] == '\0' && t == T_EVENTS)
		strlcpy(s->primary[t], "PRIMARY", sizeof(s->primary[t]));
	if (s->primary[t][0] != '\0')
		return 0;
	buf_str(&sql, "ALTER TABLE ");
	db_name(&sql, table);
	buf_str(&sql, " ADD UNIQUE KEY (");
	db_name(&sql, column);
	buf_str(&sql, ")");
	err_set(e, "schema: %s has no unique index that begins with %s: %s",
	    table, column, sql.data);
	buf_free(&sql);
	return -1;
}

void
store_put_claim_index(const struct store *s, struct buf *to)
{
	buf_str(to, "ALTER TABLE ");
	db_name(to, s->tables[T_OUTBOX]);
	buf_str(to, " ADD KEY outbox_claim");
	for (size_t i = 0; i < CLAIM_COLUMNS; i++) {
		buf_str(to, i == 0 ? " (" : ", ");
		db_name(to, store_column_name(s, claim_indexes[0][i]));
	}
	buf_str(to, ")");
}

int
store_learn_indexes(struct store *s, struct err *e)
{
	const char *const	*words = claim_indexes[0];
	struct db_rows		*rows;
	struct buf		 sql = { 0 };
	size_t			 best = NCLAIMS, i;

	if (learn_primary(s, T_OUTBOX, "global_sequence", e) < 0 ||
	    learn_primary(s, T_EVENTS, "sequence", e) < 0)
		return -1;
	store_sql(s, "SELECT index_name, GROUP_CONCAT(column_name "
	    "ORDER BY seq_in_index) FROM information_schema.statistics "
	    "WHERE table_schema = DATABASE() AND table_name = :outbox "
	    "GROUP BY index_name", SQL_TEXT("outbox", s->tables[T_OUTBOX]));
	if ((rows = store_query(s, "schema", e)) == NULL)
		return -1;
	s->index[0] = '\0';
	s->index_by_time = false;
	while (db_next(rows)) {
		if ((i = find_claim_index(s, db_text(rows, 1))) >= best)
			continue;
		best = i;
		strlcpy(s->index, db_text(rows, 0), sizeof(s->index));
		s->index_by_time = claim_indexes[i][0][1] == 'u';
	}
	db_rows_free(rows);
	if (best < NCLAIMS)
		return 0;
	store_put_claim_index(s, &sql);
	log_warn("%s: no index (%s, %s, %s): every claim sorts the backlog; "
	    "remedy: %s", s->tables[T_OUTBOX], store_column_name(s, words[0]),
	    store_column_name(s, words[1]), store_column_name(s, words[2]),
	    sql.data);
	buf_free(&sql);
	return 0;
}

enum store_index
store_index(const struct store *s)
{
	if (s->index[0] == '\0')
		return INDEX_NONE;
	return s->index_by_time ? INDEX_BY_TIME : INDEX_BY_LABEL;
}

const char *
store_index_name(const struct store *s)
{
	return s->index;
}

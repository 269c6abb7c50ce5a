/* watermark.c - see watermark.h */

#include "store/watermark.h"

#include <stdlib.h>

#include "store/store_sql.h"

int
watermark_read(struct store *s, struct watermark *h, struct err *e)
{
	char	at[24];

	*h = (struct watermark){ 0 };
	if (store_is_pillar(s))
		return 0;
	store_sql(s, "SELECT reconcile_watermark FROM {settings} "
	    "WHERE id = 1");
	if (store_query_text(s, "watermark", at, sizeof(at), e) < 0)
		return -1;
	if (at[0] != '\0')
		*h = (struct watermark){ true, strtoull(at, NULL, 10) };
	return 0;
}

int
watermark_raise(struct store *s, uint64_t to, struct err *e)
{
	struct watermark	h;

	if (watermark_read(s, &h, e) < 0)
		return -1;
	if (!h.known || h.at >= to)
		return 0;
	store_sql(s, "UPDATE {settings} SET updated_at = {now}, "
	    "reconcile_watermark = GREATEST(reconcile_watermark, :to) "
	    "WHERE id = 1", SQL_NUMBER("to", to));
	return store_exec(s, "watermark", NULL, e);
}

int
watermark_purge(struct store *s, const uint64_t *sequences, size_t n,
    uint64_t *changed, struct err *e)
{
	struct watermark	h;
	uint64_t		deleted;

	if (watermark_read(s, &h, e) < 0)
		return -1;
	/* It only rises: an old value keeps some rows longer, no more. */
	store_sql(s, "DELETE FROM {dead} WHERE global_sequence IN (:rows):upto",
	    SQL_LIST("rows", sequences, n),
	    SQL_IF("upto", h.known, " AND global_sequence <= :watermark"),
	    SQL_NUMBER("watermark", h.at));
	if (store_exec(s, "purge", &deleted, e) < 0)
		return -1;
	*changed = deleted;
	if (deleted == n)
		return 0;
	store_sql(s, "UPDATE {dead} SET reason = '" DEAD_PURGED "', "
	    "order_key = NULL, last_error = NULL WHERE reason NOT IN "
	    DEAD_MARKS " AND global_sequence IN (:rows)",
	    SQL_LIST("rows", sequences, n));
	if (store_exec(s, "purge", changed, e) < 0)
		return -1;
	*changed += deleted;
	return 0;
}

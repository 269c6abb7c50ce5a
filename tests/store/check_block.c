/*
 * check_block.c - keys that are blocked, against real servers
 *
 * The table of blocked keys, parking, the burial that halts a key, and the
 * worker's stages on these tables.  Here is what the parts share, see
 * block_test.h.
 */
#include "store/block_test.h"

void
block_begin(void)
{
	begin_store();
	add_lease("p00", ME, 1);
}

void
add_record(unsigned first, const char *label, const char *key,
    const char *reason)
{
	sql("INSERT INTO outbox_blocked_keys (first_sequence, partition_key, "
	    "order_key, reason, head_sequence) VALUES (%u, '%s', %s, '%s', %u)",
	    first, label, key, reason, first);
}

void
set_key(unsigned row, const char *key)
{
	sql("UPDATE events SET stream_id = '%s', stream_sequence = sequence "
	    "WHERE sequence = %u", key, row);
}

void
add_rows_of(const char *key, unsigned first, unsigned last, const char *label)
{
	add_rows(first, last, label);
	for (unsigned i = first; i <= last; i++)
		set_key(i, key);
}

const char *
labels(void)
{
	return sql_text("SELECT GROUP_CONCAT(global_sequence, ' ', "
	    "COALESCE(partition_key, 'NULL') ORDER BY 1 SEPARATOR ', ') "
	    "FROM outbox WHERE published_at IS NULL");
}

const char *
records(void)
{
	return sql_text("SELECT COALESCE(GROUP_CONCAT(first_sequence, ' ', "
	    "partition_key, ' ', reason, ' ', head_sequence ORDER BY 1 "
	    "SEPARATOR ', '), '') FROM outbox_blocked_keys");
}

void
ck_tables(const char *want_records, const char *want_labels)
{
	ck_assert_str_eq(records(), want_records);
	ck_assert_str_eq(labels(), want_labels);
}

static void
add_all(Suite *s, const struct kind *k)
{
	TCase	*tc = add_case(s, "block", k, k->start, block_begin, end_store);

	/* First the strays: ANALYZE TABLE of the others would change plans. */
	add_strays(tc);
	add_statements(tc);
	add_halts(add_case(s, "halt", k, k->start, halt_begin, halt_end));
	add_parking(add_case(s, "park", k, k->start, park_begin, park_end));
	tc = add_case(s, "random", k, k->start, random_begin, random_end);
	add_ticks(tc);
	add_scans(tc);
	add_glances(tc);
	add_stories(tc);
	tc = add_case(s, "stories", k, k->start, random_begin, random_end);
	tcase_set_tags(tc, "long");
	add_more_stories(tc);
}

int
main(void)
{
	return frame_run("block", add_all);
}

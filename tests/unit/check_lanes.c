/*
 * check_lanes.c - rows that wait for their head, children for their deadline
 *
 * Lanes and slots.  Here is what the tests of lanes share, see lanes_test.h.
 */
#include "unit/lanes_test.h"

struct lanes		*lanes;
struct lanes_parts	 parts[2];

void
put_in(struct part *part, struct bytes lane, uint64_t sequence, int64_t due_at)
{
	lanes_block(lanes, &(struct wait){ .part = part, .lane = lane,
	    .key = lane, .sequence = sequence, .due_at = due_at,
	    .why = BLOCK_FAILED });
}

void
put(const char *lane, uint64_t sequence, int64_t due_at)
{
	put_in(&p1, bytes_of(lane), sequence, due_at);
}

void
ck_bars(const char *lane, uint64_t first)
{
	struct bytes	name = bytes_of(lane);

	for (uint64_t i = 1; i < 100; i++)
		ck_assert_msg(lanes_blocks(lanes, name, i) == (i >= first),
		    "lane %s, row %d", lane, (int)i);
	ck_assert(lanes_blocks(lanes, name, UINT64_MAX) ==
	    (first != LANE_NONE));
}

const char *
held(void)
{
	static char	text[400];
	size_t		n = 0;

	text[0] = '\0';
	for (uint64_t i = 1; i < 100; i++)
		if (lanes_has_row(lanes, i))
			sprintf(text + strlen(text), "%s%d", n++ > 0 ? " " : "",
			    (int)i);
	ck_assert_uint_eq(lanes_nrows(lanes), n);
	ck_assert_uint_eq(p1.nblocked + p2.nblocked, n);
	return text;
}

const char *
due(int64_t now, size_t max)
{
	static char	text[200];
	struct pick	picks[16];
	size_t		n = lanes_due(lanes, now, picks, max);

	ck_assert_uint_le(n, max);
	text[0] = '\0';
	for (size_t done = 0; done < n; done++) {
		size_t least = 0;

		for (size_t i = 1; i < n; i++)
			if (picks[i].sequence < picks[least].sequence)
				least = i;
		ck_assert_ptr_nonnull(picks[least].part);
		sprintf(text + strlen(text), "%s%d", done > 0 ? " " : "",
		    (int)picks[least].sequence);
		picks[least].sequence = UINT64_MAX;
	}
	return text;
}

static void
lanes_setup(void)
{
	lanes = lanes_new();
	memset(parts, 0, sizeof(parts));
	p1.nlabels = p2.nlabels = 1;
}

static void
lanes_teardown(void)
{
	lanes_free(lanes);
}

static TCase *
add_lanes_case(Suite *s, const char *name)
{
	TCase	*tc = tcase_create(name);

	tcase_add_checked_fixture(tc, lanes_setup, lanes_teardown);
	suite_add_tcase(s, tc);
	return tc;
}

int
main(void)
{
	Suite	*s = suite_create("hold");
	TCase	*tc = add_lanes_case(s, "hold");

	add_rows(tc);
	add_parked(tc);
	/* The tag: valgrind would take ten minutes over these. */
	tc = add_lanes_case(s, "model");
	tcase_set_tags(tc, "long");
	add_models(tc);
	add_slots(s);
	return run_suite(s);
}

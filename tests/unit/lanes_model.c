/*
 * lanes_model.c - lanes against a slow but obvious model of them
 *
 * The yard notes where each row is, and everything else follows from that.  Row
 * i is of lane i mod NLANES, and lane l is in the partition l mod 2.
 */
#include "unit/lanes_test.h"

#define NLANES		8
#define NSEQUENCES	200

enum place { NOWHERE, HELD, PARKED };

static struct {
	enum place	at[NSEQUENCES];
	int		head[NLANES];		/* NSEQUENCES: none */
	int		halted[NLANES];
	int64_t		due[NLANES];
	bool		waits[NLANES], recorded[NLANES];
	size_t		nlifted[2];
} yard;

#define FOR_ROWS(i, l)	\
	for (int i = (l) == 0 ? NLANES : (l); i < NSEQUENCES; i += NLANES)

static struct bytes
yard_lane(int l)
{
	static char	names[NLANES];

	names[l] = (char)('a' + l);
	return (struct bytes){ &names[l], 1 };
}

static struct part *
yard_part(int l)
{
	return l % 2 == 0 ? &p1 : &p2;
}

/* The first row that is parked, except the head. */
static int
yard_parked(int l)
{
	FOR_ROWS(i, l)
		if (yard.at[i] == PARKED && i != yard.head[l])
			return i;
	return NSEQUENCES;
}

static int
yard_behind(int l)
{
	int	parked = yard_parked(l);

	return yard.halted[l] < parked ? yard.halted[l] + 1 : parked;
}

static void
yard_clear(int l)
{
	FOR_ROWS(i, l)
		yard.at[i] = NOWHERE;
	yard.head[l] = yard.halted[l] = NSEQUENCES;
	yard.due[l] = INT64_MAX;
	yard.waits[l] = yard.recorded[l] = false;
}

static bool
yard_returns(int l)
{
	return yard.waits[l] && yard.head[l] == NSEQUENCES &&
	    yard.halted[l] == NSEQUENCES && yard_parked(l) < NSEQUENCES;
}

static void
yard_put(int i, int64_t due_at)
{
	int	l = i % NLANES, behind = yard_behind(l);

	if (yard.at[i] == PARKED)	/* a scan does not find it */
		return;
	put_in(yard_part(l), yard_lane(l), (uint64_t)i, due_at);
	yard.waits[l] = true;
	yard.at[i] = HELD;
	if (i <= yard.head[l] && i < behind) {
		yard.head[l] = i;
		yard.due[l] = due_at;
	}
}

static void
yard_drop(int l, int before)
{
	FOR_ROWS(i, l)
		if (i < before && yard.at[i] == HELD)
			yard.at[i] = NOWHERE;
}

static void
yard_gone(int i)
{
	int	l = i % NLANES;

	lanes_row_gone(lanes, (uint64_t)i);
	if (yard.at[i] != HELD)
		return;
	yard.at[i] = NOWHERE;
	if (yard.head[l] != i)
		return;
	yard.head[l] = NSEQUENCES;
	yard.due[l] = INT64_MAX;
	yard_drop(l, yard_behind(l));
	if (yard_behind(l) == NSEQUENCES) {
		yard.nlifted[l % 2] += yard.recorded[l];
		yard_clear(l);
	}
}

static void
yard_park(int l, size_t max)
{
	struct blocked_lane	*lane = lanes_find(lanes, yard_lane(l));
	uint64_t		 list[NSEQUENCES];
	size_t			 n = 0;

	if (lane == NULL || (!yard.recorded[l] && yard.head[l] == NSEQUENCES))
		return;
	if (lane->record == 0)
		lane->record = lane->head;
	lane->home = yard_part(l);
	yard.recorded[l] = true;
	if (max % 2 == 0 && lane->head != LANE_NONE && !lane->head_parked)
		list[n++] = lane->head;
	n += lane_list_rows(lane, list + n, max);
	lanes_parked(lanes, lane, list, n);
	for (size_t i = 0; i < n; i++) {
		ck_assert(yard.at[list[i]] == HELD);
		yard.at[list[i]] = PARKED;
	}
}

/* The head, or the rows before the n-th that is parked. */
static void
yard_back(int l, int n)
{
	struct blocked_lane	*lane = lanes_find(lanes, yard_lane(l));
	int			 next = NSEQUENCES;

	if (yard.head[l] < NSEQUENCES && yard.at[yard.head[l]] == PARKED) {
		lanes_head_back(lanes, lane);
		yard.at[yard.head[l]] = HELD;
	}
	if (!yard_returns(l))
		return;
	FOR_ROWS(i, l)
		if (yard.at[i] == PARKED && n-- == 0)
			next = i;
	lanes_rows_back(lanes, lane,
	    next == NSEQUENCES ? LANE_NONE : (uint64_t)next);
	FOR_ROWS(i, l)
		if (i < next)
			yard.at[i] = NOWHERE;
	if (next == NSEQUENCES) {
		yard.nlifted[l % 2] += yard.recorded[l];
		yard_clear(l);
	}
}

static void
yard_halt(int l, int sequence)
{
	struct blocked_lane	*lane = lanes_find(lanes, yard_lane(l));

	if (lane == NULL)
		return;
	if (lane->record == 0)
		lane->record = 1;
	lane->home = yard_part(l);
	yard.recorded[l] = true;
	lanes_halt(lanes, lane, yard_part(l), (uint64_t)sequence);
	if (sequence < yard.halted[l])
		yard.halted[l] = sequence;
	if (yard.head[l] > yard.halted[l]) {
		yard.head[l] = NSEQUENCES;
		yard.due[l] = INT64_MAX;
	}
}

static void
yard_forget(int part)
{
	lanes_forget_part(lanes, yard_part(part));
	for (int l = part; l < NLANES; l += 2)
		yard_clear(l);
	yard.nlifted[part] = 0;
}

static void
yard_compare(void)
{
	int64_t	next = INT64_MAX;
	size_t	nblocked[2] = { 0, 0 }, nlanes = 0, nreturning = 0;

	for (int i = 1; i < NSEQUENCES; i++) {
		int l = i % NLANES;

		ck_assert(lanes_has_row(lanes, (uint64_t)i) ==
		    (yard.at[i] == HELD));
		ck_assert(lanes_blocks(lanes, yard_lane(l), (uint64_t)i) ==
		    (yard.head[l] < i || yard_behind(l) <= i));
		nblocked[l % 2] += yard.at[i] == HELD;
	}
	for (int l = 0; l < NLANES; l++) {
		nlanes += yard.waits[l];
		nreturning += yard_returns(l);
		if (yard.due[l] < next)
			next = yard.due[l];
	}
	ck_assert_uint_eq(p1.nblocked, nblocked[0]);
	ck_assert_uint_eq(p2.nblocked, nblocked[1]);
	ck_assert_uint_eq(lanes_nrows(lanes), nblocked[0] + nblocked[1]);
	ck_assert_uint_eq(lanes_count(lanes), nlanes);
	ck_assert_uint_eq(lanes->nreturning, nreturning);
	ck_assert_uint_eq(lanes->nlifted, yard.nlifted[0] + yard.nlifted[1]);
	ck_assert_int_eq(lanes_next_due(lanes), next);
}

static void
yard_step(void)
{
	int	i = 1 + rand() % (NSEQUENCES - 1), l = i % NLANES;

	switch (rand() % 12) {
	case 0: case 1: case 2:
		yard_gone(yard.head[l] < NSEQUENCES ? yard.head[l] : i);
		break;
	case 3: case 4:
		yard_park(l, (size_t)(rand() % 5));
		break;
	case 5: case 6:
		yard_back(l, rand() % 4);
		break;
	case 7:
		if (rand() % 10 == 0)
			yard_halt(l, i);
		if (rand() % 20 == 0)
			yard_forget(i % 2);
		break;
	default:
		yard_put(i, rand() % 5 == 0 ? INT64_MAX : rand() % 1000);
	}
}

static void
yard_run(int seed, int rounds, void (*step)(void))
{
	srand((unsigned)seed);
	memset(&yard, 0, sizeof(yard));
	for (int l = 0; l < NLANES; l++)
		yard_clear(l);
	for (int round = 0; round < rounds; round++) {
		step();
		if (round % 5 == 0)
			yard_compare();
	}
	yard_compare();
}

/* Rows that fail and go: nothing is parked or halted. */
static void
plain_step(void)
{
	int	i = 1 + rand() % (NSEQUENCES - 1);

	if (rand() % 3 > 0)
		yard_put(i, rand() % 5 == 0 ? INT64_MAX : rand() % 1000);
	else
		yard_gone(i);
}

START_TEST(hold_agrees_with_a_model)
{
	yard_run(_i, 1000, plain_step);
}
END_TEST

START_TEST(records_agree_with_a_model)
{
	yard_run(_i, 3000, yard_step);
	yard_forget(0);
	yard_forget(1);
	yard_compare();
}
END_TEST

void
add_models(TCase *tc)
{
	tcase_add_loop_test(tc, hold_agrees_with_a_model, 0, 8);
	tcase_add_loop_test(tc, records_agree_with_a_model, 0, 16);
}

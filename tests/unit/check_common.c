/*
 * check_common.c - the values that most rooms speak of
 *
 * away, ident, label_set, lane, message_id and figures.
 */
#include "lib/check.h"

#include <sys/wait.h>

#include "common/away.h"
#include "common/figures.h"
#include "common/ident.h"
#include "common/label_set.h"
#include "common/lane.h"
#include "common/message_id.h"
#include "ipc/predecessors.h"

#define ID	"host:07:0123456789abcdef"

/*
 * ident
 */

static const struct {
	const char	*host;
	unsigned	 slot;
	const char	*start;
} names[] = {
	{ "host", 0, "host:00:" },
	{ "host", 7, "host:07:" },
	{ "db-1.example", 99, "db-1.example:99:" },
	{ "host", 100, "host:100:" },
	{ "host", 999, "host:999:" },
	{ "abcdefghijklmn", 1, "abcdefghijklmn:01:" },
	{ "abcdefghijklmno", 1, "abcdefghijklmn:01:" },
	{ "abcdefghijklmn.example.com", 999, "abcdefghijklmn:999:" },
	{ "my host", 1, "my_host:01:" },
	{ "a:b'c\"d\\e", 1, "a_b_c_d_e:01:" },
	{ "h\xc3\xb6st\n", 1, "h__st_:01:" },
	{ "", 1, ":01:" },
};

START_TEST(id_has_its_form)
{
	char		id[IDENT_SIZE];
	const char	*start = names[_i].start, *nonce;

	ident_new(id, names[_i].host, names[_i].slot);
	ck_assert_int_eq(strncmp(id, start, strlen(start)), 0);
	nonce = ident_nonce(id);
	ck_assert_ptr_eq(nonce, id + strlen(start));
	ck_assert_uint_eq(strlen(nonce), IDENT_NONCE - 1);
	ck_assert_uint_eq(strspn(nonce, "0123456789abcdef"), IDENT_NONCE - 1);
	ck_assert(ident_is_valid(id));
	ck_assert_uint_eq(ident_slot(id), names[_i].slot);
}
END_TEST

START_TEST(id_is_new_each_time)
{
	char	id[IDENT_SIZE] = "", of_child[IDENT_SIZE];
	int	fds[2], status;

	ident_new(id, "host", 1);
	ck_assert_int_eq(pipe(fds), 0);
	if (fork() == 0) {
		ident_new(id, "host", 1);
		_exit(write(fds[1], id, sizeof(id)) != sizeof(id));
	}
	ident_new(id, "host", 1);
	ck_assert_int_eq(read(fds[0], of_child, sizeof(of_child)),
	    sizeof(of_child));
	wait(&status);
	ck_assert_int_eq(status, 0);
	ck_assert_str_ne(of_child, id);
	close(fds[0]);
	close(fds[1]);
}
END_TEST

/* How many of the ids come before this one. */
static size_t
rank_of(size_t i, char ids[][IDENT_SIZE], size_t n, bool by_slot)
{
	size_t	rank = 0;

	for (size_t k = 0; k < n; k++)
		rank += ident_precedes(ids[k], ids[i], by_slot);
	return rank;
}

START_TEST(successors_sort_to_the_same_place)
{
	static const char *const	hosts[] = { "a-b", "a.c", "a", "b" };
	static const unsigned		slots[] = { 0, 2, 9, 10, 31, 99 };
	char				ids[24][IDENT_SIZE];

	for (int round = 0; round < 50; round++) {
		for (size_t i = 0; i < 24; i++)
			ident_new(ids[i], hosts[i / 6], slots[i % 6]);
		for (size_t i = 0; i < 24; i++) {
			ck_assert_uint_eq(rank_of(i, ids, 24, false), i);
			/* Hosts take turns. */
			ck_assert_uint_eq(rank_of(i, ids, 24, true),
			    i % 6 * 4 + i / 6);
		}
	}
}
END_TEST

START_TEST(ids_are_compared_as_bytes)
{
	const char	*a = "B:01", *b = "a:01", *c = "\xc3\xb6:01";

	ck_assert(ident_precedes(a, b, false));
	ck_assert(ident_precedes(b, c, false));
	ck_assert(!ident_precedes(c, a, false));
	ck_assert(!ident_precedes(a, a, false));
}
END_TEST

static const char *const invalid[] = {
	"", "x", ":", "host:07:",
	"0123456789abcdef",			/* a nonce alone */
	":0123456789abcdef",			/* no slot */
	"host:0123456789abcdef",
	"host:07:0123456789abcde",
	"host:07:0123456789abcdeg",
	"host:07:0123456789ABCDEF",
	"host:07-0123456789abcdef",
	"host:07:0123456789abcdef ",
	"host:07:0123456789abcdef\n",
	"ho st:07:0123456789abcdef",
	"ho'st:07:0123456789abcdef",
	"ho\"st:07:0123456789abcdef",
	"ho\\st:07:0123456789abcdef",
	"ho\nst:07:0123456789abcdef",
	"h\xc3\xb6st:07:0123456789abcdef",
	"a-host-with-name:007:0123456789abcdef",	/* 37 */
};

START_TEST(what_is_no_id_is_refused)
{
	ck_assert(!ident_is_valid(invalid[_i]));
}
END_TEST

START_TEST(longest_id_is_valid)
{
	ck_assert(ident_is_valid(ID));
	ck_assert(ident_is_valid("a-host-with-nam:007:0123456789abcdef"));
	ck_assert_ptr_null(ident_nonce(""));
	ck_assert_ptr_null(ident_nonce("0123456789abcdef"));
	ck_assert_str_eq(ident_nonce(ID), "0123456789abcdef");
}
END_TEST

/*
 * label_set
 */

static bool
has(const struct label_set *s, const char *label, size_t len)
{
	struct label_set	one = { { 0 } };

	label_set_add(&one, label, len);
	return label_set_meets(s, &one);
}

START_TEST(set_has_what_was_added)
{
	struct label_set	s = { { 0 } };

	ck_assert(!has(&s, "07", 2));
	ck_assert(!has(&s, NULL, 0));
	label_set_add(&s, "07", 2);
	label_set_add(&s, "other", 5);
	ck_assert(has(&s, "07", 2));
	ck_assert(has(&s, "07 and more", 2));
	ck_assert(has(&s, "other", 5));
	ck_assert(!has(&s, "08", 2));
	ck_assert(!has(&s, "", 0));
}
END_TEST

START_TEST(no_label_is_a_label)
{
	struct label_set	s = { { 0 } };

	label_set_add(&s, "", 0);
	ck_assert(has(&s, NULL, 0));
	ck_assert(!has(&s, "00", 2));
}
END_TEST

/* In whatever word of them the label is. */
START_TEST(sets_meet_in_a_label)
{
	struct label_set	some = { { 0 } }, other = { { 0 } };
	char			label[8];

	ck_assert(!label_set_meets(&some, &some));
	for (int i = 0; i < 64; i++) {
		snprintf(label, sizeof(label), "p%02d", i);
		memset(&other, 0, sizeof(other));
		label_set_add(&other, label, strlen(label));
		ck_assert(label_set_meets(&other, &other));
		ck_assert(!label_set_meets(&some, &other) ||
		    has(&some, label, strlen(label)));
		label_set_add(&some, label, strlen(label));
		ck_assert(label_set_meets(&some, &other));
	}
}
END_TEST

/* Each bit has its place: a label takes one of all, not of some words. */
START_TEST(labels_spread_over_the_set)
{
	struct label_set	s = { { 0 } };
	char			label[8];
	unsigned		bits = 0;

	for (unsigned i = 0; i < 4096; i++) {
		snprintf(label, sizeof(label), "%02u", i);
		label_set_add(&s, label, strlen(label));
	}
	for (unsigned i = 0; i < LABEL_BITS; i++)
		bits += s.bits[i / 64] >> i % 64 & 1;
	ck_assert_uint_ge(bits, LABEL_BITS * 9 / 10);
}
END_TEST

/*
 * lane
 */

static const struct {
	enum conf_ordering	 ordering;
	struct bytes		 key, partition;
	const char		*lane;		/* NULL: the sequence */
} lanes[] = {
	{ ORDER_KEY, { "k", 1 }, { "p01", 3 }, "k" },
	{ ORDER_KEY, { "", 0 }, { "p01", 3 }, "" },
	{ ORDER_KEY, { NULL, 0 }, { "p01", 3 }, NULL },
	{ ORDER_PARTITION, { "k", 1 }, { "p01", 3 }, "p01" },
	{ ORDER_PARTITION, { "k", 1 }, { NULL, 0 }, "" },
	{ ORDER_PARTITION, { NULL, 0 }, { "p01", 3 }, "p01" },
	{ ORDER_NONE, { "k", 1 }, { "p01", 3 }, NULL },
};

START_TEST(lane_is_what_stays_in_order)
{
	uint64_t	sequence = 42;
	struct bytes	l = lane_of(lanes[_i].ordering, lanes[_i].key,
			    lanes[_i].partition, &sequence);

	ck_assert_ptr_nonnull(l.data);
	if (lanes[_i].lane == NULL) {
		ck_assert_uint_eq(l.len, sizeof(sequence));
		ck_assert_mem_eq(l.data, &sequence, sizeof(sequence));
	} else {
		ck_assert_uint_eq(l.len, strlen(lanes[_i].lane));
		ck_assert_mem_eq(l.data, lanes[_i].lane, l.len);
	}
}
END_TEST

/*
 * message_id
 */

static const struct {
	const char	*text;
	bool		 ours;
	struct message_id id;
} read_ids[] = {
	{ "shop-7-00000000000000ff", true, { 7, 255, 0, true } },
	{ "shop-7-ffffffffffffffff-r12", true, { 7, UINT64_MAX, 12, true } },
	{ "shop-18446744073709551615-0123456789abcdef", true,
	  { UINT64_MAX, 0x0123456789abcdef, 0, true } },
	{ "shop-7-cbf43926", true, { 7, 0, 0, false } },	/* of before */
	{ "shop-7-cbf43926-r2", true, { 7, 0, 2, false } },
	{ "shop-7", false, { 0 } },
	{ "shop-", false, { 0 } },
	{ "shop-x-00000000000000ff", false, { 0 } },
	{ "shopping-7-00000000000000ff", false, { 0 } },
	{ "sho", false, { 0 } },
	/* Of another outbox, whose id is longer. */
	{ "shop-1-57-00000000000000ff", false, { 0 } },
	{ "shop-1-00000000-7-00000000000000ff", false, { 0 } },
	{ "shop-7-00000000000000ff-r", false, { 0 } },
	{ "shop-7-00000000000000ff-r1x", false, { 0 } },
	{ "shop-7-00000000000000ff-r1\r", true, { 7, 255, 1, true } },
	{ "shop-7-00000000000000ff\r\n", true, { 7, 255, 0, true } },
};

START_TEST(message_id_is_read)
{
	struct message_id	id = { 0 };

	ck_assert(message_id_read(&id, "shop", read_ids[_i].text) ==
	    read_ids[_i].ours);
	if (!read_ids[_i].ours)
		return;
	ck_assert_uint_eq(id.sequence, read_ids[_i].id.sequence);
	ck_assert_uint_eq(id.hash, read_ids[_i].id.hash);
	ck_assert_uint_eq(id.replay, read_ids[_i].id.replay);
	ck_assert(id.hashed == read_ids[_i].id.hashed);
}
END_TEST

static const struct {
	struct message_id	found;
	bool			same, same_without_hash;
} compared[] = {		/* with row 7, hash 5, replay 2 */
	{ { 7, 5, 2, true }, true, true },
	{ { 7, 6, 2, true }, false, true },
	{ { 7, 0, 2, false }, false, true },
	{ { 7, 5, 1, true }, false, false },
	{ { 8, 5, 2, true }, false, false },
};

START_TEST(message_ids_are_compared_whole)
{
	struct message_id	wanted = { 7, 5, 2, true };

	ck_assert(message_id_is(&wanted, &compared[_i].found) ==
	    compared[_i].same);
	wanted.hashed = false;
	ck_assert(message_id_is(&wanted, &compared[_i].found) ==
	    compared[_i].same_without_hash);
}
END_TEST

/*
 * figures
 */

/* What a slot's destination went through: + taken, a letter failed. */
static void
go_through(struct figures *f, const char *story, int64_t *now)
{
	for (; *story != '\0'; story++, *now += 1000)
		if (*story == '+')
			figures_took(f, 1, *now);
		else if (*story != '.')
			figures_failed(f, &(struct figures_failure){
			    .sequence = (uint64_t)*story, .text = "HTTP 500",
			    .again_ms = 1000,
			    .sure = *story >= 'A' && *story <= 'Z' }, *now);
}

/* Of two slots at the same time, a second each; since when it fails, in s. */
static const struct {
	const char	*a, *b;
	int64_t		 since;
} stories[] = {
	{ "", "", 0 },
	{ "+", "+", 0 },
	{ "aaa", "", 1 },		/* the first one there ever was */
	{ "+aaa", "", 0 },		/* the message's fault, maybe */
	{ "+aaaaa", "", 2 },		/* and nothing else goes there */
	{ "+A", "", 2 },		/* the destination's */
	{ "+aba", "", 2 },
	{ "+aa", "+bb", 2 },		/* several of two workers */
	{ "+ab", "...+", 0 },
	{ "ab", "+", 1 },		/* it was taken before */
	{ "ab..ab", "..+", 3 },		/* and between */
	{ "ab.........", "", 1 },
	{ "ab..............", "", 0 },	/* nothing waits there any more */
};

START_TEST(destination_that_takes_nothing)
{
	struct figures	slots[2] = { { .name = "x" }, { .name = "x" } };
	struct figures	sum = { 0 };
	int64_t		at[2] = { 1000, 1000 }, now;

	go_through(&slots[0], stories[_i].a, &at[0]);
	go_through(&slots[1], stories[_i].b, &at[1]);
	now = at[0] > at[1] ? at[0] : at[1];
	figures_add(&sum, &slots[0], now);
	figures_add(&sum, &slots[1], now);
	ck_assert_int_eq(figures_fail_since(&sum, now) / 1000,
	    stories[_i].since);
}
END_TEST

/* A bad message that was buried tells nothing of its destination. */
START_TEST(own_fault_is_only_counted)
{
	struct figures	f = { .name = "x" };

	for (uint64_t i = 1; i <= 5; i++)
		figures_failed(&f, &(struct figures_failure){ .sequence = i,
		    .text = "HTTP 400", .own = true }, 1000);
	ck_assert_int_eq(figures_fail_since(&f, 9000), 0);
	ck_assert_uint_eq(f.failed, 5);
	ck_assert_str_eq(f.error, "HTTP 400");
}
END_TEST

START_TEST(figures_of_the_last_minute)
{
	struct figures	a = { .name = "x" }, b = { .name = "x" }, sum = { 0 };
	uint64_t	taken, failed;

	figures_took(&a, 7, 5000);		/* is over by then */
	figures_took(&a, 2, 60000);
	go_through(&b, "abc", &(int64_t){ 70000 });
	figures_took(&b, 4, 79000);
	figures_add(&sum, &a, 80000);
	figures_add(&sum, &b, 80000);
	figures_of_minute(&sum, 80000, &taken, &failed);
	ck_assert_uint_eq(taken, 6);
	ck_assert_uint_eq(failed, 3);
	ck_assert_uint_eq(sum.taken, 13);
	figures_of_minute(&sum, 200000, &taken, &failed);
	ck_assert_uint_eq(taken + failed, 0);
}
END_TEST

/* A reload renames one, and takes one away: the others go on counting. */
START_TEST(figures_keep_their_name)
{
	static struct figures_set	set;
	struct conf_route	rules[] = { { .name = (char *)"a" },
				    { .name = (char *)"b" } };
	struct conf		c = { .publish.routes = { .items = rules,
				    .n = 2 } };

	c.publish.unmatched = UNMATCHED_DEFAULT;
	figures_begin(&set, &c, true);
	figures_took(figures_of(&set, &c, &rules[0]), 1, 1000);
	figures_took(figures_of(&set, &c, &rules[1]), 2, 1000);
	figures_took(figures_of(&set, &c, NULL), 3, 1000);
	rules[0].name = (char *)"c";
	c.publish.unmatched = UNMATCHED_HOLD;
	figures_begin(&set, &c, true);
	ck_assert_uint_eq(figures_of(&set, &c, &rules[0])->taken, 0);
	ck_assert_uint_eq(figures_of(&set, &c, &rules[1])->taken, 2);
	ck_assert_ptr_null(figures_of(&set, &c, NULL));
}
END_TEST

/*
 * away
 */

#define SILENT	"-"	/* says nothing */

static const struct {
	const char	*lists[4];
	const char	*back;		/* who stands back */
} fleets[] = {
	/* One host; all reach all; nobody reaches one. */
	{ { "NATS" }, "." },
	{ { "", "" }, ".." },
	{ { "NATS", "NATS", "NATS" }, "..." },
	{ { "a,NATS", "NATS,a" }, ".." },
	/* One does not reach what another one does. */
	{ { "NATS", "" }, "x." },
	{ { "", "NATS", "" }, ".x." },
	{ { "NATS,a", "a" }, "x." },
	{ { "NATS", "NATS", "" }, "xx." },
	/* Each another one; and one that reaches both, or neither. */
	{ { "a", "b" }, ".." },
	{ { "a", "b", "" }, "xx." },
	{ { "a", "b", "a,b" }, "..x" },
	{ { "a", "a,b", "a,b,c", "c" }, ".xx." },
	/* Names are whole. */
	{ { "ab", "a" }, ".." },
	{ { "ab,a", "a" }, "x." },
	/* In doubt: it stands back for nobody, and nobody for it. */
	{ { "NATS?", "" }, ".." },
	{ { "NATS", "NATS?" }, ".." },
	{ { "NATS", "a?" }, ".." },
	{ { "NATS,a", "a?" }, "x." },
	{ { "NATS,a?", "" }, "x." },
	{ { "NATS", "NATS?", "" }, "x.." },
	/* One that stands back goes on, also while others are in doubt. */
	{ { "!NATS", "NATS?" }, "x." },
	{ { "!NATS", "NATS?", "NATS" }, "x.." },
	{ { "!NATS,a", "a,NATS?" }, "x." },
	{ { "!NATS", "NATS" }, ".." },
	{ { "!NATS", "b" }, ".." },
	{ { "NATS", "!" }, "x." },
	{ { "!", "" }, ".." },
	/* One of a version before. */
	{ { "NATS", "", SILENT }, "..." },
};

START_TEST(who_stands_back)
{
	const char	*lists[4];
	bool		 back[4];
	char		 text[5] = "";
	size_t		 n = 0;

	for (; n < 4 && fleets[_i].lists[n] != NULL; n++)
		lists[n] = strcmp(fleets[_i].lists[n], SILENT) == 0 ? NULL :
		    fleets[_i].lists[n];
	away_judge(lists, n, back);
	for (size_t i = 0; i < n; i++)
		text[i] = back[i] ? 'x' : '.';
	ck_assert_str_eq(text, fleets[_i].back);
}
END_TEST

START_TEST(list_of_what_is_away)
{
	char		 list[AWAY_SIZE] = "", name[40];
	const char	*at = list;
	size_t		 len;

	away_begin(list, true);
	away_add(list, "NATS", true);
	ck_assert_str_eq(list, "!NATS?");
	away_begin(list, false);
	away_add(list, "NATS", true);
	away_add(list, "hook", false);
	away_add(list, "x", true);
	ck_assert_str_eq(list, "NATS?,hook,x?");
	ck_assert_int_eq(strncmp(away_next(&at, &len), "hook", 4), 0);
	ck_assert_uint_eq(len, 4);
	ck_assert_ptr_null(away_next(&at, &len));
	at = "!hook";
	ck_assert_str_eq(away_next(&at, &len), "hook");
	/* What has no room is left out, as a whole. */
	for (int i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "a-long-name-of-a-route-%02d", i);
		away_add(list, name, i % 2 == 0);
	}
	ck_assert_uint_lt(strlen(list), AWAY_SIZE);
	ck_assert_uint_gt(strlen(list), AWAY_SIZE - 30);
	ck_assert_ptr_nonnull(strstr(list, ",x?,a-long-name-of-a-route-00?,"));
	list[strlen(list) - 1] = '\0';
	ck_assert_ptr_nonnull(strrchr(list, ','));
	ck_assert_uint_ge(strlen(strrchr(list, ',')), 26);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("common");
	TCase	*tc;

	tc = add_case(s, "ident");
	tcase_add_loop_test(tc, id_has_its_form, 0, NROWS(names));
	tcase_add_test(tc, id_is_new_each_time);
	tcase_add_test(tc, successors_sort_to_the_same_place);
	tcase_add_test(tc, ids_are_compared_as_bytes);
	tcase_add_loop_test(tc, what_is_no_id_is_refused, 0, NROWS(invalid));
	tcase_add_test(tc, longest_id_is_valid);

	tc = add_case(s, "away");
	tcase_add_loop_test(tc, who_stands_back, 0, NROWS(fleets));
	tcase_add_test(tc, list_of_what_is_away);

	tc = add_case(s, "label_set");
	tcase_add_test(tc, set_has_what_was_added);
	tcase_add_test(tc, no_label_is_a_label);
	tcase_add_test(tc, sets_meet_in_a_label);
	tcase_add_test(tc, labels_spread_over_the_set);
	tc = add_case(s, "lane");
	tcase_add_loop_test(tc, lane_is_what_stays_in_order, 0, NROWS(lanes));

	tc = add_case(s, "message_id");
	tcase_add_loop_test(tc, message_id_is_read, 0, NROWS(read_ids));
	tcase_add_loop_test(tc, message_ids_are_compared_whole, 0,
	    NROWS(compared));
	tc = add_case(s, "figures");
	tcase_add_loop_test(tc, destination_that_takes_nothing, 0,
	    NROWS(stories));
	tcase_add_test(tc, own_fault_is_only_counted);
	tcase_add_test(tc, figures_of_the_last_minute);
	tcase_add_test(tc, figures_keep_their_name);
	return run_suite(s);
}

/*
 * check_counts.c - partition counts, their classes, and labels of keys
 */

#include "lib/check.h"

#include "conf/counts.h"
#include "store/partition_by.h"

#include <libdeflate.h>

static struct err	e;

/* The present count, and the former ones as text. */
static struct counts
declared(unsigned count, const char *former)
{
	struct counts	c = { .count = count };

	ck_assert_msg(counts_parse(&c, former, &e) == 0, "%s", e.text);
	return c;
}

/*
 * Former counts as text
 */

static const struct {
	const char	*text;
	const char	*again;		/* NULL: refused */
	size_t		 n;
} lists[] = {
	{ NULL, "", 0 },
	{ "", "", 0 },
	{ "16", "16", 1 },
	{ "16,48", "16,48", 2 },
	{ "016,48", "16,48", 2 },
	{ "2147483647", "2147483647", 1 },
	{ "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16",
	  "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", COUNTS_MAX },
	{ "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", NULL, 0 },
	{ "2147483648", NULL, 0 },
	{ "4294967312", NULL, 0 },		/* 2^32 + 16 */
	{ "18446744073709551632", NULL, 0 },	/* 2^64 + 16 */
	{ "99999999999999999999999999999999", NULL, 0 },
	{ "0", NULL, 0 },
	{ "16,0", NULL, 0 },
	{ "-16", NULL, 0 },
	{ "-18446744073709551600", NULL, 0 },	/* 16 to strtoul() */
	{ "+16", NULL, 0 },
	{ " 16", NULL, 0 },
	{ "16, 48", NULL, 0 },
	{ "16 ", NULL, 0 },
	{ "16;48", NULL, 0 },
	{ "16,", NULL, 0 },
	{ ",16", NULL, 0 },
	{ "16,,48", NULL, 0 },
	{ ",", NULL, 0 },
	{ "p16", NULL, 0 },
	{ "0x10", NULL, 0 },
	{ "16.0", NULL, 0 },
};

START_TEST(former_counts_are_numbers_with_commas)
{
	struct counts	c = { .count = 4, .nformer = 3 };
	char		text[COUNTS_TEXT];

	if (lists[_i].again == NULL) {
		ck_assert_int_eq(counts_parse(&c, lists[_i].text, &e), -1);
		holds(e.text, "former_counts");
		return;
	}
	ck_assert_msg(counts_parse(&c, lists[_i].text, &e) == 0, "%s", e.text);
	ck_assert_uint_eq(c.nformer, lists[_i].n);
	ck_assert_uint_eq(c.count, 4);
	counts_format(&c, text);
	ck_assert_str_eq(text, lists[_i].again);
}
END_TEST

/* Sixteen of the longest have room, in the text and in the column. */
START_TEST(longest_list_has_room)
{
	struct counts	c = { .count = 1 }, again;
	char		text[COUNTS_TEXT];

	for (; c.nformer < COUNTS_MAX; c.nformer++)
		c.former[c.nformer] = INT32_MAX - (unsigned)c.nformer;
	counts_format(&c, text);
	ck_assert_uint_eq(strlen(text), 16 * 10 + 15);
	again = declared(1, text);
	ck_assert(counts_are_same(&c, &again));
}
END_TEST

START_TEST(same_is_what_has_all_counts_alike)
{
	struct counts	a = declared(16, "8,4");

	ck_assert(counts_are_same(&a, &(struct counts){ 16, { 8, 4 }, 2,
	    true }));
	ck_assert(!counts_are_same(&a, &(struct counts){ 8, { 16, 4 }, 2,
	    false }));
	ck_assert(!counts_are_same(&a, &(struct counts){ 16, { 8, 2 }, 2,
	    false }));
	ck_assert(!counts_are_same(&a, &(struct counts){ 16, { 8 }, 1,
	    false }));
	/* What stands behind the end of the list is not compared. */
	ck_assert(counts_are_same(&(struct counts){ 16, { 8 }, 0, false },
	    &(struct counts){ 16, { 4 }, 0, false }));
}
END_TEST

/*
 * What follows from the counts
 */

static const struct {
	unsigned	 count;
	const char	*former;
	unsigned	 gcd, max;
	size_t		 size;
	bool		 served;
} sets[] = {
	{ 0, "", 1, 1, 2, true },	/* not set: none, "" and p00 */
	{ 1, "", 1, 1, 2, true },
	{ 16, "", 16, 16, 1, true },
	{ 17, "", 17, 17, 1, true },
	{ 1024, "", 1024, 1024, 1, true },
	{ 16, "16", 16, 16, 1, true },
	{ 48, "16", 16, 48, 3, true },
	{ 32, "48,16", 16, 48, 3, true },
	{ 24, "16", 8, 24, 3, true },
	{ 48, "16,64,8,32", 8, 64, 8, true },
	{ 1024, "16", 16, 1024, 64, true },
	{ 1040, "16", 16, 1040, 65, false },
	{ 16, "1040", 16, 1040, 65, false },
	{ 126, "128", 2, 128, 64, true },
	{ 1023, "1024", 1, 1024, 1024, false },
	{ 17, "16", 1, 17, 17, false },
	{ 9, "4", 1, 9, 9, false },
	{ 12, "8,9", 1, 12, 12, false },
	{ 32, "1", 1, 32, 33, true },
	{ 1, "32", 1, 32, 33, true },
	{ 0, "32", 1, 32, 33, true },
	{ 17, "16,1", 1, 17, 18, true },	/* one class by declaration */
	{ 63, "1", 1, 63, 64, true },
	{ 64, "1", 1, 64, 65, false },
	{ 1, "64", 1, 64, 65, false },
	{ 2, "1", 1, 2, 3, true },
};

START_TEST(classes_follow_from_the_counts)
{
	struct counts	c = declared(sets[_i].count, sets[_i].former);

	ck_assert_uint_eq(counts_gcd(&c), sets[_i].gcd);
	ck_assert_uint_eq(counts_max(&c), sets[_i].max);
	ck_assert_uint_eq(counts_class_size(&c), sets[_i].size);
	ck_assert_int_eq(counts_check(&c, &e), sets[_i].served ? 0 : -1);
	if (!sets[_i].served)
		holds(e.text, "take a multiple or a divisor");
}
END_TEST

START_TEST(counts_are_had)
{
	struct counts	c = declared(48, "16,1"), none = { 0 };

	ck_assert(counts_have(&c, 48) && counts_have(&c, 16) &&
	    counts_have(&c, 1));
	ck_assert(!counts_have(&c, 0) && !counts_have(&c, 8));
	ck_assert(counts_have(&none, 1) && !counts_have(&none, 0));
}
END_TEST

/*
 * Another count
 */

static const struct {
	unsigned	 from;
	const char	*former;
	unsigned	 to;
	const char	*then;		/* former ones after it; NULL: refused */
	const char	*advice;
} changes[] = {
	{ 16, "", 48, "16", NULL },
	{ 16, "", 8, "16", NULL },
	{ 48, "16", 32, "16,48", NULL },
	{ 48, "16", 16, "48", NULL },		/* and back */
	{ 8, "64,16", 16, "64,8", NULL },
	{ 1, "", 32, "1", NULL },
	{ 0, "", 32, "1", NULL },
	{ 1, "", 63, "1", NULL },
	{ 1, "", 64, NULL, "own 65 labels together" },
	{ 0, "", 64, NULL, "own 65 labels together" },
	{ 64, "", 1, NULL, "own 65 labels together" },
	{ 32, "1", 33, "1,32", NULL },		/* all is one anyway */
	{ 16, "", 17, NULL, "no common divisor" },
	{ 17, "", 16, NULL, "no common divisor" },
	{ 1024, "", 1023, NULL, "own 1024 labels together" },
	{ 1024, "", 512, "1024", NULL },
	{ 1024, "", 16, "1024", NULL },
	{ 1024, "", 8, NULL, "own 128 labels together" },
	{ 16, "", 1024, "16", NULL },
	{ 16, "", 1040, NULL, "own 65 labels together" },
	/* Each pair would do, all three would not. */
	{ 6, "4", 9, NULL, "no common divisor" },
	{ 256, "2048", 16, NULL, "own 128 labels together" },
	/* Sixteen former ones; to one of them the number of them stays. */
	{ 2, "4,6,8,10,12,14,16,18,20,22,24,26,28,30,32", 34,
	  "4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,2", NULL },
	{ 2, "4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34", 36, NULL,
	  "--finish" },
	{ 2, "4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34", 4,
	  "6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,2", NULL },
};

START_TEST(change_keeps_the_former_count)
{
	struct counts	c = declared(changes[_i].from, changes[_i].former);
	struct counts	before = c;
	char		text[COUNTS_TEXT];

	if (changes[_i].then == NULL) {
		ck_assert_int_eq(counts_repartition(&c, changes[_i].to, &e),
		    -1);
		holds(e.text, changes[_i].advice);
		ck_assert(counts_are_same(&c, &before));
		ck_assert(!c.changed);
		return;
	}
	ck_assert_msg(counts_repartition(&c, changes[_i].to, &e) == 0, "%s",
	    e.text);
	counts_format(&c, text);
	ck_assert_str_eq(text, changes[_i].then);
	ck_assert_uint_eq(c.count, changes[_i].to);
	ck_assert(c.changed);
}
END_TEST

/*
 * Classes of labels
 */

#define NONE	COUNTS_NONE

static const struct {
	const char	*label;
	unsigned	 of_48_16, of_32_1, of_24_16;
} classes[] = {
	{ "p00", 0, 0, 0 },
	{ "p07", 7, 0, 7 },
	{ "p7", 7, 0, 7 },
	{ "p007", 7, 0, 7 },
	{ "p0000000000000000000000000000000000000000000007", 7, 0, 7 },
	{ "p15", 15, 0, 7 },
	{ "p16", 0, 0, 0 },
	{ "p23", 7, 0, 7 },
	{ "p24", 8, 0, NONE },
	{ "p31", 15, 0, NONE },
	{ "p32", 0, NONE, NONE },
	{ "p47", 15, NONE, NONE },
	{ "p48", NONE, NONE, NONE },
	{ "p048", NONE, NONE, NONE },
	/* 7, or less than the largest, to whoever is short of bits. */
	{ "p4294967303", NONE, NONE, NONE },
	{ "p18446744073709551623", NONE, NONE, NONE },
	{ "p184467440737095516230000007", NONE, NONE, NONE },
	{ "p2147483647", NONE, NONE, NONE },
	{ "p2147483648", NONE, NONE, NONE },
	{ "p21474836480", NONE, NONE, NONE },
	{ "p9999999999999999999999999999999999999999999999999999999", NONE,
	  NONE, NONE },
	{ "", NONE, 0, NONE },
	{ "p", NONE, NONE, NONE },
	{ "pp", NONE, NONE, NONE },
	{ "p-1", NONE, NONE, NONE },
	{ "p+1", NONE, NONE, NONE },
	{ "p 1", NONE, NONE, NONE },
	{ "p1 ", NONE, NONE, NONE },
	{ "p0x7", NONE, NONE, NONE },
	{ "p7a", NONE, NONE, NONE },
	{ "p7.0", NONE, NONE, NONE },
	{ "p7\n", NONE, NONE, NONE },
	{ "P07", NONE, NONE, NONE },
	{ "07", NONE, NONE, NONE },
	{ " p07", NONE, NONE, NONE },
	{ "vip", NONE, NONE, NONE },
	{ "!7", NONE, NONE, NONE },
	{ "p\xd9\xa7", NONE, NONE, NONE },	/* a seven, in Arabic */
};

START_TEST(class_is_in_the_number)
{
	struct counts	 wide = declared(48, "16"), one = declared(32, "1");
	struct counts	 mixed = declared(24, "16");
	const char	*label = classes[_i].label;

	ck_assert_uint_eq(counts_class(&wide, label), classes[_i].of_48_16);
	ck_assert_uint_eq(counts_class(&one, label), classes[_i].of_32_1);
	ck_assert_uint_eq(counts_class(&mixed, label), classes[_i].of_24_16);
}
END_TEST

START_TEST(without_a_count_there_are_no_labels)
{
	struct counts	none = { 0 }, one = declared(1, "");

	ck_assert_uint_eq(counts_class(&none, ""), 0);
	ck_assert_uint_eq(counts_class(&none, "p00"), 0);
	ck_assert_uint_eq(counts_class(&none, "p01"), NONE);
	ck_assert_uint_eq(counts_class(&one, ""), 0);
	ck_assert_uint_eq(counts_class(&one, "p01"), NONE);
}
END_TEST

/* As the procedure writes it, and PHP: sprintf('p%02d', crc32($key) % $n). */
static void
label_of(char label[16], const char *key, size_t len, unsigned count)
{
	snprintf(label, 16, "p%02u", libdeflate_crc32(0, key, len) % count);
}

/* Whatever counts are declared, a key's labels are of one class. */
START_TEST(labels_of_a_key_are_of_one_class)
{
	struct counts	 c = declared(sets[_i].count, sets[_i].former);
	char		 key[16], label[16];
	unsigned	 first, count;

	for (unsigned i = 0; i < 1000; i++) {
		snprintf(key, sizeof(key), "order-%u", i);
		count = c.count == 0 ? 1 : c.count;
		label_of(label, key, strlen(key), count);
		first = counts_class(&c, label);
		ck_assert_uint_lt(first, counts_gcd(&c));
		for (size_t k = 0; k < c.nformer; k++) {
			label_of(label, key, strlen(key), c.former[k]);
			ck_assert_uint_eq(counts_class(&c, label), first);
		}
		if (counts_have(&c, 1))
			ck_assert_uint_eq(counts_class(&c, ""), first);
	}
}
END_TEST

static const struct {
	const char	*label;
	bool		 is;
} produced[] = {
	{ "p00", true }, { "p07", true }, { "p100", true }, { "p007", true },
	{ "p1023", true },
	{ "p7", false }, { "p", false }, { "", false }, { "vip", false },
	{ "p0a", false }, { "P07", false }, { "!07", false }, { "p-1", false },
	{ "p0 ", false }, { "p999999999999999999999", false },
};

START_TEST(label_of_a_producer_has_two_digits)
{
	ck_assert(counts_is_label(produced[_i].label) == produced[_i].is);
}
END_TEST

/*
 * Labels of former counts
 */

/* The sums are those of PHP's crc32() and of SQL's CRC32(). */
static const struct {
	struct bytes	key;
	uint32_t	crc;
} keys[] = {
	{ { "order-17", 8 }, 0x5aea0614 },
	{ { "123456789", 9 }, 0xcbf43926 },
	{ { "", 0 }, 0 },
	{ { "Gr\xc3\xb6\xc3\x9f" "e", 7 }, 0x946e9015 },
	{ { "\xf0\x9f\x90\x87", 4 }, 0x53f0aaef },
	{ { "\x00\x01\xff\xfe", 4 }, 0xe9a79742 },
	{ { "a\0b", 3 }, 0x15e87871 },
};

/* With the sum of the whole key, whatever bytes it has. */
START_TEST(former_is_what_the_key_has_not_now)
{
	struct counts	c = declared(48, "16");
	struct bytes	key = keys[_i].key;
	char		now[16], then[16], wide[24];
	unsigned	n = libdeflate_crc32(0, key.data, key.len) % 48;

	ck_assert_uint_eq(libdeflate_crc32(0, key.data, key.len),
	    keys[_i].crc);
	label_of(now, key.data, key.len, 48);
	snprintf(then, sizeof(then), "p%02u", (n + 16) % 48);
	snprintf(wide, sizeof(wide), "p%05u", n);
	ck_assert(!counts_is_former(&c, key.data, key.len, now, strlen(now)));
	ck_assert(!counts_is_former(&c, key.data, key.len, wide,
	    strlen(wide)));
	ck_assert(counts_is_former(&c, key.data, key.len, then,
	    strlen(then)));
	ck_assert_uint_eq(counts_class(&c, now), counts_class(&c, then));
}
END_TEST

static const struct {
	unsigned	 count;
	const char	*former;
	struct bytes	 key, label;
	bool		 is;
} formers[] = {
	/* 0xcbf43926 is 38 modulo 64, 6 modulo 16. */
	{ 64, "16", { "123456789", 9 }, { "p38", 3 }, false },
	{ 64, "16", { "123456789", 9 }, { "p06", 3 }, true },
	{ 16, "64", { "123456789", 9 }, { "p38", 3 }, true },
	{ 16, "64", { "123456789", 9 }, { "p06", 3 }, false },
	/* Of a count that nobody has declared: it is no present one. */
	{ 64, "", { "123456789", 9 }, { "p06", 3 }, true },
	{ 64, "16", { "123456789", 9 }, { "p70", 3 }, true },
	{ 64, "16", { "123456789", 9 }, { "p99999999", 9 }, true },
	/* Nobody's business. */
	{ 64, "16", { "123456789", 9 }, { "vip", 3 }, false },
	{ 64, "16", { "123456789", 9 }, { "p6", 2 }, false },
	{ 64, "16", { "123456789", 9 }, { "p-1", 3 }, false },
	{ 64, "16", { "123456789", 9 }, { "!06", 3 }, false },
	{ 64, "16", { "123456789", 9 }, { "p06\0", 4 }, false },
	{ 64, "16", { "123456789", 9 }, { "p38\0007", 5 }, false },
	{ 64, "16", { "123456789", 9 }, { "p\0006", 3 }, false },
	/* The text behind a label's length is not of it. */
	{ 64, "16", { "123456789", 9 }, { "p389", 3 }, false },
	{ 64, "16", { "123456789", 9 }, { "p069", 3 }, true },
	/* Without an event there is no key. */
	{ 64, "16", { NULL, 0 }, { "p06", 3 }, false },
	{ 64, "1", { NULL, 0 }, { NULL, 0 }, false },
	/* No label is what a count of 1 gives. */
	{ 32, "1", { "123456789", 9 }, { NULL, 0 }, true },
	{ 32, "1", { "123456789", 9 }, { "", 0 }, true },
	{ 32, "16", { "123456789", 9 }, { NULL, 0 }, false },
	{ 32, "", { "123456789", 9 }, { "", 0 }, false },
	{ 1, "", { "123456789", 9 }, { NULL, 0 }, false },
	{ 1, "32", { "123456789", 9 }, { NULL, 0 }, false },
	{ 1, "32", { "123456789", 9 }, { "p00", 3 }, false },
	{ 1, "32", { "123456789", 9 }, { "p06", 3 }, true },
	/* Not set yet: there is no present one. */
	{ 0, "", { "123456789", 9 }, { "p06", 3 }, false },
	{ 0, "", { "123456789", 9 }, { NULL, 0 }, false },
};

START_TEST(labels_are_told_from_former_ones)
{
	struct counts	c = declared(formers[_i].count, formers[_i].former);

	ck_assert(counts_is_former(&c, formers[_i].key.data,
	    formers[_i].key.len, formers[_i].label.data,
	    formers[_i].label.len) == formers[_i].is);
}
END_TEST

/* The same number for another value than the key. */
START_TEST(former_is_told_by_a_number)
{
	struct counts	c = declared(64, "16");
	uint32_t	hash = libdeflate_crc32(0, "123456789", 9);

	ck_assert(!counts_is_former_hash(&c, hash, "p38", 3));
	ck_assert(counts_is_former_hash(&c, hash, "p06", 3));
	ck_assert(!counts_is_former_hash(&c, hash, "vip", 3));
	ck_assert(counts_is_former_hash(&c, hash + 1, "p38", 3));
}
END_TEST

#define KEY_HASH \
	"CRC32(IF(CHARSET(e.k) = 'binary', e.k, CAST(CONVERT(e.k USING " \
	"utf8mb4) AS BINARY)))"
#define META	"CONVERT(e.m USING utf8mb4)"
#define PATH(path) \
	"COALESCE(CRC32(IF(JSON_VALID(" META "), IF(JSON_TYPE(JSON_EXTRACT(" \
	META ", '" path "')) = 'NULL', NULL, JSON_UNQUOTE(JSON_EXTRACT(" META \
	", '" path "'))), NULL)), " KEY_HASH ")"

static const struct {
	const char	*by, *hash;
} hashes[] = {
	{ "", KEY_HASH },
	{ "stream_id", KEY_HASH },
	{ "tenant", "COALESCE(CRC32(IF(CHARSET(e.`tenant`) = 'binary', "
	  "e.`tenant`, CAST(CONVERT(e.`tenant` USING utf8mb4) AS BINARY))), "
	  KEY_HASH ")" },
	{ "$.tenant", PATH("$.\"tenant\"") },
	{ "$.a-1.b", PATH("$.\"a-1\".\"b\"") },
};

/* What they give is seen in run_partition_by.sh. */
START_TEST(hash_is_of_the_value)
{
	struct conf	conf = { .outbox.partition_by =
			    (char *)(uintptr_t)hashes[_i].by };
	struct buf	text = { 0 };

	partition_put_hash(&conf, "e.", "e.m", "e.k", &text);
	ck_assert_str_eq(text.data, hashes[_i].hash);
	buf_free(&text);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("counts");
	TCase	*tc = tcase_create("counts");

	tcase_add_test(tc, former_is_told_by_a_number);
	tcase_add_loop_test(tc, hash_is_of_the_value, 0, NROWS(hashes));
	tcase_add_loop_test(tc, former_counts_are_numbers_with_commas, 0,
	    NROWS(lists));
	tcase_add_test(tc, longest_list_has_room);
	tcase_add_test(tc, same_is_what_has_all_counts_alike);
	tcase_add_loop_test(tc, classes_follow_from_the_counts, 0,
	    NROWS(sets));
	tcase_add_test(tc, counts_are_had);
	tcase_add_loop_test(tc, change_keeps_the_former_count, 0,
	    NROWS(changes));
	tcase_add_loop_test(tc, class_is_in_the_number, 0, NROWS(classes));
	tcase_add_test(tc, without_a_count_there_are_no_labels);
	tcase_add_loop_test(tc, labels_of_a_key_are_of_one_class, 0,
	    NROWS(sets));
	tcase_add_loop_test(tc, label_of_a_producer_has_two_digits, 0,
	    NROWS(produced));
	tcase_add_loop_test(tc, former_is_what_the_key_has_not_now, 0,
	    NROWS(keys));
	tcase_add_loop_test(tc, labels_are_told_from_former_ones, 0,
	    NROWS(formers));
	suite_add_tcase(s, tc);
	return run_suite(s);
}

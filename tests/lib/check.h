/* check.h - helpers for the unit tests */
#ifndef OUTBOX_TESTS_CHECK_H
#define OUTBOX_TESTS_CHECK_H

#include <check.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf.h"
#include "util/err.h"
#include "util/log.h"
#include "common/msg.h"

#define NROWS(table)	((int)(sizeof(table) / sizeof((table)[0])))

/* A literal, which may contain NULs, as bytes; and SQL NULL. */
#define BYTES(text)	((struct bytes){ (text), sizeof(text) - 1 })
#define NO_BYTES	((struct bytes){ NULL, 0 })

static inline struct bytes
bytes_of(const char *text)
{
	return (struct bytes){ text, text == NULL ? 0 : strlen(text) };
}

/*
 * A directory for the files of a case.  Make and remove it in an unchecked
 * fixture, whose process survives a failed test.
 */
static char	dir[64];

static inline void
dir_make(void)
{
	strcpy(dir, "/tmp/check.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

struct path {
	char	text[sizeof(dir) + 300];
};

static inline struct path
in_dir(const char *name)
{
	struct path	p;

	snprintf(p.text, sizeof(p.text), "%s/%s", dir, name);
	return p;
}

static inline void
dir_remove(void)
{
	struct dirent	*entry;
	DIR		*d = opendir(dir);

	while (d != NULL && (entry = readdir(d)) != NULL)
		if (entry->d_name[0] != '.')
			remove(in_dir(entry->d_name).text);
	if (d != NULL)
		closedir(d);
	rmdir(dir);
}

static inline void
write_file(const char *path, const void *data, size_t size)
{
	FILE	*f = fopen(path, "w");

	ck_assert_msg(f != NULL, "%s cannot be written", path);
	ck_assert_uint_eq(fwrite(data, 1, size, f), size);
	fclose(f);
}

/* The whole file; valid until the next call. */
static inline const char *
read_file(const char *path)
{
	static char	 text[1 << 18];
	FILE		*f = fopen(path, "r");
	size_t		 n;

	ck_assert_msg(f != NULL, "%s is not there", path);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	return text;
}

static inline int
count_lines(const char *text)
{
	int	n = 0;

	for (; (text = strchr(text, '\n')) != NULL; text++)
		n++;
	return n;
}

static inline void
holds(const char *text, const char *what)
{
	ck_assert_msg(strstr(text, what) != NULL,
	    "\"%s\" does not hold \"%s\"", text, what);
}

static inline void
starts(const char *text, const char *with)
{
	ck_assert_msg(strncmp(text, with, strlen(with)) == 0,
	    "\"%s\" does not start with \"%s\"", text, with);
}

/* Log to an empty file that the test can read. */
static inline void
log_to_file(enum log_level level, bool json)
{
	struct err	e = { "" };

	unlink(in_dir("log").text);
	ck_assert_msg(log_open(in_dir("log").text, level, json, &e) == 0,
	    "%s", e.text);
	/* Without forks: lines that an earlier test has lost are told now. */
	log_retry();
	ck_assert_int_eq(truncate(in_dir("log").text, 0), 0);
}

static inline const char *
logged(void)
{
	return read_file(in_dir("log").text);
}

static inline int
nlogged(void)
{
	return count_lines(logged());
}

/* The configuration with these keys; NULL: all defaults. */
static inline struct conf *
conf_with(const char *keys)
{
	struct err	 e = { "" };
	struct conf	*c;
	FILE		*f = fopen(in_dir("conf").text, "w");

	ck_assert_ptr_nonnull(f);
	fprintf(f, "mysql: {database: app}\n%s", keys == NULL ? "" : keys);
	fclose(f);
	c = conf_load(in_dir("conf").text, NULL, &e);
	ck_assert_msg(c != NULL, "%s", e.text);
	return c;
}

/* A case with the directory. */
static inline TCase *
add_case(Suite *s, const char *name)
{
	TCase	*tc = tcase_create(name);

	tcase_add_unchecked_fixture(tc, dir_make, dir_remove);
	suite_add_tcase(s, tc);
	return tc;
}

static inline int
run_suite(Suite *s)
{
	SRunner	*sr = srunner_create(s);
	int	 failed;

	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif

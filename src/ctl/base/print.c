/*
 * print.c - see ctl.h
 *
 * A table fits the terminal: only texts are cut, never a number or a time.  If
 * that is not enough, whole columns are left out and named below the table.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/base/ctl.h"
#include "ctl/base/screen.h"
#include "util/display.h"
#include "util/duration.h"
#include "util/xalloc.h"

#define SECOND		INT64_C(1000)
#define GAP		2	/* behind a name, and between columns */
#define COLUMNS_MAX	32
#define LEVEL_WIDTH	8	/* of a finding, and a gap */
#define TEXT_LEAST	10	/* a text is not cut to less */

static bool
is_among(const char *const *names, const char *name)
{
	for (; *names != NULL; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

static bool
is_count(const char *name)
{
	static const char *const	 counts[] = { "attempts", "bytes",
	    "changed", "consumers", "dead", "delivered", "desired", "failed",
	    "lanes_waiting", "messages", "metadata_bytes", "owned", "parked",
	    "partitions", "payload_bytes", "rows", "types_refused", "waiting",
	    NULL };

	return is_among(counts, name);
}

static bool
ends_in(const char *name, const char *end)
{
	size_t	n = strlen(name), k = strlen(end);

	return n > k && strcmp(name + n - k, end) == 0;
}

/* Milliseconds of the unit that the name ends with; 0: it is no duration. */
static int64_t
unit_of(const char *name)
{
	return ends_in(name, "_ms") ? 1 : ends_in(name, "_s") ? SECOND : 0;
}

/* The name without its unit; the caller frees. */
static char *
print_name(const char *name)
{
	int	unit = unit_of(name) == 0 ? 0 : unit_of(name) == 1 ? 3 : 2;

	return xasprintf("%.*s", (int)strlen(name) - unit, name);
}

char *
print_text(const char *name, const json_t *v)
{
	char		*text;
	json_int_t	 n = json_integer_value(v);
	int64_t		 ms = unit_of(name);

	switch (v == NULL ? JSON_NULL : json_typeof(v)) {
	case JSON_STRING:
		text = xstrdup(json_string_value(v));
		break;
	case JSON_INTEGER:
		if (ms != 0)
			return xasprintf("%s%s", n < 0 ? "-" : "",
			    duration_words(n < 0 ? -n * ms : n * ms).text);
		if (is_count(name))
			return xstrdup(DISPLAY_NUMBER(n));
		return xasprintf("%" JSON_INTEGER_FORMAT, n);
	case JSON_TRUE:
		return xstrdup("yes");
	case JSON_FALSE:
		return xstrdup("no");
	case JSON_NULL:
		return xstrdup("-");
	default:
		text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
	}
	display_clean(text);
	return text;
}

/* The colour of its text. */
static enum screen_colour
colour_of(const char *name, const char *text)
{
	static const char *const	 coloured[] = { "level", "reason",
	    "severity", "state", NULL };

	return is_among(coloured, name) ? screen_colour_of(text) :
	    SCREEN_PLAIN;
}

void
print_member(const struct ctl *c, int width, const char *name,
    const char *text)
{
	enum screen_colour	colour = colour_of(name, text);

	display_print(screen_out(), "%s%*s", name,
	    width - display_width(name) + GAP, "");
	if (colour == SCREEN_PLAIN) {
		screen_put_lines(c, width + GAP, text);
	} else {
		screen_put(colour, text);
		fputc('\n', screen_out());
	}
}

void
print_object(const struct ctl *c, json_t *object)
{
	const char	*key;
	char		*name, *text;
	json_t		*value;
	int		 width = 0;

	if (c->args.json) {
		outcome_put(object);
		return;
	}
	json_object_foreach(object, key, value) {
		name = print_name(key);
		if (display_width(name) > width)
			width = display_width(name);
		free(name);
	}
	json_object_foreach(object, key, value) {
		name = print_name(key);
		text = print_text(key, value);
		print_member(c, width, name, text);
		free(name);
		free(text);
	}
	json_decref(object);
}

void
print_done(const struct ctl *c, uint64_t n, const char *fmt, ...)
{
	va_list	ap;

	if (c->args.json) {
		outcome_put(json_pack("{s:I, s:b}", "changed", (json_int_t)n,
		    "dry_run", c->args.dry_run));
		return;
	}
	va_start(ap, fmt);
	display_vprint(stdout, fmt, ap);
	va_end(ap);
	putchar('\n');
}

const char *
count_text(char to[COUNT_SIZE], uint64_t n, const char *thing)
{
	snprintf(to, COUNT_SIZE, "%s %s%s", DISPLAY_NUMBER((int64_t)n), thing,
	    n == 1 ? "" : "s");
	return to;
}

void
print_changed(const struct ctl *c, uint64_t n, const char *thing,
    const char *done)
{
	print_done(c, n, "%s %s%s", COUNTED(n, thing),
	    c->args.dry_run ? "would be " : "", done);
}

json_t *
span_json(int64_t ms)
{
	return json_string(duration_words(ms).text);
}

/* Tables */

struct column {
	const char	*member;
	char		*name;
	int		 width, least;
	bool		 is_text;	/* may be cut */
	bool		 is_bare;	/* its cells tell nothing */
	bool		 is_left_out;
};

struct table {
	const json_t	*rows;
	int		 room;		/* 0: no limit */
	struct column	 columns[COLUMNS_MAX];
	size_t		 ncolumns;
};

/* Where the fraction of a second of "...T12:00:00.123456Z" begins, or NULL. */
static char *
fraction_of(char *text)
{
	static const char	 form[] = "0000-00-00T00:00:00.";

	for (const char *f = form; *f != '\0'; text++, f++)
		if (*f == '0' ? *text < '0' || *text > '9' : *f != *text)
			return NULL;
	return strcmp(text + strspn(text, "0123456789"), "Z") == 0 ?
	    text - 1 : NULL;
}

static bool
is_time(const char *member)
{
	return strcmp(member, "since") == 0 || strcmp(member, "at") == 0 ||
	    ends_in(member, "_at");
}

/* The text of a cell; on a terminal times are shown to the second. */
static char *
cell_text(const struct table *t, const struct column *k, const json_t *row)
{
	char	*text = print_text(k->member, json_object_get(row, k->member));
	char	*fraction = fraction_of(text);

	if (t->room > 0 && is_time(k->member) && fraction != NULL)
		memcpy(fraction, "Z", 2);
	return text;
}

static void
measure_column(const struct table *t, struct column *k)
{
	static const char *const	 bare[] = { "-", "no", "0", "", NULL };
	/* Names of ours, which tell nothing if they are cut. */
	static const char *const	 words[] = { "command", "state",
					    "reason", NULL };
	json_t				*row;
	size_t				 i;

	k->width = display_width(k->name);
	k->is_bare = true;
	json_array_foreach(t->rows, i, row) {
		char *text = cell_text(t, k, row);

		if (display_width(text) > k->width)
			k->width = display_width(text);
		if (json_is_string(json_object_get(row, k->member)) &&
		    !is_time(k->member) && !is_count(k->member))
			k->is_text = true;
		k->is_bare = k->is_bare && is_among(bare, text);
		free(text);
	}
	k->least = k->width;
	if (k->is_text && !is_among(words, k->member) &&
	    k->least > TEXT_LEAST)
		k->least = TEXT_LEAST;
	if (k->least < display_width(k->name))
		k->least = display_width(k->name);
}

static int
table_width(const struct table *t, bool least)
{
	int	width = -GAP;

	for (size_t i = 0; i < t->ncolumns; i++)
		if (!t->columns[i].is_left_out)
			width += GAP + (least ? t->columns[i].least :
			    t->columns[i].width);
	return width;
}

/*
 * Leave out a column: one without any content, else a number or a time, else a
 * text; of these the rightmost.  False: only the first one is left.
 */
static bool
leave_out_column(struct table *t)
{
	struct column	*chosen = NULL;
	int		 best = -1;

	for (size_t i = t->ncolumns - 1; i > 0; i--) {
		struct column *k = &t->columns[i];
		int value = k->is_bare ? 2 : k->is_text ? 0 : 1;

		if (!k->is_left_out && value > best) {
			best = value;
			chosen = k;
		}
	}
	if (chosen != NULL)
		chosen->is_left_out = true;
	return chosen != NULL;
}

/* Narrow the widest text by a column; false: none can be cut. */
static bool
narrow_column(struct table *t)
{
	struct column	*widest = NULL;

	for (size_t i = 0; i < t->ncolumns; i++) {
		struct column *k = &t->columns[i];

		if (!k->is_left_out && k->width > k->least &&
		    (widest == NULL || k->width > widest->width))
			widest = k;
	}
	if (widest != NULL)
		widest->width--;
	return widest != NULL;
}

/* A row; NULL: the names of the columns. */
static void
put_row(const struct table *t, const json_t *row)
{
	int	blanks = 0;	/* before the next cell */

	for (size_t i = 0; i < t->ncolumns; i++) {
		const struct column	*k = &t->columns[i];
		struct buf		 b = { 0 };
		char			*text;
		int			 pad;

		if (k->is_left_out)
			continue;
		text = row == NULL ? xstrdup(k->name) : cell_text(t, k, row);
		buf_str(&b, "");
		display_cut(&b, text, k->width);
		pad = k->width - display_width(b.data);
		display_print(screen_out(), "%*s", blanks +
		    (is_count(k->member) ? pad : 0), "");
		screen_put(row == NULL ? SCREEN_BOLD :
		    colour_of(k->member, text), b.data);
		blanks = GAP + (is_count(k->member) ? 0 : pad);
		buf_free(&b);
		free(text);
	}
	fputc('\n', screen_out());
}

void
print_rows(const struct ctl *c, const char *const *columns, json_t *rows)
{
	struct table	 t = { .rows = rows, .room = screen_width(c) };
	const char	*lead = "(no room for ";
	json_t		*row;
	size_t		 i;

	if (c->args.json) {
		print_object(c, rows);
		return;
	}
	if (json_array_size(rows) == 0 || columns[0] == NULL) {
		json_decref(rows);
		return;
	}
	for (i = 0; i < COLUMNS_MAX && columns[i] != NULL; i++) {
		t.columns[i] = (struct column){ .member = columns[i],
		    .name = print_name(columns[i]) };
		measure_column(&t, &t.columns[i]);
	}
	t.ncolumns = i;
	while (t.room > 0 && table_width(&t, true) > t.room &&
	    leave_out_column(&t))
		continue;
	while (t.room > 0 && table_width(&t, false) > t.room &&
	    narrow_column(&t))
		continue;

	put_row(&t, NULL);
	json_array_foreach(rows, i, row)
		put_row(&t, row);
	for (i = 0; i < t.ncolumns; i++) {
		if (t.columns[i].is_left_out) {
			display_print(screen_out(), "%s%s", lead,
			    t.columns[i].name);
			lead = ", ";
		}
		free(t.columns[i].name);
	}
	if (*lead == ',')
		fputs("; --wide shows all)\n", screen_out());
	json_decref(rows);
}

void
print_list(const struct ctl *c, const char *const *columns, json_t *rows)
{
	if (!c->args.json && json_array_size(rows) == 0 &&
	    screen_width(c) > 0)
		fputs("(none)\n", screen_out());
	print_rows(c, columns, rows);
}

void
print_verdict(const struct ctl *c, const char *what, const json_t *findings)
{
	json_t	*f;
	size_t	 i;

	json_array_foreach(findings, i, f) {
		const char *level = member_text(f, "level");
		char *text = xasprintf("%s %s", what, member_text(f, "text"));

		screen_put(screen_colour_of(level), level);
		display_print(screen_out(), "%*s",
		    LEVEL_WIDTH - display_width(level), "");
		screen_put_lines(c, LEVEL_WIDTH, text);
		free(text);
	}
}

/*
 * table.c - print_rows(): a table that fits the terminal
 *
 * Only texts are cut, never a number or a time.  If that is not enough, whole
 * columns are left out and named below the table.
 */

#include <stdlib.h>
#include <string.h>

#include "ctl/base/print_impl.h"
#include "util/display.h"
#include "util/xalloc.h"

#define COLUMNS_MAX	32
#define GAP		2	/* between columns */
#define TEXT_LEAST	10	/* a text is not cut to less */

struct column {
	const char	*member;
	char		*name;
	int		 width, least;
	bool		 is_text;	/* may be cut */
	bool		 is_bare;	/* its cells tell nothing */
	bool		 is_left_out;
};

struct table {
	const struct ctl	*c;
	const json_t		*rows;
	int			 room;		/* 0: no limit */
	struct column		 columns[COLUMNS_MAX];
	size_t			 ncolumns;
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
	size_t	n = strlen(member);

	return strcmp(member, "since") == 0 || strcmp(member, "at") == 0 ||
	    (n > 3 && strcmp(member + n - 3, "_at") == 0);
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

static bool
is_bare(const char *text)
{
	return strcmp(text, "-") == 0 || strcmp(text, "no") == 0 ||
	    strcmp(text, "0") == 0 || *text == '\0';
}

/* A name of ours, which tells nothing if it is cut. */
static bool
is_word(const char *member)
{
	return strcmp(member, "command") == 0 || strcmp(member, "state") == 0 ||
	    strcmp(member, "reason") == 0;
}

static void
measure_column(const struct table *t, struct column *k)
{
	json_t	*row;
	size_t	 i;

	k->width = display_width(k->name);
	k->is_bare = true;
	json_array_foreach(t->rows, i, row) {
		char *text = cell_text(t, k, row);

		if (display_width(text) > k->width)
			k->width = display_width(text);
		if (json_is_string(json_object_get(row, k->member)) &&
		    !is_time(k->member) && !print_is_count(k->member))
			k->is_text = true;
		k->is_bare = k->is_bare && is_bare(text);
		free(text);
	}
	k->least = k->width;
	if (k->is_text && !is_word(k->member) && k->least > TEXT_LEAST)
		k->least = TEXT_LEAST;
	if (k->least < display_width(k->name))
		k->least = display_width(k->name);
}

/* Fit */

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

static void
fit(struct table *t)
{
	while (table_width(t, true) > t->room && leave_out_column(t))
		continue;
	while (table_width(t, false) > t->room && narrow_column(t))
		continue;
}

/* Print */

static void
put_cell(const struct column *k, enum screen_colour colour, const char *text,
    bool is_last)
{
	bool		is_right = print_is_count(k->member);
	struct buf	b = { 0 };
	int		pad;

	buf_str(&b, "");
	display_cut(&b, text, k->width);
	pad = k->width - display_width(b.data);
	display_print(screen_out(), "%*s", is_right ? pad : 0, "");
	screen_put(colour, b.data);
	if (!is_last)
		display_print(screen_out(), "%*s", GAP + (is_right ? 0 : pad), "");
	buf_free(&b);
}

static size_t
last_column(const struct table *t)
{
	size_t	last = t->ncolumns - 1;

	while (t->columns[last].is_left_out)
		last--;
	return last;
}

/* A row; NULL: the names of the columns. */
static void
put_row(const struct table *t, const json_t *row)
{
	size_t	last = last_column(t);

	for (size_t i = 0; i <= last; i++) {
		const struct column	*k = &t->columns[i];
		char			*text;

		if (k->is_left_out)
			continue;
		text = row == NULL ? xstrdup(k->name) : cell_text(t, k, row);
		put_cell(k, row == NULL ? SCREEN_BOLD :
		    print_colour(k->member, text), text, i == last);
		free(text);
	}
	fputc('\n', screen_out());
}

static void
say_left_out(const struct table *t)
{
	const char	*lead = "(no room for ";

	for (size_t i = 0; i < t->ncolumns; i++)
		if (t->columns[i].is_left_out) {
			display_print(screen_out(), "%s%s", lead,
			    t->columns[i].name);
			lead = ", ";
		}
	if (*lead == ',')
		fputs("; --wide shows all)\n", screen_out());
}

static void
put_table(struct table *t)
{
	json_t	*row;
	size_t	 i;

	for (i = 0; i < t->ncolumns; i++)
		measure_column(t, &t->columns[i]);
	if (t->room > 0)
		fit(t);
	put_row(t, NULL);
	json_array_foreach(t->rows, i, row)
		put_row(t, row);
	say_left_out(t);
}

void
print_rows(const struct ctl *c, const char *const *columns, json_t *rows)
{
	struct table	t = { .c = c, .rows = rows,
			    .room = screen_width(c) };

	if (c->args.json) {
		print_object(c, rows);
		return;
	}
	for (; t.ncolumns < COLUMNS_MAX && columns[t.ncolumns] != NULL;
	    t.ncolumns++)
		t.columns[t.ncolumns] = (struct column){
		    .member = columns[t.ncolumns],
		    .name = print_name(columns[t.ncolumns]) };
	if (json_array_size(rows) > 0 && t.ncolumns > 0)
		put_table(&t);
	for (size_t i = 0; i < t.ncolumns; i++)
		free(t.columns[i].name);
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

/* print.c - see ctl.h */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "ctl/base/ctl.h"
#include "util/xalloc.h"

#define SECOND	INT64_C(1000)

/*
 * A value as text.  Control characters are replaced, since data of rows must
 * not move the cursor of a terminal.
 */
static char *
printed_text(const json_t *v)
{
	char	*text;

	switch (v == NULL ? JSON_NULL : json_typeof(v)) {
	case JSON_STRING:
		text = xstrdup(json_string_value(v));
		for (unsigned char *p = (unsigned char *)text; *p != '\0'; p++)
			if (*p < ' ' || *p == 0x7f)
				*p = '?';
		return text;
	case JSON_INTEGER:
		return xasprintf("%" JSON_INTEGER_FORMAT,
		    json_integer_value(v));
	case JSON_TRUE:
		return xstrdup("yes");
	case JSON_FALSE:
		return xstrdup("no");
	case JSON_NULL:
		return xstrdup("-");
	default:
		return json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
	}
}

static void
dump(json_t *v)
{
	json_dumpf(v, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(v);
}

/* Width in characters, not bytes, to align the columns. */
static int
width_of(const char *text)
{
	int	n = 0;

	for (; *text != '\0'; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static void
put_cell(const char *text, int width, bool last)
{
	printf("%s%*s", text, last ? 0 : width - width_of(text) + 2, "");
}

static void
put_line(const char *const *columns, const int *widths, const json_t *row)
{
	for (size_t i = 0; columns[i] != NULL; i++) {
		char *text = row == NULL ? xstrdup(columns[i]) :
		    printed_text(json_object_get(row, columns[i]));

		put_cell(text, widths[i], columns[i + 1] == NULL);
		free(text);
	}
	putchar('\n');
}

void
print_rows(const struct ctl *c, const char *const *columns, json_t *rows)
{
	int	 widths[32] = { 0 };
	size_t	 i;
	json_t	*row;

	if (c->args.json) {
		dump(rows);
		return;
	}
	for (size_t k = 0; columns[k] != NULL; k++) {
		widths[k] = width_of(columns[k]);
		json_array_foreach(rows, i, row) {
			char *text = printed_text(json_object_get(row,
			    columns[k]));

			if (width_of(text) > widths[k])
				widths[k] = width_of(text);
			free(text);
		}
	}
	if (json_array_size(rows) > 0)
		put_line(columns, widths, NULL);
	json_array_foreach(rows, i, row)
		put_line(columns, widths, row);
	json_decref(rows);
}

void
print_object(const struct ctl *c, json_t *object)
{
	const char	*name;
	json_t		*value;
	int		 width = 0;

	if (c->args.json) {
		dump(object);
		return;
	}
	json_object_foreach(object, name, value)
		if (width_of(name) > width)
			width = width_of(name);
	json_object_foreach(object, name, value) {
		char *text = printed_text(value);

		put_cell(name, width, false);
		puts(text);
		free(text);
	}
	json_decref(object);
}

void
print_done(const struct ctl *c, uint64_t n, const char *fmt, ...)
{
	va_list	ap;

	if (c->args.json) {
		dump(json_pack("{s:I, s:b}", "changed", (json_int_t)n,
		    "dry_run", c->args.dry_run));
		return;
	}
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

void
print_changed(const struct ctl *c, uint64_t n, const char *things,
    const char *done)
{
	print_done(c, n, "%llu %s %s%s", (unsigned long long)n, things,
	    c->args.dry_run ? "would be " : "", done);
}

json_t *
span_json(int64_t ms)
{
	char	text[64];

	if (ms < 60 * SECOND)
		snprintf(text, sizeof(text), "%.1fs", (double)ms / SECOND);
	else if (ms < 3600 * SECOND)
		snprintf(text, sizeof(text), "%lldm %02llds",
		    (long long)(ms / SECOND / 60),
		    (long long)(ms / SECOND % 60));
	else
		snprintf(text, sizeof(text), "%lldh %02lldm %02llds",
		    (long long)(ms / SECOND / 3600),
		    (long long)(ms / SECOND / 60 % 60),
		    (long long)(ms / SECOND % 60));
	return json_string(text);
}

/* print.c - see ctl.h and print_impl.h */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/base/outcome.h"
#include "ctl/base/print_impl.h"
#include "util/display.h"
#include "util/duration.h"
#include "util/xalloc.h"

#define SECOND	INT64_C(1000)
#define GAP	2	/* behind a name */

static bool
is_among(const char *const *names, const char *name)
{
	for (; *names != NULL; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

bool
print_is_count(const char *name)
{
	static const char *const	 counts[] = { "attempts", "bytes",
	    "changed", "consumers", "dead", "delivered", "desired", "failed",
	    "lanes_waiting", "messages", "metadata_bytes", "owned", "parked",
	    "partitions", "payload_bytes", "rows", "types_refused", "waiting",
	    NULL };

	return is_among(counts, name);
}

/* Milliseconds in a unit that the name ends with, which is *unit; 0: none. */
static int64_t
duration_unit(const char *name, const char **unit)
{
	static const struct {
		const char	*end;
		int64_t		 ms;
	} units[] = { { "_ms", 1 }, { "_s", SECOND } };
	size_t	len = strlen(name);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t n = strlen(units[i].end);

		*unit = len > n ? name + len - n : name;
		if (strcmp(*unit, units[i].end) == 0)
			return units[i].ms;
	}
	return 0;
}

char *
print_name(const char *name)
{
	const char	*unit;

	return duration_unit(name, &unit) == 0 ? xstrdup(name) :
	    xasprintf("%.*s", (int)(unit - name), name);
}

static char *
number_text(const char *name, json_int_t n)
{
	const char	*unit;
	int64_t		 ms = duration_unit(name, &unit);
	char		 text[DISPLAY_SIZE];

	if (ms != 0)
		return xasprintf("%s%s", n < 0 ? "-" : "",
		    duration_words(n < 0 ? -n * ms : n * ms).text);
	if (print_is_count(name))
		return xstrdup(display_number(text, n));
	return xasprintf("%" JSON_INTEGER_FORMAT, n);
}

char *
print_text(const char *name, const json_t *v)
{
	char	*text;

	switch (v == NULL ? JSON_NULL : json_typeof(v)) {
	case JSON_STRING:
		text = xstrdup(json_string_value(v));
		break;
	case JSON_INTEGER:
		return number_text(name, json_integer_value(v));
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

enum screen_colour
print_colour(const char *name, const char *text)
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
	enum screen_colour	colour = print_colour(name, text);

	display_print(screen_out(), "%s%*s", name,
	    width - display_width(name) + GAP, "");
	if (colour == SCREEN_PLAIN) {
		screen_put_lines(c, width + GAP, text);
	} else {
		screen_put(colour, text);
		fputc('\n', screen_out());
	}
}

static void
print_members(const struct ctl *c, json_t *object, int width)
{
	const char	*key;
	json_t		*value;

	json_object_foreach(object, key, value) {
		char *name = print_name(key), *text = print_text(key, value);

		print_member(c, width, name, text);
		free(name);
		free(text);
	}
}

void
print_object(const struct ctl *c, json_t *object)
{
	const char	*key;
	json_t		*value;
	int		 width = 0;

	if (c->args.json) {
		outcome_put(object);
		return;
	}
	json_object_foreach(object, key, value) {
		char *name = print_name(key);

		if (display_width(name) > width)
			width = display_width(name);
		free(name);
	}
	print_members(c, object, width);
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
	char	number[DISPLAY_SIZE];

	snprintf(to, COUNT_SIZE, "%s %s%s", display_number(number, (int64_t)n),
	    thing, n == 1 ? "" : "s");
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

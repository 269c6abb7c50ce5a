/*
 * conf_text.c - values as text: for errors and for the dump
 *
 * The text must read back as the same value, here and in any YAML parser.  It
 * must not depend on the locale: hence no "%g".
 */
#include "conf/conf_impl.h"
#include "util/xalloc.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

static void	write_value(FILE *, const void *, const struct conf_key *);

#define LETTERS	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

const struct conf_unit	conf_units[] = {
	{ "h", 3600000 }, { "m", 60000 }, { "s", 1000 }, { "ms", 1 },
	{ NULL, 0 }
};

int
conf_in(const struct conf_draft *d, unsigned line, const char *name,
    struct err *e)
{
	if (name != NULL)
		err_in(e, "%s", name);
	if (line != 0)
		err_in(e, "line %u", line);
	return err_in(e, "%s", d->path);
}

static struct conf_phrase __attribute__((format(printf, 1, 2)))
phrase(const char *fmt, ...)
{
	struct conf_phrase	p;
	va_list			ap;

	va_start(ap, fmt);
	vsnprintf(p.text, sizeof(p.text), fmt, ap);
	va_end(ap);
	return p;
}

struct conf_phrase
conf_show(const char *text)
{
	struct conf_phrase	shown;
	const size_t		max = 60;
	size_t			n = strnlen(text, max);

	if (n == 0)
		return phrase("an empty value");
	/* Cut before the character that does not fit. */
	if (text[n] != '\0')
		while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
			n--;
	shown = phrase("%.*s%s", (int)n, text, text[n] != '\0' ? "..." : "");
	for (char *s = shown.text; *s != '\0'; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			*s = '?';
	return shown;
}

static int
format_duration(char *to, size_t size, int64_t ms)
{
	const struct conf_unit	*u = conf_units;

	if (ms == 0)
		return snprintf(to, size, "0s");
	while (ms % u->ms != 0)
		u++;
	return snprintf(to, size, "%" PRId64 "%s", ms / u->ms, u->name);
}

/* A fraction without the zeros at its end; micro is not negative. */
static int
format_fraction(char *to, size_t size, int64_t micro)
{
	int	n = snprintf(to, size, "%" PRId64 ".%06" PRId64,
		    micro / CONF_MICRO, micro % CONF_MICRO);

	while (to[n - 1] == '0')
		n--;
	if (to[n - 1] == '.')
		n--;
	to[n] = '\0';
	return n;
}

struct conf_phrase
conf_range(const struct conf_key *k)
{
	char	min[32], max[32];

	if (k->type == CONF_DURATION) {
		format_duration(min, sizeof(min), k->min);
		format_duration(max, sizeof(max), k->max);
	} else if (k->type == CONF_FRACTION) {
		format_fraction(min, sizeof(min), k->min * (CONF_MICRO / 100));
		format_fraction(max, sizeof(max), k->max * (CONF_MICRO / 100));
	} else {
		snprintf(min, sizeof(min), "%" PRId64, k->min);
		snprintf(max, sizeof(max), "%" PRId64, k->max);
	}
	return phrase("from %s to %s", min, max);
}

struct conf_phrase
conf_choices(const struct conf_key *k)
{
	struct conf_phrase	list = { "" };
	size_t			n = 0;

	for (unsigned i = 0; k->words[i] != NULL; i++)
		n += (size_t)snprintf(list.text + n, sizeof(list.text) - n,
		    "%s%s", n > 0 ? ", " : "", k->words[i]);
	return list;
}

struct conf_phrase
conf_wanted(const struct conf_key *k)
{
	switch (k->type) {
	case CONF_INT:
		return phrase("a whole number %s", conf_range(k).text);
	case CONF_DURATION:
		return phrase("a duration %s such as 15, 0.5, 500ms, 15s or "
		    "5m", conf_range(k).text);
	case CONF_FRACTION:
		return phrase("a number %s", conf_range(k).text);
	case CONF_BOOL:
		return phrase("true or false");
	case CONF_STRING:
		return phrase("a text");
	case CONF_LIST:
		return phrase("a list of texts");
	case CONF_MAP:
		return phrase("a mapping of names to texts");
	case CONF_RECORDS:
		return phrase(k->pairs ? "a mapping of names to texts, or a "
		    "list of mappings" : "a list of mappings");
	case CONF_ENUM:
		break;
	}
	if (strchr(conf_choices(k).text, ',') == NULL)
		return conf_choices(k);
	return phrase("one of %s", conf_choices(k).text);
}

/*
 * True if every YAML parser takes the word, without quotes, for a text.
 * Others are quoted; 10:30, for example, is 630 to some parsers.
 */
static bool
is_plain(const char *text)
{
	static const char *const	taken[] = { "y", "n", "yes", "no",
		"on", "off", "true", "false", "null" };

	if (strchr("/" LETTERS, *text) == NULL ||
	    text[strspn(text, LETTERS "0123456789_-./")] != '\0')
		return false;
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (strcasecmp(text, taken[i]) == 0)
			return false;
	return *text != '\0';
}

/* conf_form_text refused all characters that need another escape. */
static void
write_string(FILE *f, const char *text)
{
	if (is_plain(text)) {
		fputs(text, f);
		return;
	}
	fputc('"', f);
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', f);
		fputc(*text, f);
	}
	fputc('"', f);
}

static void
write_list(FILE *f, const struct conf_list *list)
{
	fputc('[', f);
	for (size_t i = 0; i < list->n; i++) {
		if (i > 0)
			fputs(", ", f);
		write_string(f, list->items[i]);
	}
	fputc(']', f);
}

static void
write_map(FILE *f, const struct conf_map *map)
{
	fputc('{', f);
	for (size_t i = 0; i < map->n; i++) {
		if (i > 0)
			fputs(", ", f);
		write_string(f, map->items[i].name);
		fputs(": ", f);
		write_string(f, map->items[i].value);
	}
	fputc('}', f);
}

static void
write_records(FILE *f, const struct conf_records *records,
    const struct conf_key *k)
{
	fputc('[', f);
	for (size_t i = 0; i < records->n; i++) {
		const void	*record = conf_record(records, k, i);
		const char	*comma = "";

		fputs(i > 0 ? ", {" : "{", f);
		for (size_t j = 0; j < k->nfields; j++) {
			if (conf_is_empty(record, &k->fields[j]))
				continue;
			fprintf(f, "%s%s: ", comma, k->fields[j].name);
			if (conf_is_hidden(record, &k->fields[j]))
				write_string(f, CONF_HIDDEN);
			else
				write_value(f, record, &k->fields[j]);
			comma = ", ";
		}
		fputc('}', f);
	}
	fputc(']', f);
}

static void
write_value(FILE *f, const void *base, const struct conf_key *k)
{
	const void	*at = conf_field(base, k);
	char		 buf[48];

	switch (k->type) {
	case CONF_INT:
		fprintf(f, "%" PRId64, *(const int64_t *)at);
		return;
	case CONF_DURATION:
		format_duration(buf, sizeof(buf), *(const int64_t *)at);
		fputs(buf, f);
		return;
	case CONF_FRACTION:
		format_fraction(buf, sizeof(buf),
		    (int64_t)(*(const double *)at * CONF_MICRO + 0.5));
		fputs(buf, f);
		return;
	case CONF_BOOL:
		fputs(*(const bool *)at ? "true" : "false", f);
		return;
	case CONF_STRING:
		write_string(f, *(char *const *)at);
		return;
	case CONF_LIST:
		write_list(f, at);
		return;
	case CONF_MAP:
		write_map(f, at);
		return;
	case CONF_RECORDS:
		write_records(f, at, k);
		return;
	case CONF_ENUM:
		fputs(k->words[*(const int *)at], f);
		return;
	}
}

char *
conf_text(const void *base, const struct conf_key *k)
{
	char	*text;
	size_t	 len;
	FILE	*f = xopen_memstream(&text, &len);

	write_value(f, base, k);
	fclose(f);
	return text;
}

/*
 * Write the headings of the sections of name that last, the key before it, is
 * not in.  Returns the depth of name.
 */
static int
write_sections(FILE *f, const char *last, const char *name)
{
	const char	*dot;
	int		 depth = 0;

	for (; (dot = strchr(name, '.')) != NULL; name = dot + 1) {
		size_t	n = (size_t)(dot + 1 - name);

		if (last != NULL && strncmp(last, name, n) == 0)
			last += n;
		else {
			last = NULL;
			fprintf(f, "%*s%.*s:\n", 2 * depth, "",
			    (int)n - 1, name);
		}
		depth++;
	}
	return depth;
}

void
conf_dump(const struct conf *c, FILE *f)
{
	size_t			 n;
	const struct conf_key	*keys = conf_keys(&n);
	const char		*last = NULL;

	for (size_t i = 0; i < n; i++) {
		int	depth = write_sections(f, last, keys[i].name);

		fprintf(f, "%*s%s: ", 2 * depth, "",
		    strrchr(keys[i].name, '.') + 1);
		write_value(f, c, &keys[i]);
		fputc('\n', f);
		last = keys[i].name;
	}
}

/*
 * conf_text.c - texts for errors, and values as text for the dump
 *
 * The text must read back as the same value, here and in any YAML parser.  It
 * must not depend on the locale: hence no "%g".
 */
#include "conf/conf_impl.h"
#include "util/xalloc.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static void	write_value(FILE *, const void *, const struct conf_key *);

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

int
conf_fail(const struct conf_draft *d, unsigned line, const char *name,
    struct err *e, const char *fmt, ...)
{
	char	text[2 * sizeof(e->text)];
	va_list	ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set(e, "%s", text);
	return conf_in(d, line, name, e);
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

/* The words of an enum: "a, b, c". */
static struct conf_phrase
choices(const struct conf_key *k)
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
	if (strchr(choices(k).text, ',') == NULL)
		return choices(k);
	return phrase("one of %s", choices(k).text);
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The edit distance of a, which fits a name, and the blen bytes of b. */
static size_t
distance(const char *a, const char *b, size_t blen)
{
	size_t	row[CONF_NAME_SIZE], alen = strlen(a);

	for (size_t i = 0; i <= alen; i++)
		row[i] = i;
	for (size_t j = 0; j < blen; j++) {
		size_t	diagonal = row[0];

		row[0] = j + 1;
		for (size_t i = 0; i < alen; i++) {
			size_t	above = row[i + 1];
			bool	same = tolower((unsigned char)a[i]) ==
				    tolower((unsigned char)b[j]);

			row[i + 1] = least(diagonal + !same,
			    1 + least(above, row[i]));
			diagonal = above;
		}
	}
	return row[alen];
}

/* Similar: up to three letters differ, or one begins with the other. */
size_t
conf_how_far(const char *leaf, const char *name, size_t len)
{
	size_t	n = strlen(leaf), d = distance(leaf, name, len);

	if (d <= least((n + 1) / 3, 3))
		return d;
	return strncmp(leaf, name, least(n, len)) == 0 ? 4 : SIZE_MAX;
}

struct conf_phrase
conf_word_near(const char *const *words, const char *text)
{
	struct conf_phrase	 best = { "" };
	size_t			 far = SIZE_MAX, d;

	if (*text == '\0' || strlen(text) >= CONF_NAME_SIZE)
		return best;
	for (; *words != NULL; words++)
		if ((d = conf_how_far(text, *words, strlen(*words))) < far) {
			far = d;
			snprintf(best.text, sizeof(best.text), "%s", *words);
		}
	return best;
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

	if (strchr("/" CONF_LETTERS, *text) == NULL ||
	    text[strspn(text, CONF_LETTERS CONF_DIGITS "_-./")] != '\0')
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
	const void		*at = conf_field(base, k);
	const struct conf_list	*list = at;
	const struct conf_map	*map = at;
	char			 buf[48];

	switch (k->type) {
	case CONF_INT:
		fprintf(f, "%" PRId64, *(const int64_t *)at);
		break;
	case CONF_DURATION:
		format_duration(buf, sizeof(buf), *(const int64_t *)at);
		fputs(buf, f);
		break;
	case CONF_FRACTION:
		format_fraction(buf, sizeof(buf),
		    (int64_t)(*(const double *)at * CONF_MICRO + 0.5));
		fputs(buf, f);
		break;
	case CONF_BOOL:
		fputs(*(const bool *)at ? "true" : "false", f);
		break;
	case CONF_STRING:
		write_string(f, *(char *const *)at);
		break;
	case CONF_LIST:
		fputc('[', f);
		for (size_t i = 0; i < list->n; i++) {
			fputs(i > 0 ? ", " : "", f);
			write_string(f, list->items[i]);
		}
		fputc(']', f);
		break;
	case CONF_MAP:
		fputc('{', f);
		for (size_t i = 0; i < map->n; i++) {
			fputs(i > 0 ? ", " : "", f);
			write_string(f, map->items[i].name);
			fputs(": ", f);
			write_string(f, map->items[i].value);
		}
		fputc('}', f);
		break;
	case CONF_RECORDS:
		write_records(f, at, k);
		break;
	case CONF_ENUM:
		fputs(k->words[*(const int *)at], f);
		break;
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

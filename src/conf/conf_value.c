/*
 * conf_value.c - text to value, by type
 *
 * One setter for each type, used for the file, the defaults and the options.
 * A setter sees one key; conf_check.c compares keys.  A file must mean the
 * same in every locale: hence no strtod.
 */
#include "conf/conf_impl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/xalloc.h"

/* A number as written: digits / scale. */
struct decimal {
	bool		negative;
	bool		fraction;	/* it has a point */
	bool		too_big, too_fine;
	int64_t		digits, scale;
};

/*
 * Reads "[+-]digits[.digits]" and returns the text after it, or NULL if there
 * is no such number.  010 is refused: it is 8 to some YAML parsers, 10 to
 * others.
 */
static const char *
parse_decimal(const char *s, struct decimal *d)
{
	const int64_t	limit = INT64_MAX / 10 - 1;
	size_t		ndigits = 0;

	*d = (struct decimal){ .scale = 1 };
	if (*s == '+' || *s == '-')
		d->negative = *s++ == '-';
	if (s[0] == '0' && isdigit((unsigned char)s[1]))
		return NULL;
	for (;; s++) {
		if (*s == '.' && !d->fraction) {
			d->fraction = true;
			continue;
		}
		if (!isdigit((unsigned char)*s))
			break;
		ndigits++;
		if (d->digits > limit || d->scale > limit) {
			d->too_fine |= d->fraction;
			d->too_big |= !d->fraction;
			continue;
		}
		d->digits = d->digits * 10 + (*s - '0');
		d->scale *= d->fraction ? 10 : 1;
	}
	return ndigits > 0 && s[-1] != '.' ? s : NULL;
}

/*
 * Sets *out to the number in units of 1/unit; false: that would lose digits.
 * A number too big for the type becomes INT64_MAX, which no range includes.
 */
static bool
to_units(const struct decimal *d, int64_t unit, int64_t *out)
{
	int64_t	n;

	if (d->too_big || __builtin_mul_overflow(d->digits, unit, &n))
		n = INT64_MAX;
	else if (d->too_fine || n % d->scale != 0)
		return false;
	else
		n /= d->scale;
	*out = d->negative ? -n : n;
	return true;
}

static int
not_wanted(const struct conf_key *k, const char *text, struct err *e)
{
	return err_set(e, "%s is not %s", conf_show(text).text,
	    conf_wanted(k).text);
}

static int
in_range(const struct conf_key *k, const char *text, int64_t n, int64_t scale,
    struct err *e)
{
	if (n < k->min * scale || n > k->max * scale)
		return err_set(e, "%s is not %s", conf_show(text).text,
		    conf_range(k).text);
	return 0;
}

static int
set_int(void *at, const struct conf_key *k, const char *text, struct err *e)
{
	struct decimal	 d;
	const char	*rest = parse_decimal(text, &d);
	int64_t		 n;

	if (rest == NULL || *rest != '\0' || d.fraction ||
	    !to_units(&d, 1, &n))
		return not_wanted(k, text, e);
	if (in_range(k, text, n, 1, e) < 0)
		return -1;
	*(int64_t *)at = n;
	return 0;
}

static int
set_duration(void *at, const struct conf_key *k, const char *text,
    struct err *e)
{
	const struct conf_unit	*u = conf_units;
	struct decimal		 d;
	const char		*rest = parse_decimal(text, &d);
	int64_t			 ms;

	if (rest == NULL)
		return not_wanted(k, text, e);
	if (*rest == '\0')
		rest = "s";
	while (u->name != NULL && strcmp(rest, u->name) != 0)
		u++;
	if (u->name == NULL)
		return not_wanted(k, text, e);
	if (!to_units(&d, u->ms, &ms))
		return err_set(e, "%s is finer than a millisecond",
		    conf_show(text).text);
	if (in_range(k, text, ms, 1, e) < 0)
		return -1;
	*(int64_t *)at = ms;
	return 0;
}

static int
set_fraction(void *at, const struct conf_key *k, const char *text,
    struct err *e)
{
	struct decimal	 d;
	const char	*rest = parse_decimal(text, &d);
	int64_t		 micro;

	if (rest == NULL || *rest != '\0')
		return not_wanted(k, text, e);
	if (!to_units(&d, CONF_MICRO, &micro))
		return err_set(e, "%s has more than six decimals",
		    conf_show(text).text);
	if (in_range(k, text, micro, CONF_MICRO / 100, e) < 0)
		return -1;
	*(double *)at = (double)micro / CONF_MICRO;
	return 0;
}

/* The booleans of YAML 1.1. */
static bool
is_boolean(const char *text, bool *yes)
{
	static const char *const	words[] =
	    { "false", "true", "no", "yes", "off", "on" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasecmp(text, words[i]) == 0) {
			*yes = i % 2 == 1;
			return true;
		}
	return false;
}

static int
set_bool(void *at, const struct conf_key *k, const char *text, struct err *e)
{
	return is_boolean(text, at) ? 0 : not_wanted(k, text, e);
}

static bool
set_word(void *at, const struct conf_key *k, const char *text)
{
	for (unsigned i = 0; k->words[i] != NULL; i++)
		if (strcmp(text, k->words[i]) == 0) {
			*(int *)at = (int)i;
			return true;
		}
	return false;
}

/* Where true and false are among the words, so are other booleans. */
static int
set_enum(void *at, const struct conf_key *k, const char *text, struct err *e)
{
	bool	yes;

	if (set_word(at, k, text) || (is_boolean(text, &yes) &&
	    set_word(at, k, yes ? "true" : "false")))
		return 0;
	return err_set(e, "%s is unknown: choose %s", conf_show(text).text,
	    conf_wanted(k).text);
}

int
conf_check_string(const struct conf_key *k, const char *text, struct err *e)
{
	if (*text == '\0')
		return 0;
	if (conf_form_text(text, e) < 0)
		return -1;
	return k->check != NULL ? k->check(text, e) : 0;
}

static int
set_string(void *at, const struct conf_key *k, const char *text,
    struct err *e)
{
	char	**string = at;

	if (k->required && *text == '\0')
		return err_set(e, "must not be empty");
	if (conf_check_string(k, text, e) < 0)
		return -1;
	free(*string);
	*string = xstrdup(text);
	return 0;
}

static int
add_item(void *at, const struct conf_key *k, const char *text, struct err *e)
{
	struct conf_list	*list = at;

	if (*text == '\0')
		return err_set(e, "an item must not be empty");
	if (conf_check_string(k, text, e) < 0)
		return -1;
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->items[i], text) == 0)
			return err_set(e, "%s is listed twice",
			    conf_show(text).text);
	list->items = xreallocarray(list->items, list->n + 1,
	    sizeof(list->items[0]));
	list->items[list->n++] = xstrdup(text);
	return 0;
}

int
conf_set(void *base, const struct conf_key *k, const char *text, bool quoted,
    struct err *e)
{
	static int	(*const setters[])(void *, const struct conf_key *,
			    const char *, struct err *) = {
		[CONF_INT] = set_int, [CONF_DURATION] = set_duration,
		[CONF_FRACTION] = set_fraction, [CONF_BOOL] = set_bool,
		[CONF_STRING] = set_string, [CONF_LIST] = add_item,
		[CONF_ENUM] = set_enum,
	};
	void		*at = (char *)base + k->at;

	/* A field of a record that takes the value of a key for all. */
	if (k->inherits && *text == '\0') {
		if (k->type == CONF_ENUM)
			*(int *)at = CONF_INHERIT;
		else
			*(int64_t *)at = CONF_INHERIT;
		return 0;
	}
	/* A variable of the environment sets it. */
	if (k->type == CONF_MAP || k->type == CONF_RECORDS)
		return err_set(e, "%s is %s, which only the file can set",
		    k->name, conf_wanted(k).text);
	if (quoted && (k->type == CONF_INT || k->type == CONF_FRACTION ||
	    k->type == CONF_BOOL))
		return err_set(e, "\"%s\" in quotes is a text, not %s",
		    *text == '\0' ? "" : conf_show(text).text,
		    conf_wanted(k).text);
	return setters[k->type](at, k, text, e);
}

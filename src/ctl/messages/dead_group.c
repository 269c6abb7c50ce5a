/* dead_group.c - see dead_group.h */

#include "ctl/messages/dead_group.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/msg.h"

#define TEXT_MAX	255
#define HEX_MIN		8	/* shorter ones may be words: "deadbee", "cafe" */
#define ID_MIN		16	/* letters and digits, as ULIDs are */

#define DIGITS		"0123456789"
#define HEX		DIGITS "abcdefABCDEF"
#define LETTERS		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define WORD		LETTERS DIGITS "_"

static bool
is_among(char c, const char *set)
{
	return c != '\0' && strchr(set, c) != NULL;
}

/* 8-4-4-4-12 hexadecimal digits; returns the length, or 0. */
static size_t
uuid_length(const char *p)
{
	static const size_t	parts[] = { 8, 4, 4, 4, 12 };
	const char		*at = p;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (i > 0 && *at++ != '-')
			return 0;
		if (strspn(at, HEX) < parts[i])
			return 0;
		at += parts[i];
	}
	return is_among(*at, WORD) ? 0 : (size_t)(at - p);
}

/* Is this word of len characters an id? */
static bool
is_id(const char *word, size_t len)
{
	size_t	ndigits = 0, nletters = 0;

	for (size_t i = 0; i < len; i++) {
		ndigits += is_among(word[i], DIGITS);
		nletters += is_among(word[i], LETTERS);
	}
	if (ndigits == 0 || nletters == 0)
		return false;
	if (word[0] == '0' && (word[1] == 'x' || word[1] == 'X'))
		return strspn(word + 2, HEX) >= len - 2;
	return len >= ID_MIN || (len >= HEX_MIN && strspn(word, HEX) >= len);
}

/* Append the word that begins here, or a # for each of its numbers. */
static size_t
put_word(struct buf *to, const char *p)
{
	size_t	len = uuid_length(p), at = 0, n;

	/* The status stays: "HTTP 404" is another error than "HTTP 400". */
	if (strncmp(p, "HTTP ", 5) == 0 && strspn(p + 5, DIGITS) == 3 &&
	    !is_among(p[8], WORD)) {
		buf_add(to, p, 8);
		return 8;
	}
	if (len == 0 && is_id(p, strspn(p, WORD)))
		len = strspn(p, WORD);
	if (len > 0) {
		buf_str(to, "*");
		return len;
	}
	while (is_among(p[at], WORD)) {
		if ((n = strspn(p + at, DIGITS)) == 0) {
			buf_add(to, p + at++, 1);
			continue;
		}
		/* "1.5", "1,024" and "10.0.0.1" are a number each. */
		for (at += n; is_among(p[at], ".,") &&
		    is_among(p[at + 1], DIGITS); )
			at += 1 + strspn(p + at + 1, DIGITS);
		buf_str(to, "#");
	}
	return at;
}

/* The closing quote of the text that begins here; NULL: it is no quote. */
static const char *
closing_quote(const char *p)
{
	for (const char *q = p + 1; *q != '\0'; q++)
		if (*q == '\\' && q[1] != '\0')
			q++;
		else if (*q == *p && !is_among(q[1], WORD))
			return q;
	return NULL;
}

/*
 * The name of a member of JSON stays.  open has the quotes that nothing closes:
 * to search for that again and again would take long.
 */
static size_t
put_quoted(struct buf *to, const char *text, const char *p, char open[4])
{
	char		 before = '\0';
	const char	*end = NULL;
	bool		 is_name;

	if (p > text)
		before = p[-1];
	if (!is_among(before, WORD) && !is_among(*p, open) &&
	    (end = closing_quote(p)) == NULL)
		open[strlen(open)] = *p;
	if (end == NULL) {
		buf_add(to, p, 1);
		return 1;
	}
	is_name = end[1] == ':' && (before == '{' || before == ',');
	if (is_name)
		buf_add(to, p, (size_t)(end - p) + 1);
	else
		buf_printf(to, "%c*%c", *p, *p);
	return (size_t)(end - p) + 1;
}

void
dead_group_text(struct buf *to, const char *error)
{
	const char	*p = error;
	char		 open[4] = "";
	size_t		 from = to->len, len = TEXT_MAX;

	buf_str(to, "");
	while (*p != '\0' && to->len - from <= TEXT_MAX)
		if (is_among(*p, WORD))
			p += put_word(to, p);
		else if (is_among(*p, "\"'`"))
			p += put_quoted(to, error, p, open);
		else
			buf_add(to, p++, 1);
	if (to->len - from <= TEXT_MAX)
		return;
	/* Cut it where a character begins. */
	while (len > 0 && (to->data[from + len] & 0xc0) == 0x80)
		len--;
	buf_chop(to, to->len - from - len);
	buf_str(to, "...");
}

void
dead_group_of(char id[DEAD_GROUP_SIZE], const json_t *row)
{
	const char	*reason = member_text(row, "reason");
	const char	*error = member_text(row, "error");
	struct buf	 text = { 0 };

	buf_printf(&text, "%s\n", reason == NULL ? "" : reason);
	dead_group_text(&text, error == NULL ? "" : error);
	snprintf(id, DEAD_GROUP_SIZE, "%016" PRIx64, text_hash(text.data));
	buf_free(&text);
}

int
dead_group_check(const struct ctl *c)
{
	const char	*id = c->args.group;
	char		 text[200];

	if (id == NULL || (strlen(id) == DEAD_GROUP_SIZE - 1 &&
	    strspn(id, DIGITS "abcdef") == DEAD_GROUP_SIZE - 1))
		return CTL_DONE;
	snprintf(text, sizeof(text), "group: \"%s\" is no group of "
	    "/api/dead/groups", id);
	return ctl_misuse_of("value", "group", text, "--group: \"%s\" is no "
	    "group of outboxctl dead groups", id);
}

bool
dead_group_passes(const struct ctl *c, const json_t *row)
{
	char	id[DEAD_GROUP_SIZE];

	if (c->args.group == NULL)
		return true;
	dead_group_of(id, row);
	return strcmp(id, c->args.group) == 0;
}

int
dead_group_keep(struct ctl *c, uint64_t *list, size_t *n, struct err *e)
{
	static const struct rows_column	columns[] = {
		{ "sequence", ROWS_NUMBER }, { "reason", ROWS_TEXT },
		{ "error", ROWS_TEXT },
	};
	struct db_rows			*rows;
	json_t				*page, *row;
	size_t				 i;

	if (c->args.group == NULL || *n == 0)
		return 0;
	store_sql(c->store, "SELECT global_sequence, reason, last_error "
	    "FROM {dead} WHERE global_sequence IN (:rows)",
	    SQL_LIST("rows", list, *n));
	if ((rows = store_query(c->store, "select", e)) == NULL)
		return -1;
	page = rows_json(rows, columns, 3);
	*n = 0;
	json_array_foreach(page, i, row)
		if (dead_group_passes(c, row))
			list[(*n)++] = (uint64_t)member_number(row,
			    "sequence");
	json_decref(page);
	return 0;
}

/*
 * conf_form_route.c - the forms of routes, aliases and columns
 */
#include "conf/conf_impl.h"

#include <string.h>

#define DIGITS	"0123456789"
#define LOWER	"abcdefghijklmnopqrstuvwxyz"
#define UPPER	"ABCDEFGHIJKLMNOPQRSTUVWXYZ"

#define ROUTE_MAX	32
#define SOURCE_MAX	255
#define PATH_MAX_BYTES	255
#define COLUMNS_MAX	64		/* in conf_columns, at most */

int
conf_form_route(const char *text, struct err *e)
{
	if (strlen(text) > ROUTE_MAX)
		return err_set(e, "is longer than %d characters", ROUTE_MAX);
	if (text[strspn(text, LOWER DIGITS "_-")] != '\0')
		return err_set(e, "%s may only have small letters, digits, _ "
		    "and -", conf_show(text).text);
	return 0;
}

/* A header's name, and a pattern of its value: "tenant=acme*". */
int
conf_form_match(const char *text, struct err *e)
{
	size_t	n = strcspn(text, "=");

	if (n == 0 || text[n] == '\0' || text[n + 1] == '\0')
		return err_set(e, "%s is not NAME=PATTERN",
		    conf_show(text).text);
	if (strcspn(text, " :") < n)
		return err_set(e, "%s has a blank or a colon in the name of "
		    "the header", conf_show(text).text);
	return 0;
}

/* A pattern here would never match. */
int
conf_form_aliased(const char *text, struct err *e)
{
	return strchr(text, '*') == NULL ? 0 : err_set(e, "* is no wildcard "
	    "here: an alias is for one type");
}

/* What takes the place of a type in a subject. */
int
conf_form_alias(const char *text, struct err *e)
{
	if (text[strcspn(text, "{}")] != '\0')
		return err_set(e, "%s has a brace in it",
		    conf_show(text).text);
	return conf_form_subject(text, e);
}

int
conf_form_source(const char *text, struct err *e)
{
	if (strlen(text) > SOURCE_MAX)
		return err_set(e, "is longer than %d bytes", SOURCE_MAX);
	for (const char *s = text; *s != '\0'; s++)
		if (*s <= ' ' || *s > '~' || strchr("\"<>\\^`{|}", *s) != NULL)
			return err_set(e, "%s is not a URI",
			    conf_show(text).text);
	return 0;
}

/* The state of a row is written; all else is read. */
const struct conf_column	conf_columns[] = {
	{ "global_sequence", CONF_IN_OUTBOX, false },
	{ "attempts", CONF_IN_OUTBOX | CONF_IN_MESSAGES, true },
	{ "available_at", CONF_IN_OUTBOX | CONF_IN_MESSAGES, true },
	{ "published_at", CONF_IN_OUTBOX | CONF_IN_MESSAGES, true },
	{ "partition_key", CONF_IN_OUTBOX | CONF_IN_MESSAGES, false },
	{ "claim_token", CONF_IN_OUTBOX | CONF_IN_MESSAGES, true },
	{ "last_error", CONF_IN_OUTBOX | CONF_IN_MESSAGES, true },
	{ "created_at", CONF_IN_OUTBOX | CONF_IN_MESSAGES, false },
	{ "ack_sequence", CONF_IN_OUTBOX | CONF_IN_MESSAGES, true },
	{ "message_hash", CONF_IN_OUTBOX | CONF_IN_MESSAGES, true },
	{ "replay_no", CONF_IN_OUTBOX | CONF_IN_MESSAGES, true },
	{ "in_doubt_since", CONF_IN_OUTBOX | CONF_IN_MESSAGES, true },
	{ "sequence", CONF_IN_EVENTS, false },
	{ "stream_id", CONF_IN_EVENTS, false },
	{ "stream_sequence", CONF_IN_EVENTS, false },
	{ "correlation_id", CONF_IN_EVENTS, false },
	{ "event_type", CONF_IN_EVENTS, false },
	{ "event_version", CONF_IN_EVENTS, false },
	{ "metadata", CONF_IN_EVENTS, false },
	{ "event_data", CONF_IN_EVENTS, false },
	{ "occurred_at", CONF_IN_EVENTS, false },
	{ "id", CONF_IN_MESSAGES, false },
	{ "message_id", CONF_IN_MESSAGES, false },
	{ "topic", CONF_IN_MESSAGES, false },
	{ "order_key", CONF_IN_MESSAGES, false },
	{ "headers", CONF_IN_MESSAGES, false },
	{ "payload", CONF_IN_MESSAGES, false },
	{ "content_type", CONF_IN_MESSAGES, false },
	{ "scheduled_at", CONF_IN_MESSAGES, false },
	{ NULL, 0, false }
};

_Static_assert(sizeof(conf_columns) / sizeof(conf_columns[0]) <=
    COLUMNS_MAX, "raise COLUMNS_MAX");

int
conf_form_column(const char *text, struct err *e)
{
	const char		*words[COLUMNS_MAX] = { NULL };
	struct conf_phrase	 best;

	for (size_t i = 0; conf_columns[i].name != NULL; i++) {
		words[i] = conf_columns[i].name;
		if (strcmp(words[i], text) == 0)
			return 0;
	}
	best = conf_word_near(words, text);
	if (best.text[0] == '\0')
		return err_set(e, "is not a column of the outbox");
	return err_set(e, "is not a column of the outbox; did you mean %s?",
	    best.text);
}

/* A column, or names of the metadata with dots: "$.tenant.id". */
int
conf_form_partition_by(const char *text, struct err *e)
{
	size_t	n;

	if (*text != '$' || text[1] != '.')
		return conf_form_table(text, e);
	if (strlen(text) > PATH_MAX_BYTES)
		return err_set(e, "is longer than %d bytes", PATH_MAX_BYTES);
	for (text++; *text == '.'; text += 1 + n) {
		n = strspn(text + 1, LOWER UPPER DIGITS "_-");
		if (n == 0)
			break;
	}
	return *text == '\0' ? 0 : err_set(e, "is not a column or a path such "
	    "as $.tenant: letters, digits, _ and - between dots");
}

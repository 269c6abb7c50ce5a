/*
 * conf_form.c - the forms that strings must have
 *
 * Each check gets one text that is not empty and tells whether its key can
 * have that value; it never tests whether the thing exists.  A text that may
 * be a password in the wrong place is not shown.
 */
#include "conf/conf_impl.h"

#include <sys/un.h>

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>

#define TEXT_MAX	1023		/* bytes, for any text */
#define DATABASE_MAX	64		/* characters, of MySQL */
#define TABLE_MAX	64
#define STREAM_MAX	255		/* bytes, of JetStream */
#define SUBJECT_MAX	255
#define PREFIX_MAX	64		/* leaves half of an id for the rest */
#define INBOX_MAX	64
#define DOMAIN_MAX	64
#define API_PREFIX_MAX	100		/* see CONF_API */
#define NKEY_LENGTH	56
#define HOST_MAX	255
#define ROUTE_MAX	32
#define SOURCE_MAX	255
#define PATH_MAX_BYTES	255		/* of names in the metadata */
#define COLUMNS_MAX	64		/* in conf_columns, at most */

/*
 * Decode one UTF-8 character.  Returns the text after it, or NULL if it is not
 * whole.  libyaml has refused overlong forms.
 */
static const char *
next_char(const char *s, uint32_t *c)
{
	unsigned char	first = (unsigned char)*s++;
	int		more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 :
			    first >= 0xc0 ? 1 : 0;

	if (first >= 0xf8 || (first & 0xc0) == 0x80)
		return NULL;
	*c = more == 0 ? first : first & (0x3fu >> more);
	for (; more > 0; more--, s++) {
		if (((unsigned char)*s & 0xc0) != 0x80)
			return NULL;
		*c = *c << 6 | ((unsigned char)*s & 0x3f);
	}
	return s;
}

/* No control characters, line breaks, and code points that YAML forbids. */
int
conf_form_text(const char *text, struct err *e)
{
	const char	*s = text;
	uint32_t	 c;

	while (*s != '\0') {
		s = next_char(s, &c);
		if (s == NULL || c < 0x20 || (c >= 0x7f && c <= 0x9f) ||
		    c == 0x2028 || c == 0x2029 || c == 0xfeff ||
		    c == 0xfffe || c == 0xffff)
			return err_set(e,
			    "has a control character or a line break in it");
	}
	if (s - text > TEXT_MAX)
		return err_set(e, "is longer than %d bytes", TEXT_MAX);
	return 0;
}

int
conf_form_word(const char *text, size_t max, const char *allowed,
    const char *what, struct err *e)
{
	if (strlen(text) > max)
		return err_set(e, "is longer than %zu characters", max);
	if (text[strspn(text, allowed)] != '\0')
		return err_set(e, "%s may only have %s", conf_show(text).text,
		    what);
	return 0;
}

/*
 * Files and variables
 */

/* The daemon leaves the directory in which it was started. */
int
conf_form_path(const char *text, struct err *e)
{
	if (*text != '/')
		return err_set(e, "is not an absolute path: "
		    "it must begin with a slash");
	return 0;
}

int
conf_form_socket(const char *text, struct err *e)
{
	const size_t	max = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;

	if (strlen(text) > max)
		return err_set(e, "is longer than the %zu bytes that the "
		    "path of a socket can have", max);
	return conf_form_path(text, e);
}

int
conf_form_log(const char *text, struct err *e)
{
	if (strcmp(text, "stderr") == 0 || strcmp(text, "syslog") == 0)
		return 0;
	if (*text != '/')
		return err_set(e, "%s is not stderr, syslog or an absolute "
		    "path", conf_show(text).text);
	return 0;
}

int
conf_form_env(const char *text, struct err *e)
{
	if (strchr(CONF_DIGITS, *text) != NULL ||
	    text[strspn(text, CONF_LETTERS CONF_DIGITS "_")] != '\0')
		return err_set(e, "is not the name of an environment "
		    "variable: use letters, digits and _");
	return 0;
}

/*
 * Addresses
 */

static bool
is_port(const char *text)
{
	return text[strspn(text, CONF_DIGITS)] == '\0' && *text != '0' &&
	    strtonum(text, 1, 65535, NULL) != 0;
}

/* The length of the host at the start of a text; 0: there is none. */
static size_t
host_length(const char *text)
{
	char		address[INET6_ADDRSTRLEN];
	struct in6_addr	in6;
	size_t		n;

	if (*text != '[')
		return strspn(text, CONF_LETTERS CONF_DIGITS "._-");
	n = strcspn(text, "]");
	if (text[n] == '\0' || n > sizeof(address))
		return 0;
	strlcpy(address, text + 1, n);
	return inet_pton(AF_INET6, address, &in6) == 1 ? n + 1 : 0;
}

/* The text is not shown: it may be user:password. */
int
conf_form_address(const char *text, struct err *e)
{
	size_t	n = host_length(text);

	if (n == 0 || (text[n] != '\0' && text[n] != ':') || n > HOST_MAX)
		return err_set(e, "is not HOST, HOST:PORT or [IPV6]:PORT");
	if (text[n] == ':' && !is_port(text + n + 1))
		return err_set(e, "has no port from 1 to 65535 after the "
		    "colon");
	return 0;
}

/* No name: it could mean another address tomorrow. */
int
conf_form_listen(const char *text, struct err *e)
{
	char	host[HOST_MAX + 1];
	size_t	n = host_length(text);

	if (n == 0 || n > HOST_MAX || text[n] != ':' ||
	    !is_port(text + n + 1))
		return err_set(e, "is not ADDRESS:PORT or [IPV6]:PORT");
	strlcpy(host, text, n + 1);
	if (*host != '[' && strcmp(host, "localhost") != 0 &&
	    inet_pton(AF_INET, host, &(struct in_addr){ 0 }) != 1)
		return err_set(e, "has a name in it: use an address, such as "
		    "127.0.0.1:9180 or 0.0.0.0:9180");
	return 0;
}

int
conf_form_host_name(const char *text, struct err *e)
{
	if (*text == '\0' || *text == '[' || host_length(text) != strlen(text))
		return err_set(e, "is no host name: write it without scheme, "
		    "port and path");
	return 0;
}

/* Refuse several addresses in one text, and a user or a password. */
static int
form_one_address(const char *text, const char *section, struct err *e)
{
	if (strchr(text, '@') != NULL)
		return err_set(e, "has a user or a password in it: "
		    "use %s.user and %s.password_file", section, section);
	if (strchr(text, ',') != NULL)
		return err_set(e, "has a comma in it: "
		    "make each server an item of the list");
	return 0;
}

int
conf_form_host(const char *text, struct err *e)
{
	if (form_one_address(text, "mysql", e) < 0)
		return -1;
	return conf_form_address(text, e);
}

int
conf_form_server(const char *text, struct err *e)
{
	const char	*address = strstr(text, "://");

	if (form_one_address(text, "nats", e) < 0)
		return -1;
	if (address == NULL)
		return conf_form_address(text, e);
	if (strncmp(text, "nats://", 7) != 0 && strncmp(text, "tls://", 6) != 0)
		return err_set(e, "must begin with nats:// or tls://");
	return conf_form_address(address + 3, e);
}

/*
 * Tables and columns
 */

int
conf_form_database(const char *text, struct err *e)
{
	if (strlen(text) > DATABASE_MAX)
		return err_set(e, "is longer than %d bytes", DATABASE_MAX);
	if (strpbrk(text, "/\\.`") != NULL)
		return err_set(e, "%s has a slash, backslash, dot or backtick "
		    "in it", conf_show(text).text);
	return 0;
}

int
conf_form_table(const char *text, struct err *e)
{
	return conf_form_word(text, TABLE_MAX, CONF_LETTERS CONF_DIGITS "_$-",
	    "letters, digits, _, $ and -", e);
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
		n = strspn(text + 1, CONF_LETTERS CONF_DIGITS "_-");
		if (n == 0)
			break;
	}
	return *text == '\0' ? 0 : err_set(e, "is not a column or a path such "
	    "as $.tenant: letters, digits, _ and - between dots");
}

int
conf_form_count(const char *text, struct err *e)
{
	return text[strspn(text, CONF_DIGITS)] == '\0' &&
	    strtonum(text, 1, CONF_MAX_PARTITIONS, NULL) != 0 ? 0 :
	    err_set(e, "%s is not a number from 1 to %d",
	    conf_show(text).text, CONF_MAX_PARTITIONS);
}

/*
 * Types, routes and templates
 */

int
conf_form_type(const char *text, struct err *e)
{
	return strchr(text, ' ') == NULL ? 0 : err_set(e, "%s has a blank in "
	    "it: is a comma missing? * matches a blank, too",
	    conf_show(text).text);
}

int
conf_form_route(const char *text, struct err *e)
{
	return conf_form_word(text, ROUTE_MAX, CONF_LOWER CONF_DIGITS "_-",
	    "small letters, digits, _ and -", e);
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

const char *
conf_form_placeholder(const char *text, struct err *e)
{
	static const char *const	known[] =
	    { "{event_type}", "{stream_id}", "{partition}", "{topic}" };
	size_t				n = strcspn(text + 1, "{}") + 2;

	if (text[n - 1] != '}') {
		err_set(e, "has a { without its }");
		return NULL;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i]) == n && strncmp(text, known[i], n) == 0)
			return text + n - 1;
	err_set(e, "%.*s is not {event_type}, {stream_id}, {partition} or "
	    "{topic}", n < 40 ? (int)n : 40, text);
	return NULL;
}

int
conf_form_subject(const char *text, struct err *e)
{
	bool	empty = true;		/* the token at s is empty */

	if (strlen(text) > SUBJECT_MAX)
		return err_set(e, "is longer than %d bytes", SUBJECT_MAX);
	for (const char *s = text; ; s++) {
		if (*s == '.' || *s == '\0') {
			if (empty)
				return err_set(e, "%s has an empty token: "
				    "a dot at an end or two in a row",
				    conf_show(text).text);
			if (*s == '\0')
				return 0;
			empty = true;
			continue;
		}
		empty = false;
		if (*s == '{') {
			if ((s = conf_form_placeholder(s, e)) == NULL)
				return -1;
		} else if (*s == ' ')
			return err_set(e, "has a blank in it");
		else if (*s == '*' || *s == '>')
			return err_set(e, "has the wildcard %c in it", *s);
		else if (*s == '}')
			return err_set(e, "has a } without its {");
	}
}

/* One that is for all messages, and not the server's. */
static int
form_own_subject(const char *text, bool inbox, struct err *e)
{
	if (text[strcspn(text, "{}")] != '\0')
		return err_set(e, "%s has a brace in it: only nats.subject "
		    "may have placeholders", conf_show(text).text);
	if (*text == '$' || (!inbox && strncmp(text, "_INBOX.", 7) == 0))
		return err_set(e, "%s is reserved for the server: choose "
		    "another subject", conf_show(text).text);
	return conf_form_subject(text, e);
}

int
conf_form_plain_subject(const char *text, struct err *e)
{
	return form_own_subject(text, false, e);
}

int
conf_form_inbox(const char *text, struct err *e)
{
	if (strlen(text) > INBOX_MAX)
		return err_set(e, "is longer than %d bytes", INBOX_MAX);
	return form_own_subject(text, true, e);
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

/* A pattern here would never match. */
int
conf_form_aliased(const char *text, struct err *e)
{
	return strchr(text, '*') == NULL ? 0 : err_set(e, "* is no wildcard "
	    "here: an alias is for one type");
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

/*
 * NATS
 */

static int
form_name(const char *text, int max, struct err *e)
{
	if (strlen(text) > (size_t)max)
		return err_set(e, "is longer than %d bytes", max);
	if (strpbrk(text, " .*>/\\") != NULL)
		return err_set(e, "%s has a blank, dot, *, > or slash in it",
		    conf_show(text).text);
	return 0;
}

int
conf_form_stream(const char *text, struct err *e)
{
	return form_name(text, STREAM_MAX, e);
}

int
conf_form_domain(const char *text, struct err *e)
{
	return form_name(text, DOMAIN_MAX, e);
}

/* It may be one of the server's own: $JS.hub.API. */
int
conf_form_api_prefix(const char *text, struct err *e)
{
	if (strlen(text) > API_PREFIX_MAX)
		return err_set(e, "is longer than %d bytes", API_PREFIX_MAX);
	if (text[strcspn(text, "{}")] != '\0')
		return err_set(e, "%s has a brace in it",
		    conf_show(text).text);
	return conf_form_subject(text, e);
}

int
conf_form_prefix(const char *text, struct err *e)
{
	if (strlen(text) > PREFIX_MAX)
		return err_set(e, "is longer than %d characters", PREFIX_MAX);
	for (const char *s = text; *s != '\0'; s++)
		if (*s <= ' ' || *s > '~')
			return err_set(e, "%s may only have printable ASCII "
			    "without blanks", conf_show(text).text);
	return 0;
}

/* A seed in the wrong place is not shown. */
int
conf_form_nkey(const char *text, struct err *e)
{
	if (*text == 'S')
		return err_set(e, "is a secret seed: put that into "
		    "nats.nkey_file, and the public key that begins with U "
		    "here");
	if (*text != 'U' || strlen(text) != NKEY_LENGTH ||
	    text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")] != '\0')
		return err_set(e, "is not the public key of a user: U and %d "
		    "more capital letters and digits", NKEY_LENGTH - 1);
	return 0;
}

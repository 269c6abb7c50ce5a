/*
 * conf_form_http.c - the forms of URLs, headers and what else is HTTP's
 *
 * As conf_form.c.  A URL that may have a password in it is not shown.
 */

#include "conf/conf_impl.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include <bsd/string.h>

#define URL_PATH_MAX	255
#define HEADER_MAX	255		/* of a name */
#define KEY_ID_MAX	32

/* The rest of a text after "scheme://"; NULL: it has another start. */
static const char *
after_scheme(const char *text, const char *scheme)
{
	size_t	n = strlen(scheme);

	return strncmp(text, scheme, n) == 0 &&
	    strncmp(text + n, "://", 3) == 0 ? text + n + 3 : NULL;
}

static int
form_url_characters(const char *text, struct err *e)
{
	for (; *text != '\0'; text++) {
		if (*text <= ' ' || *text > '~')
			return err_set(e, "has a blank or a character that is "
			    "not ASCII in it: write it as %%20 or the like");
		if (strchr("?#\\\"<>", *text) != NULL)
			return err_set(e, "has a %c in it", *text);
	}
	return 0;
}

/* HOST[:PORT], and a path if that is allowed. */
static int
form_authority(const char *text, bool path, const char *key, struct err *e)
{
	char	host[300];
	size_t	n = strcspn(text, "/");

	if (strchr(text, '@') != NULL)
		return err_set(e, "has a user or a password in it%s", key);
	if (form_url_characters(text, e) < 0)
		return -1;
	if (n >= sizeof(host))
		return err_set(e, "has a host longer than 255 bytes");
	if (!path && text[n] != '\0')
		return err_set(e, "has a path: write host and port only");
	strlcpy(host, text, n + 1);
	return conf_form_address(host, e);
}

int
conf_form_endpoint(const char *text, struct err *e)
{
	const char	*rest = after_scheme(text, "https");

	if (rest == NULL && (rest = after_scheme(text, "http")) == NULL)
		return err_set(e, "must begin with http:// or https://");
	if (strpbrk(rest, "{}") != NULL)
		return err_set(e, "has a brace in it: only http.path may have "
		    "placeholders");
	return form_authority(rest, true, ": use http.token_file", e);
}

int
conf_form_proxy(const char *text, struct err *e)
{
	const char	*rest = after_scheme(text, "http");

	if (rest == NULL && (rest = after_scheme(text, "socks5")) == NULL)
		return err_set(e, "must begin with http:// or socks5://");
	return form_authority(rest, false, ", which is not supported", e);
}

/* As conf_url_host() has it: an address of IPv6 has no brackets. */
int
conf_form_url_host(const char *text, struct err *e)
{
	struct in6_addr	in6;

	return inet_pton(AF_INET6, text, &in6) == 1 ? 0 :
	    conf_form_host_name(text, e);
}

int
conf_form_url_path(const char *text, struct err *e)
{
	if (strlen(text) > URL_PATH_MAX)
		return err_set(e, "is longer than %d bytes", URL_PATH_MAX);
	if (*text == '/')
		return err_set(e, "%s must not begin with a slash: it is "
		    "added to the endpoint with one", conf_show(text).text);
	if (form_url_characters(text, e) < 0)
		return -1;
	for (const char *s = text; *s != '\0'; s++) {
		if (*s == '}')
			return err_set(e, "has a } without its {");
		if (*s == '{' && (s = conf_form_placeholder(s, e)) == NULL)
			return -1;
	}
	return 0;
}

int
conf_form_key_id(const char *text, struct err *e)
{
	return conf_form_word(text, KEY_ID_MAX, CONF_LETTERS CONF_DIGITS "_-",
	    "letters, digits, _ and -", e);
}

/* Headers that the daemon or its library sets, or that would hold a secret. */
int
conf_form_header(const char *text, struct err *e)
{
	static const char *const	taken[] = { "Content-Type",
		"Content-Length", "Host", "Idempotency-Key", "X-Signature",
		"X-Timestamp", "Transfer-Encoding", "Connection" };

	if (text[strspn(text, CONF_LETTERS CONF_DIGITS "!#$%&'*+-.^_`|~")] != '\0')
		return err_set(e, "is not the name of an HTTP header");
	if (strlen(text) > HEADER_MAX)
		return err_set(e, "is longer than %d bytes", HEADER_MAX);
	if (strcasecmp(text, "Authorization") == 0)
		return err_set(e, "is a secret: use http.token_file or "
		    "http.token_env");
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (strcasecmp(text, taken[i]) == 0)
			return err_set(e, "is set by the daemon");
	return strncasecmp(text, "X-Outbox-", 9) == 0 ?
	    err_set(e, "is set by the daemon, as all X-Outbox-*") : 0;
}

/* A row must not say how its request is read, or speak for the daemon. */
int
conf_form_metadata_header(const char *text, struct err *e)
{
	static const char *const	wire[] = { "Accept-Encoding", "Cookie",
		"Expect", "Keep-Alive", "Proxy", "TE", "Trailer", "Upgrade" };
	static const char *const	families[] = { "Nats-", "Outbox-",
		"Proxy-" };
	char				name[HEADER_MAX + 1];

	if (conf_form_header(text, e) < 0)
		return -1;
	/* CGI and its kin make an underscore and a hyphen the same. */
	strlcpy(name, text, sizeof(name));
	for (char *p = name; *p != '\0'; p++)
		if (*p == '_')
			*p = '-';
	if (conf_form_header(name, e) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(wire) / sizeof(wire[0]); i++)
		if (strcasecmp(name, wire[i]) == 0)
			return err_set(e, "is not for rows to set");
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (strncasecmp(name, families[i], strlen(families[i])) == 0)
			return err_set(e, "is not for rows to set, as all %s*",
			    families[i]);
	return 0;
}

int
conf_form_header_value(const char *text, struct err *e)
{
	if (strcmp(text, CONF_HIDDEN) == 0)
		return err_set(e, "is what a dump shows in place of a secret: "
		    "name a file that has it");
	return conf_form_line(text, e);
}

int
conf_form_line(const char *text, struct err *e)
{
	for (; *text != '\0'; text++)
		if (((unsigned char)*text < ' ' && *text != '\t') ||
		    *text == 0x7f)
			return err_set(e, "has a control character in it");
	return 0;
}

/* As the column content_type, which is sent as it is; not called for "". */
int
conf_form_content_type(const char *text, struct err *e)
{
	size_t	n = strlen(text);

	if (n > HEADER_MAX)
		return err_set(e, "is longer than %d bytes", HEADER_MAX);
	for (const char *p = text; *p != '\0'; p++)
		if (*p < ' ' || *p > '~')
			return err_set(e, "has a character in it that is not "
			    "legal in a header");
	if (text[0] == ' ' || text[n - 1] == ' ' ||
	    text[0] == '/' || strcspn(text, "/;") + 1 >= n ||
	    text[strcspn(text, "/;")] != '/')
		return err_set(e, "%s is no content type, such as text/plain",
		    conf_show(text).text);
	return 0;
}

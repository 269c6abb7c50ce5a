/*
 * http_headers.c - the headers of a request
 *
 * An envelope's values have no line breaks.  Metadata of a row must not become
 * a header that means something to a proxy, the server or us.
 */

#include "http/http_impl.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "util/json_text.h"

static void
add_prefixed(struct request *r, const char *prefix, const char *name,
    const char *value)
{
	buf_clear(&r->line);
	buf_str(&r->line, prefix);
	buf_str(&r->line, name);
	buf_str(&r->line, ": ");
	buf_str(&r->line, value);
	r->headers = curl_slist_append(r->headers, r->line.data);
}

static void
add(struct request *r, const char *name, const char *value)
{
	add_prefixed(r, "", name, value);
}

/*
 * Names that keep their meaning: the daemon's, which metadata cannot have (see
 * envelope_metadata.c), names of tracing and of an envelope, and what the
 * configuration allows.  Proxies and servers obey more names than any list of
 * forbidden ones could have.
 */
static bool
is_plain(const struct http *h, const char *name)
{
	static const char *const	plain[] = { "Content-Type",
		"traceparent", "tracestate", "baggage" };
	const struct conf_list		*allowed;

	if (strncasecmp(name, "Outbox-", 7) == 0 ||
	    strncasecmp(name, "ce-", 3) == 0)
		return true;
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (strcasecmp(name, plain[i]) == 0)
			return true;
	allowed = &h->conf->http.metadata_headers;
	for (size_t i = 0; i < allowed->n; i++)
		if (strcasecmp(name, allowed->items[i]) == 0)
			return true;
	return false;
}

/* CGI makes X_Team and X-Team the same.  A line has a colon behind its name. */
static bool
is_same_name(const char *line, const char *name)
{
	for (; *line != '\0' && *name != '\0'; line++, name++)
		if (tolower((unsigned char)(*line == '_' ? '-' : *line)) !=
		    tolower((unsigned char)(*name == '_' ? '-' : *name)))
			return false;
	return *name == '\0' && (*line == '\0' || *line == ':');
}

static bool
is_fixed(const struct http *h, const char *name)
{
	for (size_t i = 0; i < h->nfixed; i++)
		if (is_same_name(h->fixed[i].name, name))
			return true;
	return false;
}

/* Servers refuse a whole request for a control character. */
static bool
is_clean(const char *value)
{
	for (const char *p = value; *p != '\0'; p++)
		if (((unsigned char)*p < ' ' && *p != '\t') || *p == 0x7f)
			return false;
	return true;
}

static bool
is_named(const char *line, const char *name)
{
	size_t	n = strlen(name);

	return strncasecmp(line, name, n) == 0 && line[n] == ':';
}

/* Of metadata: what is sent twice, and differs in case only, is not read. */
static bool
is_there(const struct request *r, const char *prefix, const char *name)
{
	size_t	n = strlen(prefix);

	for (struct curl_slist *s = r->headers; s != NULL; s = s->next)
		if (strncmp(s->data, prefix, n) == 0 &&
		    is_same_name(s->data + n, name))
			return true;
	return false;
}

void
http_headers_make(struct request *r, const struct envelope *v)
{
	const struct http	*h = r->http;

	curl_slist_free_all(r->headers);
	r->headers = NULL;
	for (size_t i = 0; i < v->nheaders; i++) {
		const char *name = envelope_name(v, i);
		const char *value = envelope_value(v, i);
		bool plain = is_plain(h, name);
		const char *prefix = plain ? "" : "Outbox-Meta-";

		if (strcmp(name, MESSAGE_ID_HEADER) == 0)
			add(r, "Idempotency-Key", value);
		else if (strcmp(name, "Outbox-Key") == 0)
			add(r, "X-Outbox-Key", value);
		else if (is_clean(value) && !is_there(r, prefix, name) &&
		    !(plain && is_fixed(h, name)))
			add_prefixed(r, prefix, name, value);
	}
	if (!is_there(r, "", "Content-Type"))
		add(r, "Content-Type", json_text_is_valid(v->payload.data,
		    v->payload.len) ? "application/json" :
		    h->conf->http.content_type);
	for (size_t i = 0; i < h->nfixed; i++)
		add(r, h->fixed[i].name, h->fixed[i].value);
	if (h->token[0] != '\0') {
		buf_clear(&r->line);
		buf_str(&r->line, "Authorization: Bearer ");
		buf_str(&r->line, h->token);
		r->headers = curl_slist_append(r->headers, r->line.data);
	}
	/* Not to wait for leave to send a long body. */
	r->headers = curl_slist_append(r->headers, "Expect:");
}

static bool
is_of_signature(const struct http *h, const char *line)
{
	(void)h;
	return is_named(line, "X-Timestamp") || is_named(line, "X-Signature") ||
	    is_named(line, "X-Outbox-Signature");
}

static bool
is_secret(const struct http *h, const char *line)
{
	for (size_t i = 0; i < h->nfixed; i++)
		if (is_named(line, h->fixed[i].name))
			return true;
	return is_named(line, "Authorization") || is_of_signature(h, line);
}

static void
take_out(struct request *r, bool (*is_it)(const struct http *, const char *))
{
	struct curl_slist	*kept = NULL;

	for (struct curl_slist *s = r->headers; s != NULL; s = s->next)
		if (!is_it(r->http, s->data))
			kept = curl_slist_append(kept, s->data);
	curl_slist_free_all(r->headers);
	r->headers = kept;
}

void
http_headers_strip(struct request *r)
{
	take_out(r, is_secret);
}

/*
 * The lengths are first, so that no part can be taken for another's.  No text
 * of the first form begins with a letter.
 */
static void
add_second_form(struct request *r, const char *time)
{
	static const char	 name[] = "Idempotency-Key";
	const char		*host = strstr(r->url.data, "://") + 3;
	const char		*path = host + strcspn(host, "/");
	const char		*parts[] = { "", time, "POST",
				    *path == '\0' ? "/" : path };
	struct buf		 text = { 0 }, value = { 0 };
	struct curl_slist	*id = r->headers;

	while (id != NULL && !is_named(id->data, name))
		id = id->next;
	if (id != NULL)
		parts[0] = id->data + strlen(name) + 2;
	buf_str(&text, "v2");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		buf_printf(&text, " %zu", strlen(parts[i]));
	buf_printf(&text, " %zu\n", r->body.len);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		buf_str(&text, parts[i]);
	buf_add(&text, r->body.data, r->body.len);
	http_sign(r->http, &text, &value);
	add(r, "X-Outbox-Signature", value.data);
	buf_free(&text);
	buf_free(&value);
}

void
http_headers_sign(struct request *r, int64_t now)
{
	struct buf	text = { 0 }, value = { 0 };
	char		time[24];

	if (r->http->nkeys == 0 || r->foreign)
		return;
	take_out(r, is_of_signature);
	snprintf(time, sizeof(time), "%" PRId64, now);
	add(r, "X-Timestamp", time);
	/* The first form is over the time, a dot and the body. */
	buf_str(&text, time);
	buf_str(&text, ".");
	buf_add(&text, r->body.data, r->body.len);
	http_sign(r->http, &text, &value);
	add(r, "X-Signature", value.data);
	buf_free(&text);
	buf_free(&value);
	add_second_form(r, time);
}

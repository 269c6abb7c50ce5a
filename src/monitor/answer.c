/* answer.c - the answers to requests, see request.h */

#include "monitor/monitor_impl.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bsd/string.h>

#include "util/xalloc.h"

/* Nothing but our own files is loaded, run, framed or asked. */
static const char policy[] = "default-src 'none'; script-src 'self'; "
    "style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static const struct {
	const char	*name, *value;
} headers[] = {
	{ "Content-Security-Policy", policy },
	{ "X-Content-Type-Options", "nosniff" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Cross-Origin-Opener-Policy", "same-origin" },
	{ "Cache-Control", "no-store" },
};

void
answer_queue_response(struct request *r, unsigned status,
    struct MHD_Response *response)
{
	struct monitor	*m = r->monitor;

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		MHD_add_response_header(response, headers[i].name,
		    headers[i].value);
	wait_forget(r);
	if (r->is_last)
		MHD_add_response_header(response, "Connection", "close");
	if (r->client->phase != CLIENT_STREAMS)
		clients_phase(r->client, CLIENT_READS, m->now);
	MHD_queue_response(r->connection, status, response);
	MHD_destroy_response(response);
}

static struct MHD_Response *
response_of(const char *type, const void *text, size_t len,
    enum MHD_ResponseMemoryMode mode)
{
	/* The library does not change what it is given. */
	struct MHD_Response *response = MHD_create_response_from_buffer(len,
	    (void *)(uintptr_t)text, /* NOLINT(performance-no-int-to-ptr) */
	    mode);

	MHD_add_response_header(response, "Content-Type", type);
	return response;
}

void
answer_shared(struct request *r, unsigned status, const char *type,
    struct shared_text *s)
{
	struct MHD_Response	*response;

	if (s == NULL) {
		/* Who reads slowly has had its time; there will be room. */
		clients_cut_readers(&r->monitor->clients, r->monitor->now);
		answer_error_header(r, MHD_HTTP_SERVICE_UNAVAILABLE,
		    "too much is being read by others", NULL, "Retry-After",
		    "5");
		return;
	}
	response = MHD_create_response_from_buffer_with_free_callback(s->len,
	    s->data, shared_text_release_data);
	MHD_add_response_header(response, "Content-Type", type);
	answer_queue_response(r, status, response);
}

void
answer_question(struct request *r, unsigned status)
{
	struct question	*q = r->question;
	struct monitor	*m = r->monitor;

	/* What was changed must be told. */
	if (q->text == NULL)
		q->text = shared_text_json(q->kind == QUESTION_ACTION ?
		    &m->action_texts : &m->texts, q->result);
	answer_shared(r, status, "application/json", q->text == NULL ? NULL :
	    shared_text_hold(q->text));
}

void
answer_text(struct request *r, unsigned status, const char *type,
    const char *text, size_t len)
{
	answer_shared(r, status, type, shared_text_new(&r->monitor->texts,
	    text, len));
}

void
answer_value(struct request *r, unsigned status, const json_t *v)
{
	answer_shared(r, status, "application/json", shared_text_json(
	    &r->monitor->texts, v));
}

void
answer_static(struct request *r, const char *type, const void *data,
    size_t len)
{
	answer_queue_response(r, MHD_HTTP_OK, response_of(type, data, len,
	    MHD_RESPMEM_PERSISTENT));
}

json_t *
answer_code(unsigned status)
{
	char	code[40];

	strlcpy(code, MHD_get_reason_phrase_for(status), sizeof(code));
	for (char *p = code; *p != '\0'; p++)
		*p = (char)(*p == ' ' ? '_' : tolower((unsigned char)*p));
	return json_string(code);
}

/* Not from the memory for texts: it may be full.  Frees the value. */
static void
answer_document(struct request *r, unsigned status, json_t *v,
    const char *header, const char *value)
{
	char			*text = json_dumps(v, JSON_COMPACT);
	struct MHD_Response	*response = response_of("application/json",
				    text, strlen(text), MHD_RESPMEM_MUST_COPY);

	if (header != NULL)
		MHD_add_response_header(response, header, value);
	answer_queue_response(r, status, response);
	free(text);
	json_decref(v);
}

void
answer_error_header(struct request *r, unsigned status, const char *error,
    const char *remedy, const char *header, const char *value)
{
	answer_document(r, status, json_pack("{s:s, s:o, s:n, s:s?}",
	    "error", error, "code", answer_code(status), "field",
	    "remedy", remedy), header, value);
}

void
answer_error(struct request *r, unsigned status, const char *error,
    const char *remedy)
{
	answer_error_header(r, status, error, remedy, NULL, NULL);
}

bool
answer_misuse(struct request *r, const char *code, const char *field,
    const char *why, ...)
{
	char		text[256];
	struct err	name, error;
	va_list		ap;

	va_start(ap, why);
	vsnprintf(text, sizeof(text), why, ap);
	va_end(ap);
	err_set(&error, "%s", text);
	if (field != NULL) {
		err_set(&name, "%.80s", field);	/* UTF-8 */
		err_in(&error, "%s", name.text);
	}
	answer_document(r, MHD_HTTP_BAD_REQUEST, json_pack("{s:s, s:s, s:s?, "
	    "s:s}", "error", error.text, "code", code, "field", field == NULL ?
	    NULL : name.text, "remedy", "see /openapi.json"), NULL, NULL);
	return false;
}

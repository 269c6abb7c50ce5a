/*
 * message_envelope.c - messages show --payload: a message as it is sent
 *
 * The daemon's own code makes subject and headers, from the columns that a
 * worker reads, so what is shown is what is sent.
 */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctl/messages/messages.h"
#include "driver/envelope.h"
#include "driver/route.h"
#include "util/display.h"
#include "util/printable.h"
#include "util/utf8.h"

/*
 * A payload as text, or as 0x and hex digits; is it text, or NULL?  Text has
 * line breaks and tabs, and no other control character.
 */
static bool
put_payload(struct buf *to, struct bytes b)
{
	bool	text;

	buf_str(to, "");
	if (b.data == NULL)
		return true;
	text = utf8_is_valid(b.data, b.len);
	for (size_t i = 0; text && i < b.len; i++) {
		unsigned char c = (unsigned char)b.data[i];

		text = (c >= ' ' && c != 0x7f) || c == '\n' || c == '\t' ||
		    (c == '\r' && i + 1 < b.len && b.data[i + 1] == '\n');
	}
	if (text)
		buf_add(to, b.data, b.len);
	else
		printable_put_hex(to, b.data, b.len);
	return text;
}

/* Members for programs; rc < 0: the message can never be sent. */
static void
add_members(json_t *o, const struct envelope *v, const struct msg *m, int rc)
{
	json_t		*headers;
	struct buf	 text = { 0 };

	if (rc == 0) {
		headers = json_object();
		for (size_t i = 0; i < v->nheaders; i++)
			json_object_set_new(headers, envelope_name(v, i),
			    json_string(envelope_value(v, i)));
		json_object_set_new(o, "subject", bytes_json(
		    envelope_subject(v), strlen(envelope_subject(v))));
		json_object_set_new(o, "headers", headers);
		member_set(o, "metadata_skipped", (json_int_t)v->skipped);
	}
	json_object_set_new(o, "payload_is_hex",
	    json_boolean(!put_payload(&text,
	    rc == 0 ? v->payload : m->payload)));
	json_object_set_new(o, "payload", json_stringn(text.data, text.len));
	buf_free(&text);
}

/* The same for people: a line ends with a line feed alone. */
static void
put_lines(struct buf *to, struct bytes b)
{
	char	*end;

	put_payload(to, b);
	end = to->data;
	for (const char *p = to->data; *p != '\0'; p++)
		if (*p != '\r')
			*end++ = *p;
	*end = '\0';
}

static void
print_header(const char *name, const char *value)
{
	struct buf	text = { 0 };

	buf_str(&text, "");
	printable_put(&text, value, strlen(value));
	display_print(stdout, "%s: %s\n", name, text.data);
	buf_free(&text);
}

/* The payload as it is; not to a terminal, which might obey it. */
static int
print_raw(struct bytes payload)
{
	struct buf	text = { 0 };

	if (isatty(STDOUT_FILENO) == 1) {
		put_lines(&text, payload);
		display_print(stdout, "%s", text.data);
		buf_free(&text);
		return CTL_DONE;
	}
	if (payload.len > 0 && fwrite(payload.data, payload.len, 1,
	    stdout) != 1)
		return ctl_error("the payload was not written as a whole");
	return fflush(stdout) == 0 ? CTL_DONE :
	    ctl_error("the payload was not written as a whole");
}

static int
print_with_envelope(struct ctl *c, json_t *o, struct msg *m,
    const char *prefix)
{
	struct envelope_form	 form = envelope_form_of(c->conf, prefix);
	struct route_set	 routes;
	const struct route	*route;
	struct envelope		 v = { 0 };
	struct buf		 text = { 0 };
	struct err		 e;
	int			 rc;

	route_set_init(&routes, c->conf, &form);
	route = route_of(&routes, m);
	if (route->rule == NULL && routes.n > 0 &&
	    c->conf->publish.unmatched != UNMATCHED_DEFAULT)
		rc = err_set(&e, "no route of publish.routes matches");
	else
		rc = envelope_fill(&v, route->rule == NULL ? &form :
		    &route->form, m, &e);
	if (rc < 0) {
		utf8_clean(e.text);
		json_object_set_new(o, "cannot_be_sent", json_string(e.text));
	}
	if (c->args.json)
		add_members(o, &v, m, rc);
	print_object(c, json_incref(o));
	if (rc < 0)
		ctl_error("%s: it cannot be sent as it is: %s",
		    c->args.rest[0], e.text);
	else if (!c->args.json) {
		putchar('\n');
		print_header("subject", envelope_subject(&v));
		for (size_t i = 0; i < v.nheaders; i++)
			print_header(envelope_name(&v, i),
			    envelope_value(&v, i));
		put_lines(&text, v.payload);
		display_print(stdout, "\n%s%s", text.data, text.len == 0 ||
		    text.data[strlen(text.data) - 1] == '\n' ? "" : "\n");
	}
	buf_free(&text);
	envelope_free(&v);
	return rc < 0 ? CTL_FAILED : CTL_DONE;
}

int
message_prefix(struct ctl *c, char prefix[STORE_PREFIX], struct err *e)
{
	char	id[STORE_PREFIX] = "";

	if (!store_is_pillar(c->store)) {
		store_sql(c->store,
		    "SELECT outbox_id FROM {settings} WHERE id = 1");
		if (store_query_text(c->store, "show", id, sizeof(id), e) < 0)
			return -1;
	}
	snprintf(prefix, STORE_PREFIX, "%s", conf_id_prefix(c->conf, id));
	return 0;
}

int
message_print_envelope(struct ctl *c, json_t *o)
{
	const char	*state = member_text(o, "state");
	char		 prefix[STORE_PREFIX];
	struct batch	 b = { 0 };
	struct err	 e;
	int		 status;

	if (message_prefix(c, prefix, &e) < 0 || store_peek(c->store,
	    (uint64_t)member_number(o, "sequence"),
	    state != NULL && strcmp(state, "dead") == 0, &b, &e) < 0)
		status = ctl_fail(c, &e);
	else if (b.n == 0)
		status = ctl_refuse("see reconcile", "%s: it has no row in the "
		    "outbox, so it is not sent", c->args.rest[0]);
	else if (!b.msgs[0].has_event)
		status = ctl_error("%s: its event does not exist, so it has no "
		    "payload", c->args.rest[0]);
	else if (c->args.raw)
		status = print_raw(b.msgs[0].payload);
	else
		status = print_with_envelope(c, o, &b.msgs[0], prefix);
	batch_free(&b);
	json_decref(o);
	return status;
}

/*
 * stream_add.c - stream add: create the stream that the configuration names
 *
 * It never changes a stream: other settings of an existing one may be wanted.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/stream/broker.h"
#include "nats/bus.h"
#include "nats/new_stream.h"
#include "util/clock.h"
#include "util/display.h"

struct add {
	struct ctl		*ctl;
	struct pub		 bus;
	struct new_stream	 wanted;
};

/* Print the result; answer: the broker's, or what it would be told. */
static int
report_added(const struct add *a, bool added, const struct buf *answer)
{
	const struct ctl	*c = a->ctl;
	json_t			*findings = broker_verdict(c, answer);
	json_t			*window = span_json(a->wanted.dedup_window_ms);

	if (c->args.json)
		print_object(c, json_pack("{s:i, s:b, s:s, s:[s], s:s, s:I, "
		    "s:I, s:O}", "changed", added, "dry_run", c->args.dry_run,
		    "stream", c->conf->nats.stream, "subjects",
		    a->wanted.subject, "storage", "file", "replicas",
		    (json_int_t)a->wanted.replicas, "duplicate_window_ms",
		    (json_int_t)a->wanted.dedup_window_ms,
		    "findings", findings));
	else {
		display_print(stdout, "stream %s %s: subjects %s, file storage, %lld "
		    "replica%s, duplicate window %s\n", c->conf->nats.stream,
		    !added ? "exists with these settings" :
		    c->args.dry_run ? "would be created" : "created",
		    a->wanted.subject, (long long)a->wanted.replicas,
		    a->wanted.replicas == 1 ? "" : "s",
		    json_string_value(window));
		print_verdict(c, "the stream", findings);
	}
	json_decref(findings);
	json_decref(window);
	return CTL_DONE;
}

static int
add_unless_found(struct add *a)
{
	const char	*name = a->ctl->conf->nats.stream;
	struct buf	 found = { 0 }, made = { 0 };
	struct err	 e;
	char		*body;
	int		 status;

	if ((status = broker_open(a->ctl, &a->bus)) != CTL_DONE ||
	    (status = broker_ask(&a->bus, "INFO", "", &found)) != CTL_DONE)
		return status;
	switch (new_stream_compare(&a->wanted, found.data, found.len, &e)) {
	case NEW_STREAM_ABSENT:
		if (a->ctl->args.dry_run) {
			body = new_stream_body(&a->wanted, name);
			buf_printf(&made, "{\"config\":%s}", body);
			free(body);
		} else {
			status = broker_create(a->ctl, &a->bus, &a->wanted,
			    &made);
		}
		if (status == CTL_DONE)
			status = report_added(a, true, &made);
		break;
	case NEW_STREAM_SAME:
		status = report_added(a, false, &found);
		break;
	case NEW_STREAM_OTHER:
		status = ctl_error("stream %s exists with other settings: %s: "
		    "nothing was changed; change it with your tools for NATS, "
		    "or give these settings as options", name, e.text);
		break;
	case NEW_STREAM_REFUSED:
		status = ctl_error("stream %s: %s", name, e.text);
	}
	buf_free(&found);
	buf_free(&made);
	return status;
}

int
stream_add(struct ctl *c)
{
	struct add	a = { .ctl = c, .wanted = {
			    .dedup_window_ms = c->args.duplicate_window * 1000,
			    .replicas = later(1, c->args.replicas) } };
	struct err	e;
	int		status;

	if ((status = broker_needed(c)) != CTL_DONE)
		return status;
	if (c->conf->nats.stream[0] == '\0')
		return ctl_error("nats.stream is not set, so the stream has "
		    "no name: set it");
	if (new_stream_subject(&a.wanted, c->conf->nats.subject, &e) < 0)
		return ctl_error("%s", e.text);
	status = add_unless_found(&a);
	pub_free(&a.bus);
	return status;
}

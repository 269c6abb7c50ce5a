/* setup_stream.c - the stream: made if it is missing, else judged */

#include <stdlib.h>

#include "ctl/setup/setup.h"
#include "ctl/stream/broker.h"
#include "nats/new_stream.h"

/* Print what a person with other tools, or other rights, has to run. */
static void
print_command(const struct setup *s, const struct new_stream *w)
{
	if (!s->ctl->args.json)
		printf("An administrator of the broker has to run:\n\n"
		    "    nats stream add %s --subjects '%s' --storage file "
		    "--dupe-window %llds --replicas %lld --defaults\n\n",
		    s->ctl->conf->nats.stream, w->subject,
		    (long long)w->dedup_window_ms / 1000,
		    (long long)w->replicas);
}

/* An existing stream may have other settings; can the daemon use it? */
static int
judge(struct setup *s, const struct buf *answer)
{
	json_t	*findings = broker_verdict(s->ctl, answer), *f;
	int	 status = CTL_DONE;
	size_t	 i;

	setup_step(s, "stream", "%s exists", s->ctl->conf->nats.stream);
	json_array_foreach(findings, i, f)
		if (member_text(f, "level")[0] == 'f')
			status = ctl_error("the stream %s",
			    member_text(f, "text"));
		else
			setup_step(s, "stream", "warning: it %s",
			    member_text(f, "text"));
	json_decref(findings);
	return status;
}

static int
create(struct setup *s, const struct new_stream *w)
{
	struct buf	answer = { 0 };
	int		status = broker_create(s->ctl, &s->bus, w, &answer);

	buf_free(&answer);
	if (status != CTL_DONE) {
		print_command(s, w);
		return status;
	}
	setup_step(s, "stream", "%s created, for %s",
	    s->ctl->conf->nats.stream, w->subject);
	return CTL_DONE;
}

static int
look_at(struct setup *s, const struct new_stream *w)
{
	struct buf	answer = { 0 };
	struct err	e;
	int		status = broker_ask(&s->bus, "INFO", "", &answer);

	if (status == CTL_DONE)
		switch (new_stream_compare(w, answer.data, answer.len, &e)) {
		case NEW_STREAM_ABSENT:
			status = create(s, w);
			break;
		case NEW_STREAM_SAME:
		case NEW_STREAM_OTHER:
			status = judge(s, &answer);
			break;
		case NEW_STREAM_REFUSED:
			print_command(s, w);
			status = ctl_error("stream %s: %s",
			    s->ctl->conf->nats.stream, e.text);
		}
	buf_free(&answer);
	return status;
}

bool
setup_has_stream(const struct ctl *c)
{
	return c->conf->publish.driver == DRIVER_NATS && !c->conf->nats.core;
}

int
setup_stream(struct setup *s)
{
	const struct ctl	*c = s->ctl;
	struct new_stream	 w = { .replicas = c->args.replicas,
	    .dedup_window_ms = c->args.duplicate_window * 1000 };
	struct err		 e;
	int			 status;

	if (!setup_has_stream(c))
		return CTL_DONE;
	if ((status = broker_open(c, &s->bus)) != CTL_DONE)
		return status;
	if (c->conf->nats.stream[0] == '\0') {
		setup_step(s, "stream", "nats.stream is not set: whatever "
		    "stream takes the subject is used");
		return CTL_DONE;
	}
	if (new_stream_subject(&w, c->conf->nats.subject, &e) < 0)
		return ctl_error("%s", e.text);
	return look_at(s, &w);
}

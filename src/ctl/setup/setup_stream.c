/* setup_stream.c - the stream: made if it is missing, else judged */

#include <stdio.h>
#include <stdlib.h>

#include "ctl/setup/setup.h"
#include "ctl/stream/broker.h"
#include "nats/new_stream.h"
#include "util/clock.h"
#include "util/display.h"

#define BY_OTHERS	"An administrator of the broker has to run"

/* Print what a person with other tools, or other rights, has to run. */
static void
print_command(const struct setup *s, const struct new_stream *w,
    const char *intro)
{
	const struct conf	*c = s->ctl->conf;
	struct buf		 stream = { 0 }, subject = { 0 }, where = { 0 };

	if (s->ctl->args.json)
		return;
	buf_str(&where, "");
	if (c->nats.domain[0] != '\0') {
		buf_str(&where, " --js-domain ");
		display_put_word(&where, c->nats.domain);
	} else if (c->nats.api_prefix[0] != '\0') {
		buf_str(&where, " --js-api-prefix ");
		display_put_word(&where, c->nats.api_prefix);
	}
	display_put_word(&stream, c->nats.stream);
	display_put_word(&subject, w->subject);
	display_print(stdout, "%s:\n\n    nats stream add %s --subjects %s "
	    "--storage file --dupe-window %llds --replicas %lld --defaults"
	    "%s\n\n", intro, stream.data, subject.data,
	    (long long)w->dedup_window_ms / 1000, (long long)w->replicas,
	    where.data);
	buf_free(&where);
	buf_free(&stream);
	buf_free(&subject);
	fflush(stdout);
}

static int
look_at(struct setup *s, const struct new_stream *w)
{
	const char	*name = s->ctl->conf->nats.stream;
	struct buf	 found = { 0 }, made = { 0 };
	json_t		*findings;
	struct err	 e;
	int		 status = broker_ask(&s->bus, "INFO", "", &found);

	if (status != CTL_DONE) {
		buf_free(&found);
		return status;
	}
	switch (new_stream_compare(w, found.data, found.len, &e)) {
	case NEW_STREAM_ABSENT:
		status = broker_create(s->ctl, &s->bus, w, &made);
		buf_free(&made);
		/* A broker that has refused would refuse others, too. */
		if (status == CTL_UNREACHABLE)
			print_command(s, w, BY_OTHERS);
		if (status == CTL_DONE)
			setup_step(s, "stream", "%s created, for %s", name,
			    w->subject);
		break;
	case NEW_STREAM_SAME:
	case NEW_STREAM_OTHER:
		findings = broker_verdict(s->ctl, &found);
		status = setup_judge(s, "stream", name, findings);
		json_decref(findings);
		break;
	case NEW_STREAM_REFUSED:
		print_command(s, w, BY_OTHERS);
		status = ctl_error("stream %s: %s", name, e.text);
	}
	buf_free(&found);
	return status;
}

/* The stream that the options and the configuration ask for. */
static int
choose(const struct ctl *c, struct new_stream *w)
{
	struct err	e;

	*w = (struct new_stream){ .replicas = later(1, c->args.replicas),
	    .dedup_window_ms = c->args.duplicate_window * 1000 };
	return new_stream_subject(w, c->conf->nats.subject, &e) == 0 ?
	    CTL_DONE : ctl_error("%s", e.text);
}

int
setup_print_stream(struct setup *s)
{
	const struct ctl	*c = s->ctl;
	struct new_stream	 w;
	int			 status;

	if (!conf_goes_to_stream(c->conf) || c->conf->nats.stream[0] == '\0')
		return CTL_DONE;
	if ((status = choose(c, &w)) != CTL_DONE)
		return status;
	print_command(s, &w, "If the stream is missing, setup creates it as "
	    "this does");
	if (c->args.json)
		setup_step(s, "stream", "%s would be created if it is missing, "
		    "for %s", c->conf->nats.stream, w.subject);
	return CTL_DONE;
}

int
setup_stream(struct setup *s)
{
	const struct ctl	*c = s->ctl;
	struct new_stream	 w;
	int			 status;

	if (!conf_goes_to_stream(c->conf))
		return CTL_DONE;
	if ((status = broker_open(c, &s->bus)) != CTL_DONE)
		return status;
	if (c->conf->nats.stream[0] == '\0') {
		setup_step(s, "stream", "nats.stream is not set: whatever "
		    "stream takes the subject is used");
		return CTL_DONE;
	}
	status = choose(c, &w);
	return status == CTL_DONE ? look_at(s, &w) : status;
}

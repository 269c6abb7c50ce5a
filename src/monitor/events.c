/*
 * events.c - streams of events (server-sent events), see monitor_impl.h
 *
 * Each new state is an event.  A client that reads slowly gets the newest one
 * when it has read the one before, so nothing piles up for it.
 */

#include "monitor/monitor_impl.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "util/clock.h"
#include "util/xalloc.h"

#define COMMENT_MS	10000	/* shows a client that the line works */
#define END_MS		100	/* for the ends of all streams */
#define PIECE		(32 * 1024)

struct stream {
	struct monitor		*monitor;
	struct MHD_Connection	*connection;
	struct stream		*next;
	uint64_t		 version;	/* of the state it has */
	int64_t			 sent_at;	/* clock_ms() */
	bool			 suspended;
	struct buf		 event;		/* being sent */
	size_t			 sent;		/* of it */
};

static void
write_event(struct buf *b, const struct snapshot *s)
{
	char	*text = json_dumps(s->document, JSON_COMPACT);

	buf_printf(b, "event: status\nid: %llu\ndata: ",
	    (unsigned long long)s->version);
	buf_str(b, text);
	buf_str(b, "\n\n");
	free(text);
}

/* Is there a state that it has not?  A new stream gets none of long ago. */
static bool
has_news(const struct stream *s, int64_t now)
{
	const struct snapshot	*state = &s->monitor->questions.state;

	return state->version != s->version &&
	    snapshot_is_fresh(state, now, SNAPSHOT_OLD_MS);
}

/* What is due for it; false: nothing. */
static bool
next_event(struct stream *s, int64_t now)
{
	const struct snapshot	*state = &s->monitor->questions.state;
	bool			 is_new = has_news(s, now);

	if (!is_new && now - s->sent_at < COMMENT_MS)
		return false;
	buf_clear(&s->event);
	s->sent = 0;
	if (is_new)
		write_event(&s->event, state);
	else
		buf_str(&s->event, ": no news\n\n");
	if (is_new)
		s->version = state->version;
	s->sent_at = now;
	return true;
}

/* Called by the library when the client can take more. */
static ssize_t
read_stream(void *arg, uint64_t position, char *to, size_t max)
{
	struct stream	*s = arg;
	size_t		 n;

	(void)position;
	if (s->monitor->is_ending && s->sent == s->event.len)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (s->sent == s->event.len && !next_event(s, clock_ms())) {
		s->suspended = true;
		MHD_suspend_connection(s->connection);
		return 0;
	}
	n = s->event.len - s->sent < max ? s->event.len - s->sent : max;
	memcpy(to, s->event.data + s->sent, n);
	s->sent += n;
	return (ssize_t)n;
}

static void
free_stream(void *arg)
{
	struct stream	*s = arg;

	for (struct stream **at = &s->monitor->streams; *at != NULL;
	    at = &(*at)->next)
		if (*at == s) {
			*at = s->next;
			break;
		}
	buf_free(&s->event);
	free(s);
}

void
events_begin(struct request *r)
{
	struct monitor		*m = r->monitor;
	struct stream		*s;
	struct MHD_Response	*response;

	if (m->clients.nstreams >= EVENTS_MAX) {
		answer_error_header(r, MHD_HTTP_SERVICE_UNAVAILABLE, "too many "
		    "clients read events", NULL, "Retry-After", "10");
		return;
	}
	s = xcalloc(1, sizeof(*s));
	*s = (struct stream){ .monitor = m, .connection = r->connection,
	    .next = m->streams, .sent_at = m->now };
	buf_str(&s->event, "retry: 2000\n\n");
	m->streams = s;
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE,
	    read_stream, s, free_stream);
	MHD_add_response_header(response, "Content-Type", "text/event-stream");
	clients_phase(&m->clients, r->client, CLIENT_STREAMS, m->now);
	answer_queue_response(r, MHD_HTTP_OK, response);
}

static bool
is_due(const struct stream *s)
{
	return has_news(s, s->monitor->now) ||
	    s->monitor->now - s->sent_at >= COMMENT_MS;
}

/* Ask for the next state, and let nobody wait for it. */
static void
ask_state(struct monitor *m)
{
	struct question	*q = question_ask(&m->questions, QUESTION_STATE,
			    json_pack("[s]", "status"), m->now);

	if (q != NULL)
		question_release(q);
}

static void
resume(struct stream *s)
{
	if (s->suspended) {
		s->suspended = false;
		MHD_resume_connection(s->connection);
	}
}

int64_t
events_turn(struct monitor *m)
{
	const struct snapshot	*state = &m->questions.state;

	if (m->streams == NULL)
		return INT64_MAX;
	if (!snapshot_is_fresh(state, m->now, QUESTION_FRESH_MS) &&
	    m->now - state->failed_at >= QUESTION_FRESH_MS)
		ask_state(m);
	for (struct stream *s = m->streams; s != NULL; s = s->next)
		if (is_due(s))
			resume(s);
	return m->now + QUESTION_FRESH_MS;
}

void
events_end(struct monitor *m)
{
	int64_t	until = clock_ms() + END_MS;

	m->is_ending = true;
	for (struct stream *s = m->streams; s != NULL; s = s->next)
		resume(s);
	while (m->streams != NULL && clock_ms() < until) {
		MHD_run(m->http);
		poll(NULL, 0, 1);
	}
}

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
	struct client		*client;
	bool			 has_token, gives_way;
	uint64_t		 version;	/* of the state it has */
	int64_t			 sent_at;	/* clock_ms() */
	bool			 suspended;
	struct shared_text	*event;		/* being sent; NULL: none */
	size_t			 sent;		/* bytes of event */
};

/* The state as an event, the same for all; NULL: there is no room for it. */
static struct shared_text *
event_of(struct monitor *m)
{
	struct snapshot	*s = &m->questions.state;
	struct buf	 b = { 0 };
	char		*text;

	if (s->event != NULL)
		return s->event;
	text = json_dumps(s->document, JSON_COMPACT);
	buf_printf(&b, "event: status\nid: %llu\ndata: ",
	    (unsigned long long)s->version);
	buf_str(&b, text);
	buf_str(&b, "\n\n");
	s->event = shared_text_new(&m->state_texts, b.data, b.len);
	buf_free(&b);
	free(text);
	return s->event;
}

static void
begin_event(struct stream *s, struct shared_text *event)
{
	shared_text_release(s->event);
	s->event = event;
	s->sent = 0;
}

static void
begin_line(struct stream *s, const char *line)
{
	begin_event(s, shared_text_new(&s->monitor->state_texts, line,
	    strlen(line)));
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
	struct shared_text	*event = has_news(s, now) ?
				    event_of(s->monitor) : NULL;

	/* If there was no room for it, the next one is tried. */
	s->version = s->monitor->questions.state.version;
	if (event == NULL && now - s->sent_at < COMMENT_MS)
		return false;
	if (event != NULL)
		begin_event(s, shared_text_hold(event));
	else
		begin_line(s, ": no news\n\n");
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
	if ((s->monitor->is_ending || s->gives_way) &&
	    s->sent == s->event->len)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (s->sent == s->event->len && !next_event(s, clock_ms())) {
		s->suspended = true;
		MHD_suspend_connection(s->connection);
		return 0;
	}
	n = s->event->len - s->sent < max ? s->event->len - s->sent : max;
	memcpy(to, s->event->data + s->sent, n);
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
	shared_text_release(s->event);
	free(s);
}

static void
resume(struct stream *s)
{
	if (s->suspended) {
		s->suspended = false;
		MHD_resume_connection(s->connection);
	}
}

/* Its client sees the end of the connection. */
static void
give_way(struct stream *s)
{
	s->gives_way = true;
	clients_cut(s->client);
	resume(s);
}

/*
 * Is there room for one more stream, or does another one give way?  Clients
 * without the token share EVENTS_ANYONE streams: when these are in use, the
 * oldest one makes room for the next client.  So nobody can keep others out, and
 * the page whose stream has ended connects again.
 */
static bool
make_room(struct monitor *m, bool has_token)
{
	int64_t		 before = has_token ? m->now : m->now - EVENTS_TURN_MS;
	size_t		 n = 0, anyone = 0;
	struct stream	*oldest = NULL;

	for (const struct stream *s = m->streams; s != NULL; s = s->next) {
		n += !s->gives_way;
		anyone += !s->gives_way && !s->has_token;
	}
	if (n < EVENTS_MAX && (has_token || m->people.n == 0 ||
	    anyone < EVENTS_ANYONE))
		return true;
	for (struct stream *s = m->streams; s != NULL; s = s->next)
		if (!s->has_token && !s->gives_way && s->client->since <= before)
			oldest = s;
	if (oldest == NULL)
		return false;
	give_way(oldest);
	return true;
}

void
events_forget(struct monitor *m, const struct client *c)
{
	for (struct stream *s = m->streams; s != NULL; s = s->next)
		if (s->client == c)
			s->gives_way = true;
}

void
events_begin(struct request *r)
{
	struct monitor		*m = r->monitor;
	struct stream		*s;
	struct MHD_Response	*response;

	if (!make_room(m, r->is_known)) {
		answer_error_header(r, MHD_HTTP_SERVICE_UNAVAILABLE, "too many "
		    "clients read events", NULL, "Retry-After", "10");
		return;
	}
	s = xcalloc(1, sizeof(*s));
	*s = (struct stream){ .monitor = m, .connection = r->connection,
	    .client = r->client, .has_token = r->is_known,
	    .next = m->streams, .sent_at = m->now };
	begin_line(s, "retry: 2000\n\n");
	m->streams = s;
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE,
	    read_stream, s, free_stream);
	MHD_add_response_header(response, "Content-Type", "text/event-stream");
	clients_phase(r->client, CLIENT_STREAMS, m->now);
	answer_queue_response(r, MHD_HTTP_OK, response);
}

int64_t
events_turn(struct monitor *m)
{
	const struct snapshot	*state = &m->questions.state;

	if (m->streams == NULL)
		return INT64_MAX;
	if (!snapshot_is_fresh(state, m->now, QUESTION_FRESH_MS) &&
	    m->now - state->failed_at >= QUESTION_FRESH_MS) {
		struct question	*q = question_ask(&m->questions,
				    QUESTION_STATE, json_pack("[s]", "status"),
				    m->now);

		/* Nobody waits for it: it will be the snapshot. */
		if (q != NULL)
			question_release(q);
	}
	for (struct stream *s = m->streams; s != NULL; s = s->next)
		if (has_news(s, m->now) || m->now - s->sent_at >= COMMENT_MS)
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

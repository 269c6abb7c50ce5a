/*
 * bus_loop.c - reading and writing, in our own loop
 *
 * The library's event-loop callbacks give us the descriptor and tell whether
 * it wants to write.  With SendAsap it asks at once, instead of waking its
 * flusher, and we write once per round.
 */

#include "nats/bus_impl.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "util/clock.h"
#include "util/fault.h"
#include "util/sig.h"

#define HANG_UP_READS		100

natsStatus
bus_on_attach(void **user, void *loop, natsConnection *nc, natsSock fd)
{
	struct bus	*b = loop;

	(void)nc;
	*user = b;
	b->fd = fd;
	b->want_read = true;
	return NATS_OK;
}

natsStatus
bus_on_read(void *user, bool add)
{
	((struct bus *)user)->want_read = add;
	return NATS_OK;
}

natsStatus
bus_on_write(void *user, bool add)
{
	((struct bus *)user)->want_write = add;
	return NATS_OK;
}

/*
 * Changes nothing: bus_close() forgets the descriptor.  A thread of the library
 * that finds a connection stale calls this after it has closed it, and there
 * may be a new connection by then.
 */
natsStatus
bus_on_detach(void *user)
{
	(void)user;
	return NATS_OK;
}

static bool
names_subject(const char *text, const char *what, const char *subject)
{
	char	quoted[CONF_API + 20];

	snprintf(quoted, sizeof(quoted), "%s to \"%s\"", what, subject);
	return strstr(text, quoted) != NULL;
}

/* A missing permission for another subject does not concern messages. */
static enum pub_about
about(const struct bus *b, const char *text)
{
	char	api[CONF_API], quoted[CONF_API + 20];

	snprintf(quoted, sizeof(quoted), "Publish to \"%s",
	    conf_api(b->conf, "", "", api));
	if (strstr(text, quoted) != NULL)
		return PUB_FORBIDDEN;
	if (names_subject(text, "Subscription", b->conf->wake.subject))
		return PUB_WAKE;
	return names_subject(text, "Publish", b->conf->nats.advisory) ?
	    PUB_TOLD : PUB_MESSAGES;
}

void
bus_note_complaint(struct bus *b, enum pub_about about, const char *text)
{
	pthread_mutex_lock(&b->lock);
	snprintf(b->complaints[about], sizeof(b->complaints[about]), "%s",
	    text);
	pthread_mutex_unlock(&b->lock);
}

bool
bus_is_forbidden(struct bus *b, const char *subject)
{
	bool	is;

	pthread_mutex_lock(&b->lock);
	is = names_subject(b->complaints[PUB_FORBIDDEN], "Publish", subject);
	pthread_mutex_unlock(&b->lock);
	return is;
}

void
bus_on_error(natsConnection *nc, natsSubscription *sub, natsStatus s, void *arg)
{
	struct bus	*b = arg;
	const char	*text = NULL;
	char		 inbox[CONF_API + 20];

	(void)sub;
	natsConnection_GetLastError(nc, &text);
	if (text == NULL || text[0] == '\0')
		text = natsStatus_GetText(s);
	snprintf(inbox, sizeof(inbox), "Subscription to \"%s.",
	    b->conf->nats.inbox_prefix);
	bus_note_complaint(b, about(b, text), text);
	b->deaf = b->deaf || strstr(text, inbox) != NULL;
}

enum error_class
bus_complaint(void *arg, enum pub_about about, struct err *e)
{
	struct bus		*b = arg;
	char			*complaint = b->complaints[about];
	enum error_class	 class = CLASS_NONE;

	pthread_mutex_lock(&b->lock);
	if (complaint[0] != '\0') {
		class = nats_verdict_class_of_complaint(complaint);
		err_set(e, "%s", complaint);
	}
	complaint[0] = '\0';
	pthread_mutex_unlock(&b->lock);
	return class;
}

bool
bus_is_open(void *arg)
{
	struct bus	*b = arg;

	return b->nc != NULL && !natsConnection_IsClosed(b->nc);
}

/*
 * Ends the connection and drops the library's buffer.  The library's close
 * would wait 0.5 s for a PONG that only our loop could read.
 */
void
bus_hang_up(struct bus *b)
{
	if (bus_is_open(b))
		shutdown(b->fd, SHUT_RDWR);
	/* Read the data that has arrived, then the end of file. */
	for (int i = 0; i < HANG_UP_READS && bus_is_open(b); i++)
		natsConnection_ProcessReadEvent(b->nc);
}

/*
 * The only place that writes to an open connection.  A message in the buffer
 * may be too late: if the machine stood still or the server did not read, its
 * claim may have expired, and another worker may have sent it and later ones.
 * The library cannot take it back, so the connection is closed.  The deadline
 * holds until the buffer is empty, also between two batches.
 */
static void
write_out(struct bus *b)
{
	if (clock_ms() >= b->write_until &&
	    natsConnection_Buffered(b->nc) > 0) {
		bus_note_complaint(b, PUB_MESSAGES, "the time to send was over "
		    "before all messages were written (the machine stood "
		    "still, or the broker did not read): connection closed, "
		    "so that none is sent after its claim has ended");
		bus_hang_up(b);
		return;
	}
	natsConnection_ProcessWriteEvent(b->nc);
	if (natsConnection_Buffered(b->nc) == 0)
		b->write_until = INT64_MAX;
}

void
bus_flush(struct bus *b)
{
	if (b->nc == NULL || !b->want_write)
		return;
	fault_point("flush", "before", b->fd);
	write_out(b);
	fault_point("flush", "after", b->fd);
}

/* With nats.core these messages are delivered. */
bool
bus_core_is_written(const struct bus *b)
{
	return answer_queue_has(&b->core) && b->nc != NULL &&
	    natsConnection_Buffered(b->nc) == 0;
}

void
bus_prepare(void *arg, struct pub_polls *p)
{
	struct bus	*b = arg;

	if (!bus_is_open(b))
		return;
	bus_flush(b);
	if (bus_core_is_written(b))
		p->timeout_ms = 0;
	if (bus_is_open(b))
		pub_watch(p, b->fd, (short)((b->want_read ? POLLIN : 0) |
		    (b->want_write ? POLLOUT : 0)));
	else	/* lost just now */
		p->timeout_ms = 0;
	b->wait_at = clock_ms();
	b->wait_ms = p->timeout_ms;
}

/* A wait is not longer than it was to be, also if the machine stood still. */
static void
note_silence(struct bus *b)
{
	b->silent_ms += sooner(clock_ms() - b->wait_at, b->wait_ms);
	if (b->silent_ms < BUS_SILENT_MS)
		return;
	b->failed_at[b->server] = clock_ms();
	bus_note_complaint(b, PUB_MESSAGES, "the server is silent, and does "
	    "not answer a PING: connection closed");
	bus_hang_up(b);
}

void
bus_proceed(void *arg, const struct pollfd *fds, size_t n)
{
	struct bus	*b = arg;
	const char	*text = NULL;

	if (n == 0)
		return;
	if (fds->revents & POLLOUT)
		write_out(b);
	if (fds->revents & (POLLIN | POLLHUP | POLLERR)) {
		b->silent_ms = 0;
		natsConnection_ProcessReadEvent(b->nc);
	} else if ((fds->revents & POLLOUT) && natsConnection_Buffered(b->nc) > 0)
		b->silent_ms = 0;	/* it reads, if slowly */
	else
		note_silence(b);
	/*
	 * The server has taken the subscription away, and a permission that
	 * comes back does not bring it back.
	 */
	if (b->deaf)
		bus_hang_up(b);
	/* The server tells why it closes: a message was too long. */
	if (!bus_is_open(b))
		natsConnection_GetLastError(b->nc, &text);
	if (text != NULL && strcasestr(text, "maximum payload") != NULL) {
		b->too_long = true;
		bus_note_complaint(b, PUB_MESSAGES, text);
	}
	bus_wake_read(b);
}

void
bus_wait(struct bus *b, int64_t timeout_ms)
{
	struct pub	p = { b->ops, b };

	pub_wait(&p, 1, -1, timeout_ms);
}

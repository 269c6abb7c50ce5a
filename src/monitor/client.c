/* client.c - see client.h */

#include "monitor/client.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "util/xalloc.h"

/* The library sees the end of the connection, and closes it. */
void
clients_cut(struct client *c)
{
	c->cut = true;
	shutdown(c->fd, SHUT_RDWR);
}

/* NULL: there is none, or it has just begun this phase. */
static struct client *
oldest_of(const struct clients *t, enum client_phase phase, int64_t now)
{
	struct client	*oldest = NULL;

	for (size_t i = 0; i < t->n; i++) {
		struct client	*c = t->list[i];

		if (c->phase == phase && !c->cut &&
		    (oldest == NULL || c->since < oldest->since))
			oldest = c;
	}
	return oldest != NULL && now - oldest->since >= CLIENT_GRACE_MS ?
	    oldest : NULL;
}

bool
clients_are_full(const struct clients *t)
{
	return t->n == CLIENTS_MAX + CLIENTS_SPARE;
}

void
clients_make_room(struct clients *t, int64_t now)
{
	struct client	*victim;
	size_t		 n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += !t->list[i]->cut;
	for (; n >= CLIENTS_MAX; n--) {
		victim = oldest_of(t, CLIENT_SENDS, now);
		if (victim == NULL)
			victim = oldest_of(t, CLIENT_READS, now);
		if (victim == NULL)
			break;
		clients_cut(victim);
	}
}

void
client_name(const struct client *c, char to[CLIENT_NAME_SIZE])
{
	struct sockaddr_storage	sa = { 0 };
	struct ucred		who;
	socklen_t		size = sizeof(who), len = sizeof(sa);
	char			host[INET6_ADDRSTRLEN], port[8];

	if (c->is_local && getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &who,
	    &size) == 0)
		snprintf(to, CLIENT_NAME_SIZE, "user %u, process %d",
		    (unsigned)who.uid, (int)who.pid);
	else if (!c->is_local &&
	    getpeername(c->fd, (struct sockaddr *)&sa, &len) == 0 &&
	    getnameinfo((struct sockaddr *)&sa, len, host, sizeof(host), port,
	    sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) == 0)
		snprintf(to, CLIENT_NAME_SIZE, sa.ss_family == AF_INET6 ?
		    "[%s]:%s" : "%s:%s", host, port);
	else
		snprintf(to, CLIENT_NAME_SIZE, "gone already");
}

/* An address as IPv6 has it, where those of IPv4 are ::ffff:10.0.0.7. */
static bool
to_in6(const char *text, struct in6_addr *to)
{
	char	mapped[INET6_ADDRSTRLEN];

	if (strchr(text, ':') != NULL)
		return inet_pton(AF_INET6, text, to) == 1;
	snprintf(mapped, sizeof(mapped), "::ffff:%s", text);
	return inet_pton(AF_INET6, mapped, to) == 1;
}

bool
client_is(const struct client *c, const char *who)
{
	struct sockaddr_storage	sa = { 0 };
	struct ucred		peer;
	struct in6_addr		is, wanted;
	socklen_t		size = sizeof(peer), len = sizeof(sa);
	char			text[INET6_ADDRSTRLEN];

	if (c->is_local) {
		if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
			return false;
		snprintf(text, sizeof(text), "uid:%u", (unsigned)peer.uid);
		return strcmp(text, who) == 0;
	}
	return getpeername(c->fd, (struct sockaddr *)&sa, &len) == 0 &&
	    getnameinfo((struct sockaddr *)&sa, len, text, sizeof(text), NULL,
	    0, NI_NUMERICHOST) == 0 && to_in6(text, &is) &&
	    to_in6(who, &wanted) && memcmp(&is, &wanted, sizeof(is)) == 0;
}

struct client *
clients_add(struct clients *t, int fd, bool is_local, int64_t now)
{
	struct client	*c;

	if (clients_are_full(t))
		return NULL;
	c = xcalloc(1, sizeof(*c));
	*c = (struct client){ .fd = fd, .is_local = is_local, .since = now };
	t->list[t->n++] = c;
	return c;
}

void
clients_remove(struct clients *t, struct client *c)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->list[i] == c) {
			t->list[i] = t->list[--t->n];
			break;
		}
	free(c);
}

void
clients_phase(struct client *c, enum client_phase phase, int64_t now)
{
	c->phase = phase;
	c->since = now;
}

void
clients_cut_readers(struct clients *t, int64_t now)
{
	for (size_t i = 0; i < t->n; i++) {
		struct client	*c = t->list[i];

		if (c->phase == CLIENT_READS && !c->cut &&
		    now - c->since >= CLIENT_PRESSED_MS)
			clients_cut(c);
	}
}

int64_t
clients_check(struct clients *t, int64_t now)
{
	int64_t	next = INT64_MAX;

	for (size_t i = 0; i < t->n; i++) {
		struct client	*c = t->list[i];
		int64_t		 at;

		if (c->cut || c->phase == CLIENT_WAITS ||
		    c->phase == CLIENT_STREAMS)
			continue;
		at = c->since + (c->phase == CLIENT_SENDS ?
		    CLIENT_REQUEST_MS : CLIENT_ANSWER_MS);
		if (at <= now)
			clients_cut(c);
		else if (at < next)
			next = at;
	}
	return next;
}

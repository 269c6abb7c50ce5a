/*
 * server.c - the HTTP server: libmicrohttpd, driven by the loop in monitor.c
 *
 * The library reads requests and writes answers; which clients may connect, and
 * for how long, is decided in client.c.
 */

#include "monitor/monitor_impl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/log.h"
#include "util/xalloc.h"

#define ACCEPT_MAX	(CLIENTS_SPARE / NDOORS)	/* at a door, in one turn:
					   for so many there is room */
#define ROOM_MS		20		/* until there may be room again */
#define READ_TIMEOUT_S	60		/* of the library; ours are shorter */

/* --- a request -------------------------------------------------------------- */

static enum MHD_Result
take_parameter(void *arg, enum MHD_ValueKind kind, const char *name,
    size_t name_len, const char *value, size_t len)
{
	struct request	*r = arg;

	(void)kind;
	if (value == NULL)
		value = "";
	/* One that does not fit, or has a NUL in it, makes the query wrong. */
	if (r->nquery == REQUEST_QUERY_MAX || strlen(name) != name_len ||
	    strlen(value) != len) {
		r->bad_query = true;
		return MHD_NO;
	}
	r->names[r->nquery] = name;
	r->values[r->nquery++] = value;
	return MHD_YES;
}

static const char *
header(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/*
 * It has been compared, or handed over.  The library keeps the request, and
 * hostile code that runs here later must find no token in it.
 */
static void
forget_token(struct request *r)
{
	if (r->token != NULL)
		explicit_bzero((void *)(uintptr_t)r->token, /* NOLINT */
		    strlen(r->token));
	r->token = NULL;
}

/* Called with the headers, then with each piece of the body, then at its end,
   and once more after a request has waited. */
static enum MHD_Result
on_request(void *arg, struct MHD_Connection *c, const char *url,
    const char *method, const char *version, const char *data, size_t *len,
    void **context)
{
	struct monitor	*m = arg;
	struct request	*r = *context;
	struct client	*client;

	if (r == NULL) {
		client = MHD_get_connection_info(c,
		    MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
		*context = r = xcalloc(1, sizeof(*r));
		*r = (struct request){ .monitor = m, .connection = c,
		    .client = client, .is_local = client->is_local,
		    .method = method, .path = url, .host = header(c, "Host"),
		    .origin = header(c, "Origin"),
		    .site = header(c, "Sec-Fetch-Site"),
		    .type = header(c, "Content-Type"),
		    .token = header(c, "Authorization"),
		    .user = header(c, m->a->conf->monitor.user_header) };
		MHD_get_connection_values_n(c, MHD_GET_ARGUMENT_KIND,
		    take_parameter, r);
		(void)framing_is_clear(r, version);
		return MHD_YES;
	}
	if (*len > 0) {
		if (r->body.len + *len > REQUEST_BODY_MAX)
			r->too_long = true;
		else
			buf_add(&r->body, data, *len);
		*len = 0;
		return MHD_YES;
	}
	if (r->again) {
		r->again = false;
		r->answer(r);
		return MHD_YES;
	}
	/* All of it is here. */
	clients_phase(r->client, CLIENT_WAITS, r->monitor->now);
	if (r->too_long)
		answer_error(r, MHD_HTTP_CONTENT_TOO_LARGE, "the body is "
		    "too long", NULL);
	else if (r->bad_query)
		answer_error(r, MHD_HTTP_BAD_REQUEST, "too many parameters, or "
		    "a NUL in one", NULL);
	else if (guard_admits(r))
		paths_route(r);
	forget_token(r);
	return MHD_YES;
}

static void
on_completed(void *arg, struct MHD_Connection *c, void **context,
    enum MHD_RequestTerminationCode why)
{
	struct monitor	*m = arg;
	struct request	*r = *context;

	(void)c;
	(void)why;
	if (r == NULL)
		return;
	wait_forget(r);
	forget_token(r);
	events_forget(m, r->client);
	clients_phase(r->client, CLIENT_SENDS, m->now);
	buf_free(&r->body);
	free(r);
	*context = NULL;
}

/* --- a connection ----------------------------------------------------------- */

static void
on_connection(void *arg, struct MHD_Connection *c, void **context,
    enum MHD_ConnectionNotificationCode code)
{
	struct monitor	*m = arg;
	int		 fd, domain = AF_UNSPEC;
	socklen_t	 len = sizeof(domain);
	bool		 is_unix;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		clients_remove(&m->clients, *context);
		return;
	}
	fd = MHD_get_connection_info(c,
	    MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	/* The library may tell of a client at any time: the socket is asked. */
	is_unix = getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
	    domain == AF_UNIX;
	*context = clients_add(&m->clients, fd, is_unix, m->now);
}

/* The library wants an address; nothing depends on it. */
void
server_add(struct monitor *m, int fd)
{
	struct sockaddr_in	nowhere = { .sin_family = AF_INET };

	MHD_add_connection(m->http, fd, (const struct sockaddr *)&nowhere,
	    sizeof(nowhere));
}

/* False: there is no room for the next one. */
static bool
accept_clients(struct monitor *m, int door)
{
	int	fd;

	for (int n = 0; n < ACCEPT_MAX; n++) {
		if (clients_are_full(&m->clients)) {
			clients_make_room(&m->clients, m->now);
			return false;
		}
		/* Without a descriptor for it, it waits at the door. */
		if ((fd = door_accept(&m->a->doors[door])) < 0)
			return errno != EMFILE && errno != ENFILE;
		clients_make_room(&m->clients, m->now);
		server_add(m, fd);
	}
	return true;
}

int64_t
server_accept(struct monitor *m)
{
	m->is_full = false;
	for (int i = 0; i < NDOORS; i++)
		m->is_full = !accept_clients(m, i) || m->is_full;
	return m->is_full ? m->now + ROOM_MS : INT64_MAX;
}

/* What the library complains of, is what clients have sent. */
static void
on_log(void *arg, const char *format, va_list ap)
{
	(void)arg;
	(void)format;
	(void)ap;
}

int
server_start(struct monitor *m, struct err *e)
{
	m->texts.max = TEXTS_MAX;
	m->state_texts.max = STATE_TEXTS_MAX;
	m->action_texts.max = SIZE_MAX;
	m->http = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET |
	    MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
	    on_request, m,
	    MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
	    MHD_OPTION_NOTIFY_CONNECTION, on_connection, m,
	    MHD_OPTION_NOTIFY_COMPLETED, on_completed, m,
	    MHD_OPTION_CONNECTION_LIMIT, CLIENTS_MAX + CLIENTS_SPARE,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)SERVER_HEADERS_MAX,
	    MHD_OPTION_CONNECTION_TIMEOUT, READ_TIMEOUT_S,
	    MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	if (m->http == NULL)
		return err_set(e, "the HTTP server cannot start: %s",
		    strerror(errno));
	return 0;
}

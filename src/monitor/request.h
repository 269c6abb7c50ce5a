/*
 * request.h - one request: what it asks, and the answer to it
 *
 * Everything in it is as the client sent it, until a guard or the table of
 * paths has checked it.
 */
#ifndef OUTBOX_MONITOR_REQUEST_H
#define OUTBOX_MONITOR_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>
#include <microhttpd.h>

#include "ipc/people.h"
#include "util/buf.h"

#define REQUEST_BODY_MAX	(64 * 1024)	/* bytes */
#define REQUEST_QUERY_MAX	16		/* parameters */
#define SERVER_HEADERS_MAX	(32 * 1024)	/* bytes of a request without
						   its body, and of an answer's
						   headers */

struct client;
struct monitor;
struct question;
struct shared_text;

struct request {
	struct monitor		*monitor;
	struct MHD_Connection	*connection;
	struct client		*client;
	const char		*method, *path;
	bool			 is_local;	/* by the Unix socket */
	bool			 too_long;	/* the body */
	bool			 bad_query;
	bool			 is_last;	/* of its connection */
	bool			 is_known;	/* who has sent it: */
	struct person		 who;		/* not known: a name at most */
	bool			 by_proxy;	/* which has named it */
	struct buf		 body;
	const char		*host, *origin, *site, *type, *user;
						/* headers; NULL: none */
	const char		*token;		/* Authorization, then what is
						   behind Bearer; wiped */
	size_t			 nquery;
	const char		*names[REQUEST_QUERY_MAX];
	const char		*values[REQUEST_QUERY_MAX];

	/* Waiting for outboxctl; NULL: not, or not any more. */
	struct question		*question;
	struct request		*next;		/* that waits for the same */
	bool			 suspended, again;
	int64_t			 wait_until;	/* clock_ms() */
	void			(*answer)(struct request *);
};

/*
 * answer.c: each gives the request its only answer, after which it holds no
 * question any more.  Where too much is being read by others, that is 503.
 */

/* Takes the text; NULL: there is no room for it. */
void	answer_shared(struct request *, unsigned status, const char *type,
	    struct shared_text *);

/* What outboxctl has said. */
void	answer_question(struct request *, unsigned status);

/* A text or a document of this status; copies it. */
void	answer_text(struct request *, unsigned status, const char *type,
	    const char *text, size_t len);

/* A value as JSON; NULL: null. */
void	answer_value(struct request *, unsigned status, const json_t *);

/*
 * {"error", "code", "field", "remedy"}; remedy may be NULL, and the code is a
 * word for the status.
 */
void	answer_error(struct request *, unsigned status, const char *error,
	    const char *remedy);
json_t	*answer_code(unsigned status);

/*
 * 400: "field: why", with the client's name for the parameter or member; field
 * may be NULL.  Returns false.
 */
bool	answer_misuse(struct request *, const char *code, const char *field,
	    const char *why, ...) __attribute__((format(printf, 4, 5)));

/* The same with one more header. */
void	answer_error_header(struct request *, unsigned status,
	    const char *error, const char *remedy, const char *header,
	    const char *value);

/* Bytes that stay valid for ever. */
void	answer_static(struct request *, const char *type, const void *,
	    size_t len);

/* Queue the response, with the headers that all have, and release it. */
void	answer_queue_response(struct request *, unsigned status,
	    struct MHD_Response *);

/*
 * framing.c: is there one way only to read it?  If not, it has been answered,
 * and is the last of its connection.
 */
bool framing_is_clear(struct request *, const char *version);

/* guard.c: may it be asked, and by whom?  If not, it has been answered. */
bool	guard_admits(struct request *);

/* Can this monitor change anything, if the right person asks? */
bool	guard_may_change(const struct monitor *);

/* May it read what a probe says beside its status? */
bool	guard_may_read(const struct request *);

/* Is this the value of a Host header that leads to us and nowhere else? */
bool	guard_takes_host(const char *host, const struct conf_list *hosts,
	    const char *own);

/* paths.c: answer, or begin to wait for the answer of outboxctl. */
void	paths_route(struct request *);

/* actions.c: the same for POST /api/actions/NAME. */
void	actions_route(struct request *, const char *name);

/* probes.c: signs of life, and whether the fleet is ready. */
void	probe_health(struct request *);
void	probe_ready(struct request *);

/* The same as a value; why, which may be NULL, gets a line for each process. */
bool	probe_is_alive(const struct monitor *, struct buf *why);
bool	probe_is_ready(const struct monitor *);

#endif

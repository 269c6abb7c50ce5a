/*
 * http_impl.h - shared by the files of the room, and private to them
 *
 * A file calls only files above it:
 *
 * http_verdict.c	what an answer, or its failure, means
 * http_private.c	addresses that are refused
 * http_secrets.c	token, signing keys, and headers of each request
 * http_headers.c	the headers of a request
 * http_request.c	one request: its start and its end
 * http_loop.c		all requests: sockets and time
 * http.c		the publisher
 */
#ifndef OUTBOX_HTTP_IMPL_H
#define OUTBOX_HTTP_IMPL_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver/answer_queue.h"
#include "http/http.h"
#include "util/buf.h"
#include "util/printable.h"

#define HTTP_SAID		200	/* kept of an answer's body */
#define HTTP_BODY_MAX		(64 * 1024)	/* of an answer */
#define HTTP_HEAD_MAX		(16 * 1024)
#define HTTP_REDIRECTS_MAX	3

struct signing_key {
	const char	*id;
	char		*secret;
};

struct fixed_header {
	const char	*name;
	char		*value;		/* may be a secret */
};

struct http;

/* A request, and its handle and memory, which serve for many. */
struct request {
	struct http		*http;
	CURL			*easy;		/* of this one try */
	struct request		*next_free;
	bool			 busy;
	uint32_t		 index;

	const char		*endpoint;	/* of its envelope */
	struct buf		 url, body, line;
	struct curl_slist	*headers;
	unsigned		 redirects;	/* followed so far */
	bool			 foreign;	/* at another host: no secrets */
	bool			 started;	/* its first byte may be out */
	int			 port;		/* the local one of its
						   connection; 0: none yet */
	int			 shared_port;	/* of the last connection that
						   answered this handle with
						   HTTP/2; 0: none */
	bool			 together;	/* others are on it, or may be
						   (HTTP/2) */
	bool			 late;		/* not started: time was over */
	bool			 private;	/* an address was refused */
	bool			 long_body, long_head;	/* of the answer */
	size_t			 nhead, nbody, nsaid;
	char			 said[HTTP_SAID];
	char			 error[CURL_ERROR_SIZE];
};

struct http {
	const struct conf	*conf;
	CURLM			*multi;
	bool			 open;
	char			*token;
	struct signing_key	*keys;
	size_t			 nkeys;
	struct fixed_header	*fixed;		/* of each request */
	size_t			 nfixed;
	bool			 refused;	/* they may be out of date */
	struct request		**requests;	/* all that were ever made */
	size_t			 nrequests;
	struct request		*free;
	struct answer_queue	 answers;
	int64_t			 until;		/* start none after it */

	/* What libcurl wants us to wait for. */
	short			*events;	/* by descriptor */
	size_t			 nevents;
	int64_t			 timer_at;	/* INT64_MAX: none */
};

/*
 * http_verdict.c
 */

struct outcome_of_request {
	CURLcode	 code;
	long		 status;	/* 0: no answer */
	bool		 started, late, private, long_body, long_head, together;
	int64_t		 retry_after;	/* in s; 0: none */
	int		 os_error;	/* of a connection; 0: none */
	const char	*detail;	/* of the library; or "" */
	char		 said[PRINTABLE_SIZE];	/* printable */
	const char	*endpoint;
};

/* False: nothing is known, and the relay's time-out will tell that. */
bool	http_judge(const struct outcome_of_request *, struct pub_answer *);

/*
 * http_private.c
 */

/* True for an address that is not of the public internet. */
bool	http_is_private(const struct sockaddr *);

/* CURLOPT_OPENSOCKETFUNCTION; the argument is the request. */
curl_socket_t http_open_socket(void *, curlsocktype, struct curl_sockaddr *);

/*
 * http_secrets.c
 */

/* Read them again.  -1 with an error: one cannot be read. */
int	http_secrets_read(struct http *, struct err *);
void	http_secrets_forget(struct http *);

/* Append "k2=<64 hex digits>,k1=..." of the text. */
void	http_sign(const struct http *, const struct buf *text, struct buf *);

/*
 * http_headers.c
 */

/* Make the headers, without a signature. */
void	http_headers_make(struct request *, const struct envelope *);

/*
 * Sign headers, URL and body, which are there, at this time in s, in place of
 * the signature of before; not at another host.
 */
void	http_headers_sign(struct request *, int64_t now);

/* Take out what another host must not see. */
void	http_headers_strip(struct request *);

/*
 * http_request.c
 */

/* Start it; -1 with an error: the library fails. */
int	http_request_start(struct http *, const struct envelope *,
	    uint32_t index, struct err *);

/* Can a request be made?  Connects as one does and sends nothing. */
bool	http_reach(void *, const char *endpoint, struct err *);

/* It has ended, or follows a redirect. */
void	http_request_done(struct request *, CURLcode);

/* End it without an answer, or with this verdict. */
void	http_request_abort(struct request *);
void	http_request_give_up(struct request *);
void	http_requests_free(struct http *);

/*
 * http_loop.c
 */

int	http_loop_open(struct http *, struct err *);
void	http_loop_close(struct http *);
void	http_prepare(void *, struct pub_polls *);
void	http_proceed(void *, const struct pollfd *, size_t n);

#endif

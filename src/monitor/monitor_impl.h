/* monitor_impl.h - private to the files of this room: the monitor's state */
#ifndef OUTBOX_MONITOR_IMPL_H
#define OUTBOX_MONITOR_IMPL_H

#include <microhttpd.h>

#include "monitor/client.h"
#include "monitor/door.h"
#include "monitor/monitor.h"
#include "ipc/people.h"
#include "monitor/question.h"
#include "monitor/request.h"
#include "util/log_throttle.h"

#define EVENTS_MAX	128
#define EVENTS_ANYONE	96	/* of these without the token, if there is one */
#define EVENTS_TURN_MS	60000	/* then one of these may have to give way */
#define TEXTS_MAX	(64 * 1024 * 1024)	/* bytes of answers in memory */
#define STATE_TEXTS_MAX	(16 * 1024 * 1024)	/* ... that tell the state */

/* Why a client was: its token, who it says it is, what it may not do. */
enum { REFUSED_TOKEN, REFUSED_NAME, REFUSED_RIGHT, NREFUSED };

struct stream;

struct monitor {
	const struct monitor_args *a;
	char			  host[256];	/* name of this host */
	struct people		  people;
	struct err		  bad_token;	/* not "": one of theirs cannot
						   be used */
	struct err		  bad_operator;	/* not "": changes are not
						   possible */
	struct log_throttle	  refused[NREFUSED];	/* clients */
	struct MHD_Daemon	 *http;
	struct log_throttle	  door_throttle;
	struct clients		  clients;
	bool			  is_full;	/* no client is let in */
	struct texts		  texts, state_texts, action_texts;
	struct questions	  questions;
	struct request		 *waiting;	/* for outboxctl */
	struct stream		 *streams;	/* of events */
	bool			  is_ending;	/* so are the streams */
	int64_t			  sampled_at;	/* clock_ms(): throughput */
	int64_t			  now;		/* clock_ms(), of this turn */
};

/* guard.c: read the tokens, and note what is wrong with them. */
void	guard_read_tokens(struct monitor *);

/* Log what is refused, and who it is: only the descriptor knows. */
void	guard_tell(struct request *, int why, const char *what);

/*
 * wait.c: the request waits until the question is done, or for patience_ms;
 * then answer is called, with r->question NULL if the time was over.
 */
void	wait_for_answer(struct request *, struct question *,
	    int64_t patience_ms, void (*answer)(struct request *));

/* The same for a state that is younger than QUESTION_FRESH_MS, if possible. */
void	wait_for_state(struct request *, void (*answer)(struct request *));

/* Resume those that need not wait any more; returns when the next must. */
int64_t	wait_turn(struct monitor *);

/* The request is over: whatever it waited for. */
void	wait_forget(struct request *);

/*
 * ask.c: ask outboxctl, see question_ask(), and call answer when it is done;
 * ask_answer() answers with what it says.
 */
void	ask_outboxctl(struct request *, enum question_kind, json_t *words,
	    void (*answer)(struct request *));
void	ask_answer(struct request *);

/*
 * events.c: answer with a stream of events, send what is new to all of them,
 * and ask for a state as long as there is one.
 */
void	events_begin(struct request *);
int64_t	events_turn(struct monitor *);

/* The client reads none any more. */
void	events_forget(struct monitor *, const struct client *);

/* End all of them, so that no client takes it for an error; blocks shortly. */
void	events_end(struct monitor *);

/* confine.c: give up all that a monitor need not do; nothing is opened then. */
void	monitor_confine(struct monitor *);

/* server.c: the HTTP server; -1: see err. */
int	server_start(struct monitor *, struct err *);

/* One more client; there must be room for it. */
void	server_add(struct monitor *, int fd);

/* Let clients in; returns when to try again, if there is no room for more. */
int64_t	server_accept(struct monitor *);

#endif

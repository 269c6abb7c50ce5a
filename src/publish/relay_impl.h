/* relay_impl.h - shared by the files of the relay, and private to them */
#ifndef OUTBOX_RELAY_IMPL_H
#define OUTBOX_RELAY_IMPL_H

#include "publish/relay.h"
#include "publish/inflight.h"

/* How often a batch sends again messages that no stream took. */
#define RELAY_ROUNDS	3

/*
 * Messages handed to the publisher before the deadline may be written for so
 * many ms after it: a part of CONF_CLAIM_MARGIN_MS.
 */
#define RELAY_WRITE_MS	500

/*
 * ASIDE: waits for the probe of its type, or for room; AGAIN: for another
 * round; LOOK: it is a duplicate, and whose message that is will be looked up.
 */
enum state { READY, ASIDE, OUT, AGAIN, LOOK, REFUSED, DONE };

/* The way of one message through the batch. */
struct way {
	enum state		 state;
	const struct route	*route;		/* never NULL */
	size_t			 ordinal;	/* its last place in order */
	int64_t			 sent_at;	/* clock_us(); 0: was not */
	enum error_class	 class;		/* of a refusal */
	enum verdict		 verdict;	/* of its answer */
	bool			 alone;		/* refused, perhaps by its own
						   fault, and not for its type */
	bool			 spent;		/* its last attempt failed */
};

/* What one destination did in this batch: see route.destination. */
struct flight_to {
	size_t	nout;		/* messages without an answer */
	size_t	bytes;		/* the size of all nout */
	size_t	most;		/* the highest nout */
	size_t	naside;
	size_t	nlater;		/* given back, as it is slow */
	bool	took;		/* one, or a duplicate */
	size_t	stored;		/* ordinals up to the last one that was stored,
				   and is no duplicate; by any stream */
	int64_t	sent_at;	/* the last one, clock_us() */
	int64_t	heard_at;	/* the last answer of any kind; 0: none came */
	int64_t	slowest;	/* slowest answer, in ms */
	bool	fair;		/* was sent one of a type that is not to blame */
	bool	closed;		/* it is silent: send it nothing more */
	bool	missed;		/* an answer did not come */
};

/* A driver's connection, which all its endpoints share. */
struct flight_line {
	const struct pub	*pub;
	struct reach		*reach;
	size_t			 nout;		/* messages without an answer */
	size_t			 nused;		/* destinations of the batch */
	size_t			 capacity;	/* more may not be out */
	bool			 choked;	/* it does not read */
	size_t			 nameless;	/* refusals without an index */
	bool			 lost;
	enum error_class	 complained;	/* CLASS_NONE: it did not */
	struct err		 complaint;
};

struct flight {
	struct relay		*r;
	struct batch		*b;
	struct relay_result	*res;
	struct inflight		 w;
	struct way		*ways;		/* of b->msgs */
	size_t			*order;		/* messages in sending order */
	size_t			 oldest, nsent;
	size_t			 nused;		/* destinations of the batch */
	int64_t			 began_at;
	int64_t			 deadline;	/* send nothing after it */
	struct flight_to	 to[ROUTE_DESTINATIONS];
	struct flight_line	 lines[CONF_DRIVERS];
	size_t			 naside;
	size_t			 nagain;	/* wait for another round */
	size_t			 nlook;		/* duplicates to be looked up */
	struct stored_message	*places;	/* where, by index; or NULL */
	size_t			 rounds;	/* planned so far */
	int64_t			 again_at;	/* when the next begins */
	size_t			 nsuspects;	/* places in use */
	bool			 closed;	/* send nothing more */
	bool			 any_stream;	/* see relay_any_stream() */
	bool			 leaderless;	/* nats.stream */
};

/*
 * relay_lines.c: destinations
 */

/* What the destination of the message did in this batch; its connection. */
struct flight_to *relay_to(struct flight *, size_t i);
struct flight_line *relay_line(struct flight *, size_t i);

/* Does it go to the broker that relay_broker() returns? */
bool	relay_to_stream(const struct flight *, size_t i);

/*
 * True if it goes to the broker with nats.stream empty: which stream takes it,
 * and whether there are several, is not known, so that no answer to another
 * message tells of it.
 */
bool	relay_any_stream(const struct flight *, size_t i);

/* True if its destination is silent, by this batch or earlier ones. */
bool	relay_to_silent(const struct flight *, size_t i);

/* Why its destination takes nothing now, as others do; CLASS_NONE: it does. */
enum error_class relay_away(struct flight *, size_t i, struct err *);

/* May one more be out to its destination?  Others need room, too. */
bool	relay_has_room(struct flight *, size_t i);

/* Its destination is slow: those behind this batch have waited long enough. */
bool	relay_had_its_turn(struct flight *, size_t i);

/* It is given back, to be offered again when that one should have room. */
void	relay_send_later(struct flight *, size_t i);

/*
 * relay_send.c: one message
 */

/*
 * Send it, unless it is put off or can never be sent.  false: the only
 * connection is lost.
 */
bool	relay_send(struct flight *, size_t i);

/* True if it has no event, which may still come: it is put off. */
bool	relay_waits_for_event(struct flight *, size_t i);

/*
 * What was being sent when workers died is sent before all others, so that none
 * of them is in flight then.  At the end: what was delivered kills nobody.
 */
void	relay_prefer_suspects(struct flight *);
void	relay_clear_suspects(struct flight *);

/*
 * relay_outcome.c: what becomes of a message
 */

/*
 * Make it a dead letter, for this reason.  True if the next message of its
 * lane may be sent.
 */
bool	relay_bury(struct flight *, size_t i, const char *reason,
	    const char *text);

/*
 * The same for what nobody has asked for: an answer, or what it cannot be sent
 * with, which a reload may have changed.  If there were too many of them lately
 * it is held, and so is its lane.
 */
bool	relay_bury_or_hold(struct flight *, size_t i, const char *reason,
	    const char *text);

/* It failed for now, an attempt; its lane waits. */
void	relay_fail(struct flight *, size_t i, const char *text);

/* The destination refused it; relay_judge decides whose fault that was. */
void	relay_refuse(struct flight *, size_t i, enum error_class,
	    const char *text);

/* The same for a message that no stream took. */
void	relay_refuse_absent(struct flight *, size_t i);

/*
 * Its type was refused, and no attempt is used: the breaker tries it less
 * often.  others: messages of others are taken, as is known already.
 */
void	relay_refuse_type(struct flight *, size_t i, bool others,
	    enum error_class, const char *why);

/* The same, if it is the probe of its type. */
void	relay_was_tried(struct flight *, size_t i, enum error_class,
	    const char *why);

/* It is there, at this sequence of the stream; 0: unknown. */
void	relay_deliver(struct flight *, size_t i, uint64_t ack, bool duplicate);

/* It is there, and nobody has read whose it is. */
void	relay_deliver_unread(struct flight *, size_t i, uint64_t ack,
	    const char *why);

/* It was sent, with no answer yet; it is out no more. */
void	relay_goes_out(struct flight *, size_t i, size_t size);
void	relay_comes_in(struct flight *, size_t i);

/* How the message is made. */
const struct envelope_form *relay_form(const struct flight *, size_t i);

/* Can its answer be about this message alone? */
bool	relay_is_accused(const struct flight *, size_t i);

/* What is to be judged of it. */
struct trial_case relay_case(const struct flight *, size_t i);

/*
 * Answers, and none
 */

/* Process one answer that came through this connection. */
void	relay_answer(struct flight *, struct flight_line *,
	    const struct pub_answer *);

/* Once all others have answers, nameless refusals are for the rest. */
void	relay_name_absent(struct flight *, struct flight_line *);

/*
 * With nothing out: what no stream took was refused for its subject, if the
 * stream is fit, or because it has no leader; then that is its error.
 */
void	relay_explain_absent(struct flight *);

/* Time out late messages; returns the ms until the next one is late. */
int64_t	relay_expire(struct flight *, int64_t now);

/*
 * It is in doubt, as are others: a leader that goes takes some messages with
 * it, or leaves them half stored, and a connection all that share it.  That
 * uses no attempt, unless it goes on.  Its lane waits.
 */
void	relay_fail_in_doubt(struct flight *, size_t i, const char *text);

/*
 * If no message is out to the stream, look up those that must be: one that is
 * foreign joins the next round, under our id.  If the connection is lost
 * meanwhile, they stay as they are; also if the owner abandons the batch: then
 * it returns false.
 */
bool	relay_look(struct flight *);

/* At the end: decide whose fault the refusals were. */
void	relay_judge(struct flight *);

#endif

/* relay_impl.h - what the files of the relay share; nobody else includes it */
#ifndef OUTBOX_RELAY_IMPL_H
#define OUTBOX_RELAY_IMPL_H

#include "publish/relay.h"
#include "publish/window.h"

/* How often a batch sends again what nobody was there to take. */
#define RELAY_ROUNDS	3

/* ASIDE: until another one of its type has its answer. */
enum state { READY, ASIDE, OUT, AGAIN, REFUSED, DONE };

struct flight {
	struct relay		*r;
	struct batch		*b;
	struct relay_result	*res;
	struct window		 w;
	enum state		*state;
	int64_t			*sent_at;
	size_t			*order;		/* messages as they were sent */
	size_t			 oldest, nsent;
	int64_t			 deadline;	/* send nothing from here on */
	size_t			*place;		/* of a message in order */
	uint64_t		*subject;	/* hashed; NULL: one stream
						   takes all */
	size_t			 acked;		/* places up to the last acked */
	size_t			 stored;	/* the same without duplicates;
						   by any stream */
	size_t			 nameless;	/* absences of we know not whom */
	struct err		 absent_why;
	size_t			 naside;
	size_t			 nfair;		/* sent, of types not blamed */
	size_t			 nagain;	/* wait for the next round */
	size_t			 rounds;	/* that were planned so far */
	int64_t			 again_at;	/* the next one */
	int64_t			 heard_at;	/* the last answer */
	int64_t			 slowest;	/* of them, in ms */
	bool			 closed;	/* send nothing more */
	bool			 complained;
	bool			 lost;		/* the connection */
	struct err		 complaint;
};

/* A failure to be told; the first one speaks for all. */
void	relay_note_failure(struct flight *, const struct msg *,
	    const char *text);

/*
 * It is dead, for this reason.  Returns, as relay_fail does, whether the next
 * of its lane may follow.
 */
bool	relay_bury(struct flight *, struct msg *, const char *reason,
	    const char *text);

/* It failed: by its own fault, or nobody's. */
bool	relay_fail(struct flight *, struct msg *, bool message,
	    const char *text);

/* The destination would not have it; whose fault that is shows at the end. */
void	relay_refuse(struct flight *, size_t i, const char *text);

/* Is it known that its type is not taken, or that its stream is silent? */
bool	relay_is_blamed(const struct flight *, size_t i);

/* An answer has come. */
void	relay_answer(struct flight *, const struct pub_answer *);

/* When all others have their answers, the rest is what nobody took. */
void	relay_name_absent(struct flight *);

/* Give up on what is late; returns how long the next one still has. */
int64_t	relay_expire(struct flight *, int64_t now);

/* When nothing is out any more: whose fault was what was refused? */
void	relay_judge(struct flight *);

#endif

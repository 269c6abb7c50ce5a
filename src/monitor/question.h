/*
 * question.h - what is asked of outboxctl, and who waits for the answer
 *
 * The same question is asked once for all who want to know it, and its answer
 * is kept for a second, so the number of clients does not matter.  An action is
 * asked for each request.
 */
#ifndef OUTBOX_MONITOR_QUESTION_H
#define OUTBOX_MONITOR_QUESTION_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "ipc/agent.h"
#include "monitor/shared_text.h"

#define QUESTION_FRESH_MS	1000	/* an answer is as good as new */
#define SNAPSHOT_OLD_MS		10000	/* a state that tells nothing any more */
#define QUESTION_KEPT_MAX	(16 * 1024 * 1024)	/* bytes of answers that
						   nobody waits for */
#define QUESTIONS_MAX		64	/* of a kind: asked, or waiting to be */

enum question_kind {
	QUESTION_STATE = STARTER_STATE,	/* status: of the fleet, asked most
					   often */
	QUESTION_QUERY = STARTER_QUERY,	/* lists and details */
	QUESTION_ACTION = STARTER_ACTION,	/* a change */
	QUESTION_KINDS = STARTER_KINDS
};

struct question {
	enum question_kind	 kind;
	char			*words;		/* JSON, one line; it may have
						   a token */
	bool			 asked, done;
	int64_t			 at;		/* clock_ms(): done */
	int			 exit;		/* status of outboxctl; -1: it
						   gave no answer */
	json_t			*result;	/* its document; NULL: none */
	size_t			 size;		/* bytes, of its line */
	struct shared_text	*text;		/* its document, once somebody
						   reads it */
	struct err		 why;		/* exit -1 */
	size_t			 waiting;	/* requests that hold it */
	struct question		*next;
};

/* The last answer to "status"; document is NULL before the first one. */
struct snapshot {
	uint64_t	 version;	/* one more for each */
	int64_t		 at;		/* clock_ms() */
	json_t		*document;
	struct shared_text *text, *event;	/* the document, likewise */
	struct err	 why;		/* not "": the last try failed */
	int64_t		 failed_at;
};

struct questions {
	struct agent	 agents[QUESTION_KINDS];
	struct question	*current[QUESTION_KINDS];	/* that it works on */
	struct question	*list;
	struct snapshot	 state;
};

/* Agents are started by the master at the other end of the channel; -1: here. */
void	questions_init(struct questions *, const struct starter *, int channel);

/*
 * Ask; frees the words.  The question may be done already.  The caller holds it
 * until question_release().  NULL: too many are waiting.
 */
struct question *question_ask(struct questions *, enum question_kind,
	    json_t *words, int64_t now);
void	question_release(struct question *);

/*
 * Send what can be sent and read what has come.  True if one is done now.  The
 * pipes are those of the agents.
 */
bool	questions_turn(struct questions *, int64_t now);

/* When to call it even if no pipe is ready. */
int64_t	questions_deadline(const struct questions *);

/* Is the state younger than so many ms? */
bool	snapshot_is_fresh(const struct snapshot *, int64_t now, int64_t ms);

/* End all agents. */
void	questions_stop(struct questions *);

#endif

/*
 * stream_report.h - what a destination tells of itself
 *
 * A destination that cannot work is unfit: nothing is sent to it until it is
 * repaired.  A full one is told, and tried: it may have room by then.  A
 * setting with which messages are lost is a warning, one that could be better
 * is advice; both have their remedy.
 */
#ifndef OUTBOX_STREAM_REPORT_H
#define OUTBOX_STREAM_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver/verdict.h"
#include "util/err.h"
#include "util/sequence_set.h"

#define STREAM_FINDINGS	8

struct stream_findings {
	struct err	list[STREAM_FINDINGS];
	size_t		n;
};

struct stream_report {
	bool		unfit;		/* it would take no message */
	enum error_class class;		/* unfit: of what is wrong */
	struct err	why;		/* unfit: what is wrong and the remedy */
	bool		late;		/* its leader may be a new one */
	bool		full;		/* it refuses messages until some go */
	struct err	how_full;	/* full: with its figures */
	struct err	subjects;	/* "events.>, audit.*" */
	struct err	replicas;	/* "n2 leads, n1 follows, n3 is away"; "" */
	struct err	unheard;	/* it drops what it takes, and why; "" */
	struct stream_findings warnings, advice;
};

/*
 * What a question about a stream has brought.  An error says nothing of what
 * is in the stream, so a zeroed state is not the state of an empty one.
 */
enum stream_answer {
	STREAM_UNKNOWN,		/* no answer: nothing else of it counts */
	STREAM_MISSING,		/* the broker knows of no such stream */
	STREAM_THERE
};

/* The contents of a stream, and which of them it may drop by design. */
struct stream_state {
	enum stream_answer answer;
	char		server[64];	/* id of the server's run */
	char		created[48];
	char		leader[96];	/* of its replicas, and since when, as
					   far as it is told */
	bool		replicated;	/* it has others */
	uint64_t	first, last, messages;

	/* By the broker's clock, in ms since 1970; 0: not told. */
	int64_t		now_at;
	int64_t		first_at;	/* the first was stored */
	int64_t		last_at;	/* the last, which may be removed */

	uint64_t	first_known;	/* messages missing from here to first
					   are lost; 0: they are removed */
	int64_t		dedup_window_ms;	/* duplicate window */
	bool		forgets;	/* may drop single messages anywhere */
	bool		expires;	/* by age: may become empty */
	bool		limited;	/* by age, size or number, or forgets */
	bool		keeps;		/* nobody may delete or purge */
	uint64_t	gaps;		/* sequences from first to last without
					   a message; */
	uint64_t	deleted;	/* so many of the gaps the broker knows
					   as deleted */
	uint64_t	damage;		/* bytes that the broker says it has
					   lost */
	uint64_t	setbacks;	/* moments in which it may have lost
					   messages, seen by this publisher */
};

/* What a stream says of messages that it has not; none is below its first. */
struct stream_removed {
	struct stream_state state;
	struct sequence_set deleted;
	struct sequence_set damaged;	/* lost by its store; not complete */
};

void	stream_removed_free(struct stream_removed *);

#endif

/*
 * stream_audit_test.h - real tables, and a stream that is not real
 *
 * The stream of the fake publisher is an array that the tests spoil.
 */
#ifndef TESTS_RECOVER_TEST_H
#define TESTS_RECOVER_TEST_H

#include <bsd/string.h>

#include "lib/frame.h"
#include "recovery/stream_audit.h"
#include "util/clock.h"

#define CREATED		"2026-01-31T12:00:00Z"
#define ALIEN		UINT64_MAX
#define PLACES		8000

/* The rows that are sent again. */
#define WAITING	"SELECT GROUP_CONCAT(global_sequence ORDER BY 1) FROM outbox " \
		"WHERE published_at IS NULL AND ack_sequence IS NULL AND " \
		"claim_token IS NULL AND available_at <= NOW(6)"

extern struct fake {
	struct stream_state	 state;
	uint64_t		 row[PLACES];	/* 0: nothing there */
	unsigned		 replay[PLACES];
	uint64_t		 hash[PLACES];	/* 0: an id of before */
	const char		*time[PLACES];	/* of the event; NULL: none */
	const char		*origin[PLACES];	/* NULL: none */
	int64_t			 began_at;	/* place n was stored n seconds
						   later; 0: not told */
	bool			 closed, gone;
	bool			 mute;		/* says so, unless: */
	bool			 silent, nobody;
	unsigned		 asked;		/* questions so far */
	unsigned		 error_at;	/* this one gets an error; 0: none */
	bool			 cut;		/* not all messages come */
	struct sequence_set	 deleted, damaged;	/* what it says */
	size_t			 nlists;	/* how often it said so */
	size_t			 nplaces;	/* that were asked for */
	void			(*during)(void);	/* a look-up */
	void			(*before_state)(void);
} fake;

extern struct relay	relay;
extern struct stream_audit	rec;
extern enum keep	kept;	/* what the relay is told, */
extern unsigned		nkept;	/* and how often it asked */

/* With a store, as end_store() takes it; again with these keys of nats. */
void	recover_begin(void);
void	again_with(const char *nats);

/* Rows delivered so many seconds ago, each at its sequence in the stream. */
void	deliver(uint64_t first, uint64_t last, const char *label,
	    unsigned age_s);

/* Rows that went to another destination. */
void	deliver_elsewhere(uint64_t first, uint64_t last, unsigned age_s);

/* The stream was checked for this server so many seconds ago. */
void	know(const char *servers, unsigned age_s);

/* The stream has lost them. */
void	forget(uint64_t first, uint64_t last);

/* One look, and whether messages may flow then. */
bool	look(void);

void	add_streams(Suite *, const struct kind *);	/* stream_audit_stream.c */
void	add_tails(Suite *, const struct kind *);	/* stream_audit_tail.c */
void	add_rivals(Suite *, const struct kind *);	/* stream_audit_rival.c */
void	add_scrubs(Suite *, const struct kind *);	/* stream_audit_scrub.c */
void	add_doubts(Suite *, const struct kind *);	/* stream_audit_in_doubt.c */

#endif

/*
 * relay_test.h - a relay between a batch of letters and a fake publisher
 *
 * The publisher follows a script, and so does the clock: it moves when the
 * fake waits and never else.
 */
#ifndef TESTS_RELAY_TEST_H
#define TESTS_RELAY_TEST_H

#include "unit/batch.h"

#include "publish/relay.h"

#define FIRST_ACK	7000	/* of the first that is stored */

#define TIMEOUT_MS	100
#define START_MS	1000000

/*
 * What becomes of each message, one letter each: A stored, D duplicate,
 * M it can be the message's fault, B it is too long, C or its address is wrong,
 * T try again, J another copy is being stored, X the destination's fault, N nobody is
 * there without a word on which message, P the same with its name, 1 to 4
 * like N so many times and then like A, s silence, L an answer that
 * breaks off, K with that of others, R refused by the publisher, Y and Z its destination is away, when
 * it is sent and afterwards; and before it gets there: b a subject that is not legal, e no
 * event.
 *
 * Duplicates of an id that its author gave: O of its own message, F of a foreign
 * one, w of one of its outbox with the same contents, W with others, G of one
 * that is gone.  Under our id it is stored, with V it was before.
 */
struct fake {
	const char	*acts;
	int64_t		 delay[MANY];	/* from the send to the answer */
	int64_t		 sent_at[MANY];	/* 0: not sent */
	bool		 answered[MANY], stored[MANY];
	int		 absent[MANY];	/* how often nobody was there */
	size_t		 order[5 * MANY], nsent;
	bool		 open;
	size_t		 lose_send, lose_wait;	/* the n-th call; 0: never */
	bool		 pretend;	/* a lost one looks open */
	size_t		 nsends, nwaits, nbegins, nopens;
	size_t		 most_out;
	int64_t		 last_send;
	const char	*complaint;	/* told once; NULL: none */
	unsigned	 ntold;
	bool		 blind;		/* is not told what is handled */
	const char	*text;		/* of answers; NULL: the letter */
	uint32_t	 strange[8];	/* answers nobody waits for */
	size_t		 nstrange;
	int64_t		 strange_at;	/* not before */
	int64_t		 unread;	/* bytes, of earlier ones */
	int64_t		 unread_there;	/* the same of the endpoint */
	int64_t		 capacity;	/* messages; 0: no limit */
	int64_t		 max_payload;	/* 0: FAKE_MAX_PAYLOAD */
	int		 line[MANY];	/* 1: it went to the endpoint */
	bool		 gone[2];	/* this connection is lost */
	size_t		 most_there;	/* out to the endpoint at a time */
	int64_t		 retry_after_ms;	/* in each answer */
	const char	*streams;	/* that take each; NULL: one does */
	uint64_t	 ack[MANY];	/* in the stream; 0: none yet */
	size_t		 nacks;

	size_t		 keep_at;	/* the call from which on; 0: never */
	enum keep	 keep;
	size_t		 nkeeps;
	int64_t		 kept_at;

	char		 id[MANY][64];	/* Nats-Msg-Id, as it was sent last */
	char		 author_id[MANY][64];	/* Outbox-Message-Id; or "" */
	size_t		 nlooks, nlooked;	/* calls, messages */
	bool		 look_fails;
	bool		 look_is_forbidden;	/* and says so */
	bool		 look_loses;	/* the connection, with the first */
	size_t		 look_reads;	/* before it fails */
	int64_t		 look_takes;	/* ms, for each message */
	enum { NOT, SAID, MUTE, LATE, FORBIDDEN, UNFIT } leaderless; /* stream */
};

extern int64_t			now_ms;		/* what the clock says */
extern struct fake		fake;
extern struct pub_ops		fake_ops;

/* The arg of a second fake, an endpoint; the one of the broker has NULL. */
extern char			fake_endpoint;
extern struct conf		*conf;
extern struct relay		relay;
extern struct suspect		suspects[SUSPECTS];
extern struct relay_result	res;		/* of publish() */

void	relay_setup(void);
void	relay_teardown(void);

/* A batch that was claimed just now, and what will become of it. */
void	script(const char *keys, const char *acts);

/* n messages without lanes, all with the same fate. */
void	script_many(size_t n, char act);

/* The rows have message ids: "m-" and a number. */
void	name_rows(void);

/* Another batch after the first. */
void	next_script(const char *keys, const char *acts);

/* Event types, a letter each. */
void	types(const char *letters);

/* Publish it, and check what must be true of any batch afterwards. */
void	publish(void);

/* The outcomes, a letter each; the numbers of those sent, in order. */
void	expect(const char *outcomes);
void	publish_as(const char *outcomes);	/* both */
void	expect_sent(const char *order);

/* Tests with a relay: see the files of these names. */
void	add_outcomes(TCase *);
void	add_types(TCase *);
void	add_answers(TCase *);
void	add_advisories(TCase *);
void	add_drivers(TCase *);
void	add_routes(TCase *);
void	add_looks(TCase *);
void	add_trials(TCase *);

#endif

/*
 * driver_test.h - one contract for all drivers
 *
 * Each destination is a row with what it can be made to do; check_driver.c runs
 * the same cases with all of them, through the relay.
 */
#ifndef TESTS_DRIVER_TEST_H
#define TESTS_DRIVER_TEST_H

#include "driver/pub.h"
#include "lib/servers.h"

enum mood {
	FINE,
	REFUSES_ONE,	/* the message of type "bad" only, for good */
	REFUSES_ALL,	/* by its own fault, with an answer */
	SILENT,		/* it takes messages; answers come when it is FINE */
	CUTS,		/* its answers break off */
	AWAY,
	MOODS
};

struct destination {
	const char	*name;
	const char	*driver;	/* ops->name */

	/* Make it, and load conf for it. */
	struct conf	*(*begin)(void);
	void		(*end)(void);
	void		(*feel)(enum mood);

	/*
	 * The sequences of rows that it has, in the order in which they came.
	 * Returns how many; NULL: nobody can tell.
	 */
	size_t		(*list)(uint64_t *, size_t max);

	/* Why it cannot be in a mood; NULL: it can. */
	const char	*cannot[MOODS];
};

extern const struct destination	to_nats, to_nats_core, to_http, to_stdout,
				to_discard, to_kafka;

/* The standard output of the test program, while to_stdout is used. */
int	saved_stdout(void);

/* Unchecked fixtures. */
void	start_nats(void);
void	start_kafka(void);

#endif

/*
 * block_test.h - the parts of check_block
 *
 * Nodes are workers without a broker, see block_node.c.
 */
#ifndef TESTS_BLOCK_TEST_H
#define TESTS_BLOCK_TEST_H

#include <string.h>

#include "common/ident.h"
#include "lib/frame.h"
#include "lib/stages.h"
#include "store/store_sql.h"
#include "util/xalloc.h"
#include "worker/tick.h"

/* A store, and the lease of p00 under epoch 1. */
void		 block_begin(void);

void		 add_record(unsigned first, const char *label, const char *key,
		    const char *reason);

/* Give a row a key, or add rows first..last with events of one key. */
void		 set_key(unsigned row, const char *key);
void		 add_rows_of(const char *key, unsigned first, unsigned last,
		    const char *label);

/* The labels of the rows that wait, and the table of blocked keys. */
const char	*labels(void);
const char	*records(void);
void		 ck_tables(const char *want_records, const char *want_labels);

static inline struct bytes
bytes_of(const char *text)
{
	return (struct bytes){ text, text == NULL ? 0 : strlen(text) };
}

/*
 * Nodes
 */

#define MAX_SEQUENCE	4000
#define BATCH		4		/* worker.batch_size at first */

extern struct node {
	char		 id[IDENT_SIZE];
	struct store	*store;		/* NULL: it is stopped */
	struct fleet	 fleet;
	struct relay	 relay;
	struct tick	 tick;
	struct totals	 totals;	/* of tick */
	size_t		 nslots, answered;
	uint32_t	 slots[64];
} nodes[2];

/* What the nodes did, and what happens to them; random_begin() empties it. */
extern struct story {
	bool		 acked[MAX_SEQUENCE];
	bool		 stored[MAX_SEQUENCE];	/* in the stream */
	unsigned	 sends[MAX_SEQUENCE];
	unsigned	 next_id, failures;	/* percent */
	unsigned	 crowded;	/* percent: rounds without a glance */
	bool		 calm;		/* little fails */
	unsigned	 scans;		/* statements */
	int		 breaks_at;	/* so many statements from now; or 0 */
	const char	*before, *meanwhile;	/* a statement; SQL before it */
	void		(*event)(void);	/* what happens next */
	const char	*event_at;	/* before such a statement */
	bool		 inside;	/* it happens */
} story;

extern int64_t	skew_ms;	/* how far the clock is ahead */

/* The fixture of the case: nodes that still run at its end are stopped. */
void		 random_begin(void);
void		 random_end(void);

unsigned	 dice(unsigned n);	/* 0 to n - 1 */
void		 happen(void);		/* the event, now */
void		 time_passes(int64_t ms);

struct node	*node_start(struct node *);	/* returns its argument */
void		 node_stop(struct node *);
void		 node_dies(struct node *);	/* and its successor starts */
void		 node_connects(struct node *);
void		 node_works(struct node *);	/* a round, which may fail */

/*
 * The parts
 */

void		 add_statements(TCase *);	/* block_statements.c */
void		 add_strays(TCase *);		/* block_strays.c */
void		 add_halts(TCase *);		/* block_halt.c */
void		 halt_begin(void);
void		 halt_end(void);
void		 add_parking(TCase *);		/* block_park.c */
void		 park_begin(void);
void		 park_end(void);
void		 add_ticks(TCase *);		/* block_tick.c */
void		 add_scans(TCase *);		/* block_scan.c */
void		 add_glances(TCase *);		/* block_glance.c */
void		 add_stories(TCase *);		/* block_story.c */
void		 add_more_stories(TCase *);	/* of the long form */

#endif

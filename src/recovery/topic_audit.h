/*
 * topic_audit.h - the audit of topics: find lost records and send them again
 *
 * An acknowledgement says that the replicas in sync have a record.  With an
 * unclean election, or the loss of a disk, a topic loses its latest ones.  Each
 * delivered row has the place of its record.  One janitor of the fleet asks the
 * brokers now and then whether a topic may have lost some, and looks up the
 * latest rows then, going back until a stretch of them is whole.  What is lost
 * waits again.  What retention, compaction or somebody removed is not lost.  A
 * topic that has none of its rows was made anew or emptied: an operator decides.
 */
#ifndef OUTBOX_TOPIC_AUDIT_H
#define OUTBOX_TOPIC_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "publish/relay.h"
#include "store/store.h"
#include "util/outage.h"
#include "util/reconnect.h"

struct topic_audit {
	const struct conf	*conf;
	struct store		*store;
	struct relay		 relay;		/* for routes and publisher */
	char			 me[65];	/* as the auditor */
	char			 prefix[STORE_PREFIX];
	struct reconnect	 broker;
	bool			 headers;	/* a route asks for them */

	struct audited_topic	*topics;
	size_t			 ntopics;
	bool			 looked;	/* nothing was lost then: */
	uint64_t		 setbacks;	/* of the brokers */

	/* The audit under way. */
	bool			 under_way;
	struct topics_row	 row;		/* when it began */
	char			 upto[STORE_TIME];	/* the next slice ends */
	size_t			 slice;		/* about so many rows */
	struct placed	 rows;		/* of the slice */
	struct pub_sought	*sought;	/* the same; NULL: none is read */
	size_t			 nsought;
	struct lost		*lost;		/* of all slices */
	size_t			 nlost;

	/* Results; the owner clears the first one. */
	uint64_t		 recovered;	/* rows to be sent again */
	struct err		 trouble;	/* why it stands still; or "" */
};

/* As scrub_init(), with what drivers_new_searched() has made; brokers: of all. */
void	topic_audit_init(struct topic_audit *, const struct conf *,
	    struct store *, const struct pub[CONF_DRIVERS],
	    enum keep (*keep)(void *), void *keep_arg, struct outage *brokers);

/* True if the configuration wants it, and there is what can be asked. */
bool	topic_audit_is_wanted(const struct topic_audit *);

/*
 * Look, or go on with an audit, if it is time; *delay_ms: when to call again.
 * Blocks for some seconds at most.  The store is open, and its settings are
 * known.  A broker that fails is logged and tried again; -1: the database
 * failed.
 */
int	topic_audit_step(struct topic_audit *, int64_t *delay_ms, struct err *);

#endif

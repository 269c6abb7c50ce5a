/* conf_ask.c - questions about the configuration, see conf.h */
#include "conf/conf.h"

#include <stdlib.h>

void
conf_counts(const struct conf *c, struct counts *k)
{
	const struct conf_list	*former = &c->outbox.former_counts;

	*k = (struct counts){ .count = (unsigned)c->outbox.partition_count };
	while (k->nformer < former->n && k->nformer < COUNTS_MAX) {
		k->former[k->nformer] = (unsigned)atoi(
		    former->items[k->nformer]);
		k->nformer++;
	}
}

bool
conf_wants_reconcile(const struct conf *c)
{
	if (c->reconcile.at_start == AT_START_AUTO)
		return c->publish.types.n > 0;
	return c->reconcile.at_start == AT_START_ON;
}

bool
conf_wants_retention(const struct conf *c)
{
	return c->retention.days > 0 || c->retention.dead_days > 0;
}

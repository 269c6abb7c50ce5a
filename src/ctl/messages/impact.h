/* impact.h - what a change of messages gives up, and which keys stay halted */
#ifndef OUTBOXCTL_IMPACT_H
#define OUTBOXCTL_IMPACT_H

#include "ctl/base/ctl.h"

/*
 * Ask before these messages are given up: dead letters, or rows of the outbox.
 * The question says how many messages of how many keys they are, and of which
 * types.  *may: the answer; true in a dry run.
 */
int	impact_confirm_loss(struct ctl *, const uint64_t *list, size_t n,
	    bool dead, const char *done, bool *may, struct err *);

/*
 * The keys of these messages, rows or dead letters, that are halted: an array
 * of {"key", "by"}, by the sequence of the dead message.  A halt by a message
 * of the list itself is left out.  NULL: see err.
 */
json_t	*impact_halts(struct ctl *, const uint64_t *list, size_t n,
	    struct err *);

/* Print on standard error that they stay halted, and what releases them. */
void	impact_say_halts(const json_t *halts);

/*
 * Print "3 messages due now", and the keys that stay halted; with --json one
 * object.  Frees halts.
 */
void	impact_report(const struct ctl *, uint64_t n, const char *thing,
	    const char *done, json_t *halts);

#endif

/* audit_fallback.c - see audit_fallback.h */

#include "recovery/audit_fallback.h"

#define FORBIDDEN	3		/* refusals until checks are given up */
#define NOBODY_MS	30000		/* a cluster may have no leader for long */

bool
audit_fallback_is_due(struct audit_fallback *b, const struct pub *p,
    int64_t now)
{
	struct err	e;

	if (p->ops->complaint(p->arg, PUB_FORBIDDEN, &e))
		b->forbidden++;
	if (!p->ops->complaint(p->arg, PUB_NOBODY, &e))
		b->since = 0;
	else if (b->since == 0)
		b->since = now;
	return b->forbidden >= FORBIDDEN ||
	    (b->since != 0 && now - b->since >= NOBODY_MS);
}

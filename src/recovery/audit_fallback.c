/* audit_fallback.c - see audit_fallback.h */

#include "recovery/audit_fallback.h"

#define FORBIDDEN	3		/* refusals until checks are given up */
#define NOBODY_MS	30000		/* a cluster may have no leader for long */
#define LASTING_MS	30000		/* rights may be lacking while an
					   account is changed */

static void
note(struct audit_fallback *b, const struct pub *p, int64_t now)
{
	struct err	e;

	if (p->ops->complaint(p->arg, PUB_FORBIDDEN, &e) &&
	    b->forbidden++ == 0)
		b->forbidden_since = now;
	if (!p->ops->complaint(p->arg, PUB_NOBODY, &e))
		b->since = 0;
	else if (b->since == 0)
		b->since = now;
}

bool
audit_fallback_is_due(struct audit_fallback *b, const struct pub *p,
    int64_t now)
{
	note(b, p, now);
	return b->forbidden >= FORBIDDEN ||
	    (b->since != 0 && now - b->since >= NOBODY_MS);
}

bool
audit_fallback_is_lasting(struct audit_fallback *b, const struct pub *p,
    int64_t now, int64_t stored_at)
{
	note(b, p, now);
	return (b->forbidden >= FORBIDDEN &&
	    now - b->forbidden_since >= LASTING_MS) || (b->since != 0 &&
	    now - b->since >= NOBODY_MS && stored_at > b->since);
}

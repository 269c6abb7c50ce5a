/* pub.c - see pub.h; the wait that all drivers share */

#include "driver/pub.h"

#include <stdlib.h>

#include "util/sig.h"
#include "util/xalloc.h"

void
pub_watch(struct pub_polls *p, int fd, short events)
{
	if (p->n == p->size) {
		p->size = p->size * 2 + 8;
		p->fds = xreallocarray(p->fds, p->size, sizeof(*p->fds));
	}
	p->fds[p->n++] = (struct pollfd){ .fd = fd, .events = events };
}

const struct pub *
pub_next(const struct pub *pubs, size_t *i)
{
	for (; *i < CONF_DRIVERS; (*i)++)
		if (pubs[*i].ops != NULL)
			return &pubs[*i];
	return NULL;
}

bool
pub_is_open(const struct pub *p)
{
	return p->ops->is_open(p->arg);
}

bool
pub_any_open(const struct pub *pubs)
{
	const struct pub	*p;

	for (size_t i = 0; (p = pub_next(pubs, &i)) != NULL; i++)
		if (pub_is_open(p))
			return true;
	return false;
}

/* prepare() of each; ends[i]: where its descriptors end. */
static void
prepare(const struct pub *pubs, size_t n, struct pub_polls *p, size_t *ends)
{
	for (size_t i = 0; i < n; i++) {
		if (pubs[i].ops != NULL)
			pubs[i].ops->prepare(pubs[i].arg, p);
		ends[i] = p->n;
	}
}

void
pub_wait(const struct pub *pubs, size_t n, int fd, int64_t timeout_ms)
{
	struct pub_polls	 p = { .timeout_ms =
				    timeout_ms > 0 ? timeout_ms : 0 };
	size_t			*ends = xcalloc(n, sizeof(*ends)), at = 0;

	prepare(pubs, n, &p, ends);
	pub_watch(&p, fd, POLLIN);
	sig_wait(p.fds, (nfds_t)p.n, p.timeout_ms);
	for (size_t i = 0; i < n; at = ends[i++])
		if (pubs[i].ops != NULL)
			pubs[i].ops->proceed(pubs[i].arg, p.fds + at,
			    ends[i] - at);
	free(ends);
	free(p.fds);
}

void
pub_free(struct pub *p)
{
	if (p->ops != NULL)
		p->ops->free(p->arg);
	p->arg = NULL;
}

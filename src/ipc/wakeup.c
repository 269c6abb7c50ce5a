/* wakeup.c - see wakeup.h */

#include "ipc/wakeup.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define WORDS	(LABEL_BITS / 64)

/* Atomics that use locks do not work between processes. */
static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "64 bits are not atomic here");

struct wakeup_pending {
	_Atomic uint64_t	named[WORDS];	/* not read yet */
};

#define PENDING_SIZE	(CONF_MAX_WORKERS * sizeof(struct wakeup_pending))

static int
open_all(struct wakeup *b, struct err *e)
{
	void	*pending = mmap(NULL, PENDING_SIZE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (pending == MAP_FAILED)
		return err_set(e, "wake-ups: mmap: %s", strerror(errno));
	b->pending = pending;
	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++) {
		b->fds[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (b->fds[i] < 0)
			return err_set(e, "wake-ups: eventfd: %s: is ulimit -n "
			    "too low?", strerror(errno));
	}
	return 0;
}

int
wakeup_open(struct wakeup *b, struct err *e)
{
	b->pending = NULL;
	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++)
		b->fds[i] = -1;
	if (open_all(b, e) < 0) {
		wakeup_close(b);
		return -1;
	}
	return 0;
}

void
wakeup_close(struct wakeup *b)
{
	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++) {
		if (b->fds[i] >= 0)
			close(b->fds[i]);
		b->fds[i] = -1;
	}
	if (b->pending != NULL)
		munmap(b->pending, PENDING_SIZE);
	b->pending = NULL;
}

/* Labels first: a worker that wakes up finds them set. */
void
wakeup_notify(const struct wakeup *b, unsigned slot,
    const struct label_set *which)
{
	for (size_t i = 0; i < WORDS; i++)
		if (which->bits[i] != 0)
			atomic_fetch_or(&b->pending[slot].named[i],
			    which->bits[i]);
	/* Fails only if the counter is full, and so the worker is woken. */
	eventfd_write(b->fds[slot], 1);
}

int
wakeup_fd(const struct wakeup *b, unsigned slot)
{
	return b->fds[slot];
}

bool
wakeup_take(const struct wakeup *b, unsigned slot, struct label_set *which)
{
	eventfd_t	pending;

	memset(which, 0, sizeof(*which));
	if (eventfd_read(b->fds[slot], &pending) != 0)
		return false;
	for (size_t i = 0; i < WORDS; i++)
		which->bits[i] = atomic_exchange(&b->pending[slot].named[i], 0);
	return true;
}

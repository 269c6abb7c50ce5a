/* bell.c - see bell.h */

#include "ipc/bell.h"

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

struct bell_rings {
	_Atomic uint64_t	named[WORDS];	/* not read yet */
};

#define RINGS_SIZE	(CONF_MAX_WORKERS * sizeof(struct bell_rings))

static int
open_all(struct bell *b, struct err *e)
{
	void	*rings = mmap(NULL, RINGS_SIZE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (rings == MAP_FAILED)
		return err_set(e, "mmap: %s", strerror(errno));
	b->rings = rings;
	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++) {
		b->fds[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (b->fds[i] < 0)
			return err_set(e, "eventfd: %s", strerror(errno));
	}
	return 0;
}

int
bell_open(struct bell *b, struct err *e)
{
	b->rings = NULL;
	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++)
		b->fds[i] = -1;
	if (open_all(b, e) < 0) {
		bell_close(b);
		return -1;
	}
	return 0;
}

void
bell_close(struct bell *b)
{
	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++) {
		if (b->fds[i] >= 0)
			close(b->fds[i]);
		b->fds[i] = -1;
	}
	if (b->rings != NULL)
		munmap(b->rings, RINGS_SIZE);
	b->rings = NULL;
}

/* Labels first: a worker that wakes up finds them set. */
void
bell_ring(const struct bell *b, unsigned slot, const struct label_set *which)
{
	for (size_t i = 0; i < WORDS; i++)
		if (which->bits[i] != 0)
			atomic_fetch_or(&b->rings[slot].named[i],
			    which->bits[i]);
	/* Fails only if the counter is full, and so the worker is woken. */
	eventfd_write(b->fds[slot], 1);
}

int
bell_fd(const struct bell *b, unsigned slot)
{
	return b->fds[slot];
}

bool
bell_heard(const struct bell *b, unsigned slot, struct label_set *which)
{
	eventfd_t	rings;

	memset(which, 0, sizeof(*which));
	if (eventfd_read(b->fds[slot], &rings) != 0)
		return false;
	for (size_t i = 0; i < WORDS; i++)
		which->bits[i] = atomic_exchange(&b->rings[slot].named[i], 0);
	return true;
}

/* scoreboard.c - see scoreboard.h */

#include "ipc/scoreboard.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>

#include "util/display.h"
#include "util/log.h"

/* Entries take some microseconds to write, unless their worker has to wait. */
#define REFUSED_TRIES		50
#define REFUSED_PAUSE_NS	200000

static void *
map(int fd)
{
	/* Allocate now: on a full disk a later write would be a SIGBUS. */
	errno = posix_fallocate(fd, 0, sizeof(struct scoreboard));
	if (errno != 0)
		return MAP_FAILED;
	return mmap(NULL, sizeof(struct scoreboard), PROT_READ | PROT_WRITE,
	    MAP_SHARED, fd, 0);
}

struct scoreboard *
scoreboard_create(const char *path, int *fd, struct err *e)
{
	struct scoreboard	*b, *old;
	struct throughput	*t;
	bool			 alive;

	/* A new file: other processes may still map and write the old one. */
	old = scoreboard_open(path, &alive, e);
	unlink(path);
	*fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	if (*fd < 0) {
		err_set(e, "create %s: %s", path, strerror(errno));
		scoreboard_close(old);
		return NULL;
	}
	if ((b = map(*fd)) == MAP_FAILED) {
		err_set(e, "map %s: %s", path, strerror(errno));
		scoreboard_close(old);
		close(*fd);
		return NULL;
	}
	b->magic = SCOREBOARD_MAGIC;
	b->started_at = time(NULL);
	snprintf(b->instance, sizeof(b->instance), "%08x%08x", arc4random(),
	    arc4random());
	t = &b->throughput;
	t->since = b->started_at;
	if (old == NULL)
		return b;
	/* What the master before did in the last minutes stays; its sums begin
	   at 0 again. */
	*t = old->throughput;
	memset(&t->before, 0, sizeof(t->before));
	for (size_t i = 0; i < FIGURES_MAX; i++)
		t->destinations[i].taken = t->destinations[i].failed = 0;
	scoreboard_close(old);
	return b;
}

int
scoreboard_keep_own(struct scoreboard *b, int fd, struct err *e)
{
	char	path[40], *at = (char *)b;
	size_t	page = (size_t)sysconf(_SC_PAGESIZE), size = sizeof(*b);
	size_t	own = offsetof(struct scoreboard, lines[SCOREBOARD_MONITOR]) /
		    page * page;
	int	ro, rc = 0;

	/* What is mapped from such a descriptor can never be written. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if ((ro = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		return err_set(e, "%s: %s", path, strerror(errno));
	if (mmap(at, own, PROT_READ, MAP_SHARED | MAP_FIXED, ro, 0) ==
	    MAP_FAILED || mmap(at + own, size - own, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_FIXED, fd, (off_t)own) == MAP_FAILED)
		rc = err_set(e, "mmap: %s", strerror(errno));
	close(ro);
	if (rc == 0)
		close(fd);
	return rc;
}

/* A lock of fcntl(2) on the whole file; it belongs to one process. */
static struct flock
whole_file(short type)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET };
}

int
scoreboard_live(struct scoreboard *b, int fd, struct err *e)
{
	struct flock	lock = whole_file(F_WRLCK);

	b->master = (int32_t)getpid();
	if (fcntl(fd, F_SETLK, &lock) < 0)
		return err_set(e, "cannot lock the scoreboard: %s",
		    strerror(errno));
	return 0;
}

void
scoreboard_close(struct scoreboard *b)
{
	if (b != NULL)
		munmap(b, sizeof(*b));
}

/* Check the size before mapping: access beyond the end is a SIGBUS. */
static struct scoreboard *
map_to_read(int fd, const char *path, struct err *e)
{
	struct stat		 st;
	struct scoreboard	*b;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		err_set(e, "%s: is not a regular file", path);
		return NULL;
	}
	if (st.st_size != sizeof(*b)) {
		err_set(e, "%s: written by another version", path);
		return NULL;
	}
	b = mmap(NULL, sizeof(*b), PROT_READ, MAP_SHARED, fd, 0);
	if (b == MAP_FAILED) {
		err_set(e, "%s: %s", path, strerror(errno));
		return NULL;
	}
	if (b->magic != SCOREBOARD_MAGIC) {
		err_set(e, "%s: written by another version", path);
		scoreboard_close(b);
		return NULL;
	}
	return b;
}

struct scoreboard *
scoreboard_find(const char *path, bool *alive, pid_t *pid, struct err *e)
{
	/* The daemon's user may have put a FIFO or a link in its place. */
	int			 fd = open(path, O_RDONLY | O_CLOEXEC |
				    O_NONBLOCK | O_NOFOLLOW);
	struct flock		 lock = whole_file(F_RDLCK);
	struct scoreboard	*b;

	*alive = false;
	*pid = 0;
	if (fd < 0) {
		err_set(e, "%s: %s%s", path, strerror(errno),
		    errno == EACCES ? ": run this command as root, or as a "
		    "member of the daemon's group" : "");
		return NULL;
	}
	/*
	 * Needs no right to write: the lock is asked about, not taken.  The
	 * kernel tells the holder's pid if that is of our pid namespace.
	 */
	*alive = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
	if (*alive && lock.l_pid > 0)
		*pid = lock.l_pid;
	b = map_to_read(fd, path, e);
	close(fd);
	return b;
}

struct scoreboard *
scoreboard_open(const char *path, bool *alive, struct err *e)
{
	pid_t	pid;

	return scoreboard_find(path, alive, &pid, e);
}

void
scoreboard_state(struct scoreboard_line *l, enum scoreboard_state state,
    int64_t now)
{
	if (l->state != state || l->state_since == 0)
		l->state_since = now;
	l->state = state;
}

void
scoreboard_alive(struct scoreboard_line *l, int64_t now)
{
	l->alive_at = now;
	log_retry();
	l->log_lost = log_works() ? 0 : log_lost();
}

void
scoreboard_reason(struct scoreboard_line *l, const char *text)
{
	char	safe[sizeof(l->last_error)];

	/* A server may have written it. */
	strlcpy(safe, text, sizeof(safe));
	display_clean(safe);
	l->last_error_at = 0;
	strlcpy(l->last_error, safe, sizeof(l->last_error));
}

void
scoreboard_error(struct scoreboard_line *l, const char *text)
{
	scoreboard_reason(l, text);
	l->last_error_at = time(NULL);
}

void
scoreboard_refused_begin(struct scoreboard_line *l)
{
	__atomic_store_n(&l->refused.version, l->refused.version | 1,
	    __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

void
scoreboard_refused_end(struct scoreboard_line *l)
{
	__atomic_store_n(&l->refused.version, l->refused.version + 1,
	    __ATOMIC_RELEASE);
}

/* Copy them; false: they were written meanwhile. */
static bool
copy_refused(const struct scoreboard_refusals *from,
    struct scoreboard_refusals *to)
{
	uint32_t	version = __atomic_load_n(&from->version,
			    __ATOMIC_ACQUIRE);

	memcpy(to, from, sizeof(*to));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return version % 2 == 0 &&
	    __atomic_load_n(&from->version, __ATOMIC_RELAXED) == version;
}

size_t
scoreboard_refused_read(const struct scoreboard_line *l,
    struct scoreboard_refused to[SCOREBOARD_REFUSED_TYPES])
{
	struct scoreboard_refusals	copy;
	struct timespec			pause = { 0, REFUSED_PAUSE_NS };
	int				tries = 0;
	size_t				n;

	while (!copy_refused(&l->refused, &copy)) {
		if (++tries == REFUSED_TRIES)
			return 0;
		nanosleep(&pause, NULL);
	}
	n = copy.n < SCOREBOARD_REFUSED_TYPES ? copy.n :
	    SCOREBOARD_REFUSED_TYPES;
	for (size_t i = 0; i < n; i++) {
		struct scoreboard_refused *r = &to[i];

		*r = copy.list[i];
		/* Other programs may have written the file: no text is trusted
		   to end. */
		r->class[sizeof(r->class) - 1] = '\0';
		r->type[sizeof(r->type) - 1] = '\0';
		r->subject[sizeof(r->subject) - 1] = '\0';
		r->why[sizeof(r->why) - 1] = '\0';
	}
	return n;
}

bool
scoreboard_server(const struct scoreboard *b, const char *present,
    char server[SCOREBOARD_SERVER])
{
	char	used[SCOREBOARD_SERVER];

	server[0] = '\0';
	for (size_t i = 0; i < CONF_MAX_WORKERS; i++) {
		/* It may be being written. */
		memcpy(used, b->lines[i].server, sizeof(used));
		used[sizeof(used) - 1] = '\0';
		if (b->lines[i].state == SCOREBOARD_FREE || used[0] == '\0' ||
		    (server[0] != '\0' && strcmp(used, present) != 0))
			continue;
		strlcpy(server, used, SCOREBOARD_SERVER);
		if (strcmp(server, present) == 0)
			break;
	}
	return server[0] != '\0';
}

const char *
scoreboard_state_word(uint32_t state)
{
	static const char *const words[] = {
		[SCOREBOARD_FREE] = "free", [SCOREBOARD_STARTING] = "starting",
		[SCOREBOARD_NO_DATABASE] = "no database",
		[SCOREBOARD_NO_BROKER] = "no broker",
		[SCOREBOARD_PAUSED] = "paused",
		[SCOREBOARD_RUNNING] = "running",
		[SCOREBOARD_STANDBY] = "standby",
		[SCOREBOARD_STOPPING] = "stopping",
		[SCOREBOARD_REFUSED] = "refused",
		[SCOREBOARD_NO_BINLOG] = "no binlog",
	};

	return state < sizeof(words) / sizeof(words[0]) ? words[state] : "?";
}

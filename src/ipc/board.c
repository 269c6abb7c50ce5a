/* board.c - see board.h */

#include "ipc/board.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void *
map(int fd)
{
	/* Allocate now: on a full disk a later write would be a SIGBUS. */
	errno = posix_fallocate(fd, 0, sizeof(struct board));
	if (errno != 0)
		return MAP_FAILED;
	return mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE,
	    MAP_SHARED, fd, 0);
}

struct board *
board_create(const char *path, struct err *e)
{
	struct board	*b;
	int		 fd;

	/* A new file: other processes may still map and write the old one. */
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0) {
		err_set(e, "%s: %s", path, strerror(errno));
		return NULL;
	}
	if ((b = map(fd)) == MAP_FAILED) {
		err_set(e, "%s: %s", path, strerror(errno));
		b = NULL;
	}
	close(fd);
	if (b != NULL)
		b->magic = BOARD_MAGIC;
	return b;
}

void
board_close(struct board *b)
{
	if (b != NULL)
		munmap(b, sizeof(*b));
}

/* Check the size before mapping: access beyond the end is a SIGBUS. */
static struct board *
map_to_read(int fd, const char *path, struct err *e)
{
	struct stat	 st;
	struct board	*b;

	if (fstat(fd, &st) < 0 || st.st_size != sizeof(*b)) {
		err_set(e, "%s: not of this version", path);
		return NULL;
	}
	b = mmap(NULL, sizeof(*b), PROT_READ, MAP_SHARED, fd, 0);
	if (b == MAP_FAILED) {
		err_set(e, "%s: %s", path, strerror(errno));
		return NULL;
	}
	if (b->magic != BOARD_MAGIC) {
		err_set(e, "%s: not of this version", path);
		board_close(b);
		return NULL;
	}
	return b;
}

struct board *
board_open(const char *path, struct err *e)
{
	int		 fd = open(path, O_RDONLY | O_CLOEXEC);
	struct board	*b;

	if (fd < 0) {
		err_set(e, "%s: %s", path, strerror(errno));
		return NULL;
	}
	b = map_to_read(fd, path, e);
	close(fd);
	return b;
}

bool
board_is_alive(const struct board *b)
{
	return b->master > 0 && (kill(b->master, 0) == 0 || errno == EPERM);
}

const char *
board_state_word(uint32_t state)
{
	static const char *const words[] = {
		[BOARD_FREE] = "free", [BOARD_STARTING] = "starting",
		[BOARD_NO_DATABASE] = "no database",
		[BOARD_NO_BROKER] = "no broker", [BOARD_PAUSED] = "paused",
		[BOARD_RUNNING] = "running", [BOARD_STOPPING] = "stopping",
	};

	return state < sizeof(words) / sizeof(words[0]) ? words[state] : "?";
}

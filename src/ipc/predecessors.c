/*
 * predecessors.c - see predecessors.h
 *
 * Each slot has its own part of the file, written with one pwrite: after a
 * kill the file has whole records only.
 */

#include "ipc/predecessors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/conf.h"
#include "util/xalloc.h"

#define RECORD		40	/* an id, blanks and a newline */
#define NRECORDS	(CONF_MAX_WORKERS * PREDECESSORS_PER_SLOT)

int
predecessors_open(const char *path, struct err *e)
{
	struct stat	st;
	int		fd;

	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
	    0640);
	if (fd < 0)
		return err_set(e, "open %s: %s", path, strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return err_set(e, "%s: is not a regular file: remove it",
		    path);
	}
	return fd;
}

char
(*predecessors_read(int fd, size_t *n))[IDENT_SIZE]
{
	char	(*ids)[IDENT_SIZE] = xcalloc(NRECORDS, IDENT_SIZE);
	char	record[RECORD + 1];

	*n = 0;
	for (unsigned i = 0; i < NRECORDS; i++) {
		if (pread(fd, record, RECORD, (off_t)i * RECORD) != RECORD)
			break;
		record[RECORD] = '\0';
		record[strcspn(record, " \n")] = '\0';
		if (ident_is_valid(record))
			memcpy(ids[(*n)++], record, IDENT_SIZE);
	}
	return ids;
}

int
predecessors_write(int fd, unsigned slot, const char (*ids)[IDENT_SIZE],
    size_t n, struct err *e)
{
	char	block[PREDECESSORS_PER_SLOT * RECORD + 1];

	for (size_t i = 0; i < PREDECESSORS_PER_SLOT; i++)
		snprintf(block + i * RECORD, RECORD + 1, "%-*s\n", RECORD - 1,
		    i < n ? ids[i] : "");
	if (pwrite(fd, block, sizeof(block) - 1,
	    (off_t)slot * (off_t)(sizeof(block) - 1)) !=
	    (ssize_t)sizeof(block) - 1)
		return err_set(e, "cannot save the list of workers: %s",
		    strerror(errno));
	return 0;
}

void
predecessors_cut(int fd, unsigned slot)
{
	/* If it fails, dead ids are taken over once more, which is harmless. */
	if (ftruncate(fd, (off_t)slot * PREDECESSORS_PER_SLOT * RECORD) < 0)
		return;
}

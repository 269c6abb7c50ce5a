/*
 * heirs.c - see heirs.h
 *
 * Fixed records written with one pwrite each: a kill between two of them
 * leaves a file of whole records.
 */

#include "heirs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf.h"
#include "xalloc.h"

#define RECORD	40		/* an id, blanks, a newline */

int
heirs_open(const char *path, struct err *e)
{
	int	fd;

	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_set(e, "%s: %s", path, strerror(errno));
	return fd;
}

char
(*heirs_read(int fd, size_t *n))[IDENT_SIZE]
{
	char	(*ids)[IDENT_SIZE] = xcalloc(CONF_MAX_WORKERS, IDENT_SIZE);
	char	record[RECORD + 1];

	*n = 0;
	for (unsigned i = 0; i < CONF_MAX_WORKERS; i++) {
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
heirs_write(int fd, unsigned slot, const char *id, struct err *e)
{
	char	record[RECORD + 1];

	snprintf(record, sizeof(record), "%-*s\n", RECORD - 1, id);
	if (pwrite(fd, record, RECORD, (off_t)slot * RECORD) != RECORD)
		return err_set(e, "worker list: %s", strerror(errno));
	return 0;
}

unsigned
heirs_slot(const char *id)
{
	const char	*nonce = ident_nonce(id), *p = nonce - 2;

	while (p > id && p[-1] != ':')
		p--;
	return (unsigned)strtoul(p, NULL, 10);
}

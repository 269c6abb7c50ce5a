/* ident.h - the id of a worker */
#ifndef OUTBOX_IDENT_H
#define OUTBOX_IDENT_H

#include <stdbool.h>

/*
 * A random 64-bit nonce identifies a worker.  Host and slot precede it only so
 * that a worker and its successor sort to the same place: "%.14s:%02u:%016x",
 * at most 35 of the column's 36 characters.
 */
#define IDENT_SIZE	37
#define IDENT_NONCE	17		/* 16 hex digits and the NUL */

/* Make the id of a new worker; slot is 0..999. */
void	ident_new(char id[IDENT_SIZE], const char *host, unsigned slot);

/* The nonce part of an id: its last 16 characters.  NULL if it has none. */
const char *ident_nonce(const char *id);

/* True if the text has the form of an id; for ids read from a file. */
bool	ident_is_valid(const char *id);

/* For qsort(3) of char *: compares bytes, independent of collations. */
int	ident_cmp(const void *, const void *);

#endif

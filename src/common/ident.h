/* ident.h - who a worker is */
#ifndef OUTBOX_IDENT_H
#define OUTBOX_IDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A worker is its 64-bit random nonce.  Host and slot stand before it only
 * so that a worker and its successor sort to the same place:
 * "%.14s:%02u:%016x", at most 34 characters of the column's 36.
 */
#define IDENT_SIZE	37
#define IDENT_NONCE	17		/* 16 hex digits and the NUL */

/* Make the id of a new worker; slot is 0..999. */
void	ident_new(char id[IDENT_SIZE], const char *host, unsigned slot);

/* The nonce part of an id: its last 16 characters.  NULL if it has none. */
const char *ident_nonce(const char *id);

/* Does this text look like an id of ours?  For files read back. */
bool	ident_is_valid(const char *id);

/* Bytewise, as qsort(3) wants it: the order never depends on a collation. */
int	ident_cmp(const void *, const void *);

#endif

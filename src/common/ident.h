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

/* The slot of a valid id. */
unsigned ident_slot(const char *id);

/*
 * Does the first worker come before the other?  By slot and then as bytes,
 * independent of collations: so of what is shared out in turns, the rest falls
 * on different hosts.  by_slot false: as bytes, as other programs and versions
 * before sort.
 */
bool	ident_precedes(const char *, const char *, bool by_slot);

#endif

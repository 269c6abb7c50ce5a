/*
 * exits.h - exit statuses
 *
 * Of outbox-master and outboxctl, beside 0: see EXIT STATUS in their manuals.
 * An init system does not repeat a start that ended with EXIT_USAGE or
 * EXIT_CONFIG: only a change of options or files helps.
 */
#ifndef OUTBOX_EXITS_H
#define OUTBOX_EXITS_H

#define EXIT_FAILED		1
#define EXIT_USAGE		2
#define EXIT_REFUSED		77	/* EX_NOPERM: of outboxctl serve */
#define EXIT_CONFIG		78	/* EX_CONFIG of sysexits(3) */

/* Of a child, for the master. */

/* The child handed its work over to a successor. */
#define EXIT_HANDED_OVER	10

#endif

/* suspect.h - the message that may be killing its workers */
#ifndef OUTBOX_SUSPECT_H
#define OUTBOX_SUSPECT_H

#include <stdint.h>

/* Zeroed: none. */
struct suspect {
	uint64_t	sequence;	/* 0: none */
	unsigned	deaths;		/* of workers that sent it, in a row */
};

#endif

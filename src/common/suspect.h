/* suspect.h - the message that may be what ends the workers */
#ifndef OUTBOX_SUSPECT_H
#define OUTBOX_SUSPECT_H

#include <stdint.h>

/* Zeroed there is none. */
struct suspect {
	uint64_t	sequence;	/* 0: none */
	unsigned	deaths;		/* in a row, each while it was sent */
};

#endif

/*
 * answer_queue.h - for drivers: answers until the relay takes them
 *
 * Zeroed: empty.
 */
#ifndef OUTBOX_ANSWER_QUEUE_H
#define OUTBOX_ANSWER_QUEUE_H

#include "driver/pub.h"

struct answer_queue {
	struct pub_answer	*items;
	size_t			 n, at, size;
};

void	answer_queue_put(struct answer_queue *, const struct pub_answer *);

/* The message was stored, by a destination without sequences. */
void	answer_queue_put_stored(struct answer_queue *, uint32_t index);

/* The oldest; false: there is none. */
bool	answer_queue_take(struct answer_queue *, struct pub_answer *);

bool	answer_queue_has(const struct answer_queue *);
void	answer_queue_clear(struct answer_queue *);	/* keeps the memory */
void	answer_queue_free(struct answer_queue *);

#endif

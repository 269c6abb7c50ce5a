/*
 * fuzz_binlog.c - a stream of binlog events
 *
 * The events are fields of the input, so lengths in them may be wrong.
 */

#include "fuzz/fuzz.h"

#include "mysql/binlog_event.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input		 in = { data, size };
	struct binlog_watch	 w;
	uint16_t		 len;
	uint8_t			*event;

	binlog_watch_init(&w, "app", "outbox", take_byte(&in) % 80);
	w.keys = 5;
	while (in.left > 0) {
		len = (uint16_t)(take_byte(&in) | take_byte(&in) << 8);
		if (len > in.left)
			len = (uint16_t)in.left;
		event = malloc(len == 0 ? 1 : len);
		MUST(event != NULL);
		memcpy(event, in.at, len);
		if (binlog_event(&w, event, len) == BINLOG_COMMITTED)
			MUST((w.labels.all || w.labels.n <= BINLOG_LABELS) &&
			    w.vanish.n <= VANISH_ROWS &&
			    w.vanish.gone <= w.vanish.n);
		free(event);
		in.at += len;
		in.left -= len;
	}
	return 0;
}

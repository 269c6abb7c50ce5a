/*
 * fuzz_event.c - a line of JSON for outboxctl enqueue, in both modes
 *
 * Payload and metadata that are taken as they stand in the line are the values
 * that the JSON library has found there.
 */

#include "fuzz/fuzz.h"

#include "ctl/messages/event.h"

static void
check_raw(const struct event *ev, const char *name, const char *text,
    size_t len)
{
	json_t	*wanted = json_object_get(ev->json, name);
	json_t	*found = json_loadb(text, len, JSON_DECODE_ANY |
		    JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL |
		    JSON_ALLOW_NUL, NULL);

	MUST(found != NULL && json_equal(found, wanted));
	json_decref(found);
}

static void
parse(const char *line, size_t len, bool inlined)
{
	struct event	ev;
	struct err	e;

	if (event_parse(&ev, line, len, inlined, &e) < 0) {
		MUST(e.text[0] != '\0');
		return;
	}
	MUST(ev.type[0] != '\0' && ev.payload != NULL);
	MUST(inlined || (ev.key != NULL && ev.key[0] != '\0'));
	MUST(inlined ? ev.version == 0 && ev.stream_sequence == 0 :
	    ev.id == NULL && ev.scheduled_at == NULL);
	MUST(!ev.base64 || ev.payload_len % 4 == 0);
	if (json_object_get(ev.json, "payload") != NULL &&
	    !json_is_string(json_object_get(ev.json, "payload")))
		check_raw(&ev, "payload", ev.payload, ev.payload_len);
	if (ev.metadata != NULL)
		check_raw(&ev, "metadata", ev.metadata, ev.metadata_len);
	event_free(&ev);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char	*line = malloc(size == 0 ? 1 : size);

	MUST(line != NULL);
	if (size > 0)
		memcpy(line, data, size);
	parse(line, size, false);
	parse(line, size, true);
	free(line);
	return 0;
}

/* batch.c - see batch.h */

#include "unit/batch.h"

struct msg	msgs[MANY];
struct batch	batch;

void
batch_of(const char *keys)
{
	static char	lower[MANY];

	ck_assert_uint_le(strlen(keys), MANY);
	memset(msgs, 0, sizeof(msgs));
	batch = (struct batch){ .msgs = msgs, .n = strlen(keys) };
	for (size_t i = 0; i < batch.n; i++) {
		bool held = keys[i] >= 'A' && keys[i] <= 'Z';

		lower[i] = (char)(held ? keys[i] - 'A' + 'a' : keys[i]);
		msgs[i].sequence = 100 + i;
		msgs[i].has_event = true;
		msgs[i].held = held;
		msgs[i].type = BYTES("T");
		msgs[i].payload = BYTES("{}");
		msgs[i].partition = BYTES("p01");
		if (keys[i] != '-')
			msgs[i].key = (struct bytes){ lower + i, 1 };
	}
}

void
draw_keys(char *keys, size_t len, int n, int one_held_in)
{
	for (size_t i = 0; i < len; i++) {
		keys[i] = (char)('a' + rand() % n);
		if (rand() % one_held_in == 0)
			keys[i] = (char)(keys[i] - 'a' + 'A');
	}
	keys[len] = '\0';
}

/* msg.c - rows as plain data; no database and no broker */

#include "common/msg.h"

#include <stdlib.h>
#include <string.h>

#include "util/err.h"
#include "util/printable.h"
#include "util/xalloc.h"

uint64_t
bytes_hash(struct bytes b)
{
	uint64_t	h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < b.len; i++)
		h = (h ^ (unsigned char)b.data[i]) * UINT64_C(0x100000001b3);
	return h;
}

uint64_t
text_hash(const char *text)
{
	return bytes_hash((struct bytes){ text, strlen(text) });
}

uint64_t
msg_place(int64_t partition, int64_t offset)
{
	return partition < 0 || partition >= INT16_MAX || offset < 0 ||
	    offset >= (int64_t)MSG_PLACES - 1 ? 0 :
	    (uint64_t)(partition + 1) * MSG_PLACES + (uint64_t)offset + 1;
}

int32_t
msg_place_partition(uint64_t place)
{
	return (int32_t)(place / MSG_PLACES) - 1;
}

int64_t
msg_place_offset(uint64_t place)
{
	return (int64_t)(place % MSG_PLACES) - 1;
}

void
batch_free(struct batch *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(b->msgs[i].error);
	free(b->msgs);
	free(b->labels);
	free(b->refused);
	if (b->rows != NULL)
		b->free_rows(b->rows);
	if (b->more_rows != NULL)
		b->free_rows(b->more_rows);
	memset(b, 0, sizeof(*b));
}

static int
msg_cmp(const void *a, const void *b)
{
	const struct msg	*x = a, *y = b;

	return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

void
batch_sort(struct batch *b)
{
	qsort(b->msgs, b->n, sizeof(*b->msgs), msg_cmp);
}

struct msg *
batch_msg(const struct batch *b, uint64_t sequence)
{
	struct msg	key = { .sequence = sequence };

	return b->n == 0 ? NULL :
	    bsearch(&key, b->msgs, b->n, sizeof(key), msg_cmp);
}

void
batch_take(struct batch *to, struct batch *from)
{
	to->msgs = from->msgs;
	to->n = from->n;
	to->naway = from->naway;
	to->read_at = from->read_at;
	to->rows = from->rows;
	to->free_rows = from->free_rows;
	memset(from, 0, sizeof(*from));
}

bool
batch_keep(struct batch *b, const uint64_t *sequences, size_t n)
{
	size_t	kept = 0;

	for (size_t i = 0; i < b->n && kept < n; i++)
		if (b->msgs[i].sequence == sequences[kept])
			b->msgs[kept++] = b->msgs[i];
	b->n = kept == n ? n : 0;
	return kept == n;
}

struct message_id
msg_id(struct msg *m)
{
	if (!m->hashed && m->has_event && !m->away) {
		m->hash = message_hash(m);
		m->hashed = true;
	}
	return (struct message_id){ .sequence = m->sequence,
	    .replay = m->replay, .hashed = m->hashed, .hash = m->hash };
}

bool
msg_has_hash(struct msg *m, uint64_t hash, const char *time)
{
	struct msg	before = *m;

	if (msg_id(m).hash == hash)
		return true;
	before.left_out = 0;
	before.time = time[0] == '\0' ? (struct bytes){ NULL, 0 } :
	    (struct bytes){ time, strlen(time) };
	return m->left_out != 0 && message_hash(&before) == hash;
}

bool
msg_is_stored(struct msg *m, const struct message_id *found, const char *time)
{
	struct message_id	id = msg_id(m);

	if (message_id_is(&id, found))
		return true;
	if (m->sequence != found->sequence || m->replay != found->replay ||
	    !found->hashed || !msg_has_hash(m, found->hash, time))
		return false;
	m->hash = found->hash;
	return true;
}

bool
msg_has_own_id(const struct msg *m)
{
	return m->id.data != NULL && m->id.len > 0;
}

/* A message that is sent again on purpose is another one. */
void
msg_put_author_id(struct buf *b, const struct msg *m)
{
	printable_put(b, m->id.data, m->id.len);
	if (m->replay > 0)
		buf_printf(b, "-r%u", m->replay);
}

void
msg_put_id(struct buf *b, const char *prefix, struct msg *m)
{
	struct message_id	id = msg_id(m);

	if (msg_has_own_id(m) && !m->renamed)
		msg_put_author_id(b, m);
	else
		message_id_put(b, prefix, &id);
}

void
batch_refuse(struct batch *b, uint64_t sequence)
{
	b->refused = xreallocarray(b->refused, b->nrefused + 1,
	    sizeof(*b->refused));
	b->refused[b->nrefused++] = sequence;
}

bool
batch_is_refused(const struct batch *b, uint64_t sequence)
{
	for (size_t i = 0; i < b->nrefused; i++)
		if (b->refused[i] == sequence)
			return true;
	return false;
}

uint64_t
msg_group(const struct msg *m)
{
	/* NATS, 0, has the hash of the type alone. */
	return bytes_hash(m->type) ^ m->destination * UINT64_C(0x9e3779b97f4a7c15);
}

size_t
msg_size(const struct msg *m)
{
	return m->payload.len + m->metadata.len;
}

void
msg_fail(struct msg *m, enum outcome outcome, const char *error)
{
	struct err	text;		/* it fits the column and is UTF-8 */

	m->outcome = outcome;
	free(m->error);
	err_set(&text, "%s", error);
	m->error = xstrdup(text.text);
}

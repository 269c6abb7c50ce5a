/* type_tokens.c - see type_tokens.h; pure */

#include "driver/type_tokens.h"

#include <string.h>

#include "util/type_words.h"

struct type_tokens
type_tokens_of(const struct conf *c)
{
	return (struct type_tokens){ (enum conf_type_case)c->publish.type_case,
	    &c->publish.type_aliases };
}

void
type_tokens_put(struct buf *b, const struct type_tokens *t, struct bytes type)
{
	const char	*tokens = NULL;

	for (size_t i = 0; t->aliases != NULL && i < t->aliases->n &&
	    tokens == NULL; i++) {
		const struct conf_pair	*p = &t->aliases->items[i];

		if (strlen(p->name) == type.len &&
		    memcmp(p->name, type.data, type.len) == 0)
			tokens = p->value;
	}
	if (tokens != NULL)
		buf_str(b, tokens);
	else if (t->type_case == CASE_NONE)
		buf_add(b, type.data, type.len);
	else
		type_words_put(b, type.data, type.len,
		    t->type_case == CASE_KEBAB ? '-' : '_');
}

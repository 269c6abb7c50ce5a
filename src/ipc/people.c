/* people.c - see people.h */

#include "ipc/people.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "util/secret.h"

const char *const	people_commands[CONF_ACTIONS] = {
	[ACTION_RETRY] = "messages retry",
	[ACTION_DISCARD] = "messages discard",
	[ACTION_REPLAY] = "messages replay",
	[ACTION_PAUSE] = "partitions pause",
	[ACTION_RESUME] = "partitions resume",
	[ACTION_RELEASE] = "keys release",
	[ACTION_DEAD_RETRY] = "dead retry",
	[ACTION_DEAD_PURGE] = "dead purge",
};

static void
hash_token(const char *token, unsigned char hash[32])
{
	if (EVP_Digest(token, strlen(token), hash, NULL, EVP_sha256(),
	    NULL) != 1)
		abort();
}

/* The token of a person, if it has one that can be used; -1: see err. */
static int
read_token(struct person *p, const char *file, struct err *e)
{
	char	*token = secret_read(file, "", e);
	int	 rc = token == NULL ? -1 : 0;

	if (rc == 0 && strlen(token) < CONF_TOKEN_MIN)
		rc = err_set(e, "%s: the token is shorter than %d characters",
		    file, CONF_TOKEN_MIN);
	/* A browser sends no other, and serve reads UTF-8. */
	for (size_t i = 0; rc == 0 && token[i] != '\0'; i++)
		if (token[i] < ' ' || token[i] > '~')
			rc = err_set(e, "%s: the token has characters that are "
			    "not printable ASCII", file);
	if (rc == 0) {
		hash_token(token, p->hash);
		p->has_token = 1;
	}
	secret_free(token);
	return rc;
}

/* Take those away that several have; -1: see err. */
static int
refuse_shared(struct people *t, struct err *e)
{
	bool	shared[PEOPLE_MAX] = { false };
	int	rc = 0;

	for (unsigned i = 0; i < t->n; i++)
		for (unsigned j = 0; j < i; j++) {
			const struct person	*a = &t->list[j], *b = &t->list[i];

			if (!a->has_token || !b->has_token ||
			    memcmp(a->hash, b->hash, sizeof(a->hash)) != 0)
				continue;
			shared[i] = shared[j] = true;
			rc = err_set(e, "monitor.tokens: %s has the same token "
			    "as %s", b->name, a->name);
		}
	for (unsigned i = 0; i < t->n; i++)
		t->list[i].has_token &= !shared[i];
	return rc;
}

int
people_read(struct people *t, const struct conf *conf, struct err *e)
{
	const struct conf_person *p = conf->monitor.tokens.items;
	const char	*file = conf->monitor.token_file;
	struct person	*to = t->list;
	struct err	 why;
	int		 rc = 0;

	memset(t, 0, sizeof(*t));
	if (file[0] != '\0') {
		strlcpy(to->name, CONF_NOBODY, sizeof(to->name));
		to->may = (1U << CONF_ACTIONS) - 1;
		if (read_token(to++, file, e) < 0)
			rc = err_in(e, "monitor.token_file");
	}
	for (size_t i = 0; i < conf->monitor.tokens.n; i++, p++, to++) {
		strlcpy(to->name, p->name, sizeof(to->name));
		to->may = conf_may(p);
		to->is_named = conf->monitor.user_header[0] != '\0';
		if (p->file[0] != '\0' && read_token(to, p->file, &why) < 0 &&
		    rc == 0) {
			*e = why;
			rc = err_in(e, "monitor.tokens: %s", p->name);
		}
	}
	t->n = (unsigned)(to - t->list);
	return refuse_shared(t, rc == 0 ? e : &why) < 0 ? -1 : rc;
}

const struct person *
people_find(const struct people *t, const char *token)
{
	const struct person	*found = NULL;
	unsigned char		 hash[32];

	hash_token(token, hash);
	for (unsigned i = 0; i < t->n; i++)
		if (CRYPTO_memcmp(hash, t->list[i].hash, sizeof(hash)) == 0 &&
		    t->list[i].has_token)
			found = &t->list[i];
	return found;
}

const struct person *
people_named(const struct people *t, const char *name)
{
	const struct person	*any = NULL;

	for (unsigned i = 0; i < t->n; i++) {
		if (!t->list[i].is_named)
			continue;
		if (strcmp(t->list[i].name, name) == 0)
			return &t->list[i];
		if (strcmp(t->list[i].name, CONF_ANYBODY) == 0)
			any = &t->list[i];
	}
	return any;
}

enum conf_action
people_action(const char *command)
{
	enum conf_action	i = 0;

	while (i < CONF_ACTIONS && strcmp(people_commands[i], command) != 0)
		i++;
	return i;
}

bool
people_may_act(const struct people *t)
{
	for (unsigned i = 0; i < t->n; i++)
		if ((t->list[i].has_token || t->list[i].is_named) &&
		    t->list[i].may != 0)
			return true;
	return false;
}

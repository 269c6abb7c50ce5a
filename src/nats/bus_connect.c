/* bus_connect.c - options of a connection: server, login, timeouts */

#include "nats/bus_impl.h"

#include <limits.h>
#include <string.h>

#include "util/clock.h"
#include "util/secret.h"
#include "util/xalloc.h"

#define CONNECT_TIMEOUT_MS	2000
#define PING_INTERVAL_MS	2000	/* see BUS_SILENT_MS */
#define IO_BUFFER		(256 * 1024)
#define FAILED_MS		60000

/*
 * The library asks for the server's nonce to be signed.  It frees the text of
 * an error.
 */
static natsStatus
sign(char **text, unsigned char **signature, int *len, const char *nonce,
    void *arg)
{
	const struct conf	*c = arg;
	struct err		 e;
	char			*seed = secret_read(c->nats.nkey_file, "", &e);
	natsStatus		 s;

	if (seed == NULL) {
		*text = xstrdup(e.text);
		return NATS_ERR;
	}
	s = nats_Sign(seed, nonce, signature, len);
	secret_free(seed);
	if (s != NATS_OK)
		*text = xasprintf("%s: is not a seed: the first line must "
		    "begin with SU", c->nats.nkey_file);
	return s;
}

static natsStatus
set_identity(struct bus *b, natsOptions *o, struct err *e)
{
	const struct conf	*c = b->conf;
	bool			 user = c->nats.user[0] != '\0';
	natsStatus		 s = NATS_ERR;
	char			*secret;
	void			*arg;

	if (c->nats.credentials_file[0] != '\0') {
		if (secret_check_file(c->nats.credentials_file, e) < 0)
			return NATS_ERR;
		return natsOptions_SetUserCredentialsFromFiles(o,
		    c->nats.credentials_file, NULL);
	}
	if (c->nats.nkey_file[0] != '\0') {
		if (secret_check_file(c->nats.nkey_file, e) < 0)
			return NATS_ERR;
		/* No pointer to const is taken; sign() changes nothing. */
		/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
		arg = (void *)(uintptr_t)c;
		return natsOptions_SetNKey(o, c->nats.nkey, sign, arg);
	}
	if (!user && c->nats.token_file[0] == '\0' &&
	    c->nats.token_env[0] == '\0')
		return NATS_OK;
	/* The password of nats.user or, without a user, a token. */
	secret = user ? secret_read(c->nats.password_file,
	    c->nats.password_env, e) :
	    secret_read(c->nats.token_file, c->nats.token_env, e);
	if (secret == NULL)
		err_in(e, user ? "nats password" : "nats token");
	else if (user)
		s = natsOptions_SetUserInfo(o, c->nats.user, secret);
	else
		s = natsOptions_SetToken(o, secret);
	secret_free(secret);
	return s;
}

static natsStatus
set_manner(struct bus *b, natsOptions *o, const char *server)
{
	natsStatus	s;

	s = natsOptions_SetURL(o, server);
	if (s == NATS_OK)
		s = natsOptions_SetName(o, b->name);
	/* A wait must not be longer than the interval of lease renewals. */
	if (s == NATS_OK)
		s = natsOptions_SetTimeout(o, sooner(CONNECT_TIMEOUT_MS,
		    b->conf->worker.lease_renew));
	if (s == NATS_OK)
		s = natsOptions_SetAllowReconnect(o, false);
	if (s == NATS_OK)
		s = natsOptions_SetPingInterval(o, PING_INTERVAL_MS);
	/* Whether the server is silent is judged in bus_loop.c. */
	if (s == NATS_OK)
		s = natsOptions_SetMaxPingsOut(o, INT_MAX);
	if (s == NATS_OK)
		s = natsOptions_SetIOBufSize(o, IO_BUFFER);
	if (s == NATS_OK)
		s = natsOptions_SetSendAsap(o, true);
	if (s == NATS_OK)
		s = natsOptions_SetErrorHandler(o, bus_on_error, b);
	if (s == NATS_OK)
		s = natsOptions_SetEventLoop(o, b, bus_on_attach, bus_on_read,
		    bus_on_write, bus_on_detach);
	return s;
}

void
bus_describe(natsStatus s, struct err *e)
{
	natsStatus	 last;
	const char	*text = nats_GetLastError(&last);

	if (text == NULL || text[0] == '\0' || last != s)
		text = natsStatus_GetText(s);
	/* Skip the library's prefix "(file.c:line): ". */
	if (text[0] == '(' && strstr(text, "): ") != NULL)
		text = strstr(text, "): ") + 3;
	err_set(e, "%s", text);
}

size_t
bus_nfailed(const struct bus *b)
{
	size_t	n = 0;

	for (size_t i = 0; i < b->conf->nats.servers.n; i++)
		n += b->failed_at[i] != 0 &&
		    clock_ms() - b->failed_at[i] < FAILED_MS;
	return n;
}

int
bus_connect_to(struct bus *b, const char *server, struct err *e)
{
	natsOptions	*o = NULL;
	natsStatus	 s;

	e->text[0] = '\0';
	s = natsOptions_Create(&o);
	if (s == NATS_OK)
		s = set_manner(b, o, server);
	if (s == NATS_OK)
		s = set_identity(b, o, e);
	if (s == NATS_OK)
		s = bus_set_tls(b->conf, o, server, e);
	if (s == NATS_OK)
		s = natsConnection_Connect(&b->nc, o);
	natsOptions_Destroy(o);
	if (s != NATS_OK && e->text[0] == '\0')
		bus_describe(s, e);
	return s == NATS_OK ? 0 : bus_explain_tls(b->conf, s, e);
}

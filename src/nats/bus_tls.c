/*
 * bus_tls.c - which connections are encrypted, and whom they trust
 *
 * The rule is the same for each server of the list.  The library would send a
 * password in clear text to any server that does not ask for TLS.
 */

#include "nats/bus_impl.h"

#include <string.h>

#include "util/secret.h"

#define HOST_SIZE	256

/* The host of "nats://host:port", "host" or "tls://[::1]:4222". */
static void
host_of(const char *server, char host[HOST_SIZE])
{
	const char	*p = strstr(server, "://");
	size_t		 n;

	p = p == NULL ? server : p + 3;
	if (*p == '[')
		n = strcspn(++p, "]");
	else
		n = strcspn(p, ":");
	if (n >= HOST_SIZE)
		n = HOST_SIZE - 1;
	memcpy(host, p, n);
	host[n] = '\0';
}

static enum conf_tls
mode_for(const struct conf *c, const char *server)
{
	char	host[HOST_SIZE];

	if (c->nats.tls.mode != TLS_AUTO)
		return (enum conf_tls)c->nats.tls.mode;
	host_of(server, host);
	if (strncmp(server, "tls://", 6) == 0 || c->nats.tls.first ||
	    c->nats.tls.ca[0] != '\0' || c->nats.tls.cert[0] != '\0' ||
	    !conf_is_loopback(host))
		return TLS_VERIFY;
	return TLS_DISABLE;
}

static natsStatus
set_first(natsOptions *o, struct err *e)
{
#ifdef HAVE_NATSOPTIONS_TLSHANDSHAKEFIRST
	(void)e;
	return natsOptions_TLSHandshakeFirst(o);
#else
	(void)o;
	err_set(e, "nats.tls.first needs nats.c 3.9 or newer; this program "
	    "was built with %s", nats_GetVersion());
	return NATS_ERR;
#endif
}

natsStatus
bus_set_tls(const struct conf *c, natsOptions *o, const char *server,
    struct err *e)
{
	enum conf_tls	mode = mode_for(c, server);
	natsStatus	s = NATS_OK;
	char		host[HOST_SIZE];

	host_of(server, host);
	if (c->nats.tls.first)
		s = set_first(o, e);
	if (s == NATS_OK && mode != TLS_DISABLE)
		s = natsOptions_SetSecure(o, true);
	/* The default depends on how the library was built. */
	if (s == NATS_OK && mode != TLS_REQUIRE)
		s = natsOptions_SetExpectedHostname(o, host);
	if (s == NATS_OK && mode == TLS_REQUIRE)
		s = natsOptions_SkipServerVerification(o, true);
	if (s == NATS_OK && c->nats.tls.ca[0] != '\0')
		s = natsOptions_LoadCATrustedCertificates(o, c->nats.tls.ca);
	if (s == NATS_OK && c->nats.tls.cert[0] != '\0' &&
	    secret_check_file(c->nats.tls.key, e) < 0)
		s = NATS_ERR;
	if (s == NATS_OK && c->nats.tls.cert[0] != '\0')
		s = natsOptions_LoadCertificatesChain(o, c->nats.tls.cert,
		    c->nats.tls.key);
	return s;
}

int
bus_explain_tls(const struct conf *c, natsStatus s, struct err *e)
{
	struct err	why = *e;

	if (s == NATS_SECURE_CONNECTION_WANTED)
		return err_set(e, "the server offers no TLS, and nats.tls.mode "
		    "%s needs it: nothing was sent; turn TLS on there, or set "
		    "nats.tls.mode to disable if you trust the network",
		    c->nats.tls.mode == TLS_AUTO ? "auto" :
		    c->nats.tls.mode == TLS_REQUIRE ? "require" : "verify");
	if (s == NATS_SSL_ERROR && strstr(why.text, "issuer cert") != NULL)
		return err_set(e, "%s (nats.tls.ca: %s)", why.text,
		    c->nats.tls.ca[0] == '\0' ? "the authorities of the "
		    "system" : c->nats.tls.ca);
	return -1;
}

/*
 * bus_tls.c - which connections are encrypted, and whom they trust
 *
 * The rule is the same for each server of the list.  The library would send a
 * password in clear text to any server that does not ask for TLS.
 */

#include "nats/bus_impl.h"

#include <string.h>

#include "util/secret.h"

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
	enum conf_tls	mode = conf_nats_tls(c, server);
	natsStatus	s = NATS_OK;
	char		host[CONF_HOST];

	conf_url_host(server, host);
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

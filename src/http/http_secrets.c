/*
 * http_secrets.c - the bearer token, the keys that sign requests, and the
 * headers of each request, which may be secrets
 */

#include "http/http_impl.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "util/secret.h"
#include "util/xalloc.h"

void
http_secrets_forget(struct http *h)
{
	secret_free(h->token);
	h->token = NULL;
	for (size_t i = 0; i < h->nkeys; i++)
		secret_free(h->keys[i].secret);
	free(h->keys);
	h->keys = NULL;
	h->nkeys = 0;
	for (size_t i = 0; i < h->nfixed; i++)
		secret_free(h->fixed[i].value);
	free(h->fixed);
	h->fixed = NULL;
	h->nfixed = 0;
}

int
http_secrets_read(struct http *h, struct err *e)
{
	const struct conf_signing_key	*k = h->conf->http.signing_keys.items;
	const struct conf_header	*c = h->conf->http.headers.items;
	size_t				 nkeys = h->conf->http.signing_keys.n;
	size_t				 nfixed = h->conf->http.headers.n;
	char				*secret;

	http_secrets_forget(h);
	if ((h->token = conf_http_token(h->conf, e)) == NULL)
		return err_in(e, "http token");
	h->keys = xcalloc(nkeys + 1, sizeof(*h->keys));
	for (; h->nkeys < nkeys; h->nkeys++, k++) {
		if ((secret = conf_signing_key(k->file, e)) == NULL)
			return err_in(e, "http.signing_keys: %s", k->id);
		h->keys[h->nkeys] = (struct signing_key){ k->id, secret };
	}
	h->fixed = xcalloc(nfixed + 1, sizeof(*h->fixed));
	for (; h->nfixed < nfixed; h->nfixed++, c++) {
		if ((secret = conf_http_header(c, e)) == NULL)
			return -1;
		h->fixed[h->nfixed] = (struct fixed_header){ c->name, secret };
	}
	return 0;
}

void
http_sign(const struct http *h, const struct buf *text, struct buf *out)
{
	static const char	hex[] = "0123456789abcdef";
	unsigned char		mac[EVP_MAX_MD_SIZE];

	for (size_t i = 0; i < h->nkeys; i++) {
		const struct signing_key *k = &h->keys[i];
		unsigned n = 0;

		buf_str(out, i == 0 ? "" : ",");
		buf_str(out, k->id);
		buf_str(out, "=");
		HMAC(EVP_sha256(), k->secret, (int)strlen(k->secret),
		    (const unsigned char *)text->data, text->len, mac, &n);
		for (unsigned at = 0; at < n; at++) {
			buf_add(out, &hex[mac[at] >> 4], 1);
			buf_add(out, &hex[mac[at] & 15], 1);
		}
	}
}

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

static int
read_keys(struct http *h, struct err *e)
{
	const struct conf_signing_key	*k = h->conf->http.signing_keys.items;
	size_t				 n = h->conf->http.signing_keys.n;

	h->keys = xcalloc(n + 1, sizeof(*h->keys));
	for (; h->nkeys < n; h->nkeys++, k++) {
		char *secret = secret_read(k->file, "", e);

		if (secret == NULL)
			return err_in(e, "http.signing_keys: %s", k->id);
		h->keys[h->nkeys] = (struct signing_key){ k->id, secret };
	}
	return 0;
}

static int
read_headers(struct http *h, struct err *e)
{
	const struct conf_header	*c = h->conf->http.headers.items;
	size_t				 n = h->conf->http.headers.n;

	h->fixed = xcalloc(n + 1, sizeof(*h->fixed));
	for (; h->nfixed < n; h->nfixed++, c++) {
		char *value = conf_http_header(c, e);

		if (value == NULL)
			return -1;
		h->fixed[h->nfixed] = (struct fixed_header){ c->name, value };
	}
	return 0;
}

int
http_secrets_read(struct http *h, struct err *e)
{
	http_secrets_forget(h);
	if ((h->token = conf_http_token(h->conf, e)) == NULL)
		return err_in(e, "http token");
	return read_keys(h, e) < 0 ? -1 : read_headers(h, e);
}

static void
put_mac(const struct signing_key *k, const struct buf *text, struct buf *out)
{
	static const char	hex[] = "0123456789abcdef";
	unsigned char		mac[EVP_MAX_MD_SIZE];
	unsigned		n = 0;

	HMAC(EVP_sha256(), k->secret, (int)strlen(k->secret),
	    (const unsigned char *)text->data, text->len, mac, &n);
	for (unsigned i = 0; i < n; i++) {
		buf_add(out, &hex[mac[i] >> 4], 1);
		buf_add(out, &hex[mac[i] & 15], 1);
	}
}

void
http_sign(const struct http *h, const struct buf *text, struct buf *out)
{
	for (size_t i = 0; i < h->nkeys; i++) {
		buf_str(out, i == 0 ? "" : ",");
		buf_str(out, h->keys[i].id);
		buf_str(out, "=");
		put_mac(&h->keys[i], text, out);
	}
}

/* http_secrets.c - the bearer token and the keys that sign requests */

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

int
http_secrets_read(struct http *h, struct err *e)
{
	http_secrets_forget(h);
	h->token = secret_read(h->conf->http.token_file,
	    h->conf->http.token_env, e);
	if (h->token == NULL)
		return err_in(e, "http token");
	return read_keys(h, e);
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

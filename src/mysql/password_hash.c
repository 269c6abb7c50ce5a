/*
 * password_hash.c - see password_hash.h
 *
 * MySQL keeps the SHA-256 form of crypt(3), "$5$", with 5000 rounds, but its
 * salt has 20 characters, of which crypt(3) would take 16.
 */

#include "mysql/password_hash.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "util/buf.h"

#define ROUNDS		5000
#define SHA1_SIZE	20
#define SHA256_SIZE	32

/* One digest of the bytes, which are wiped and forgotten. */
static void
digest(const EVP_MD *md, struct buf *b, unsigned char *to)
{
	if (EVP_Digest(b->data, b->len, to, NULL, md, NULL) != 1)
		abort();
	explicit_bzero(b->data, b->len);
	buf_clear(b);
}

void
password_hash_native(char to[PASSWORD_HASH_SIZE], const char *password)
{
	unsigned char	 once[SHA1_SIZE], twice[SHA1_SIZE];
	char		*at = to;

	*to = '\0';
	if (*password == '\0')
		return;
	if (EVP_Digest(password, strlen(password), once, NULL, EVP_sha1(),
	    NULL) != 1 || EVP_Digest(once, sizeof(once), twice, NULL,
	    EVP_sha1(), NULL) != 1)
		abort();
	*at++ = '*';
	for (size_t i = 0; i < sizeof(twice); i++)
		at += sprintf(at, "%02X", twice[i]);
	explicit_bzero(once, sizeof(once));
}

/* As many bytes of the digest, repeated, as the text has. */
static void
add_repeated(struct buf *b, const unsigned char *d, size_t n)
{
	for (; n > SHA256_SIZE; n -= SHA256_SIZE)
		buf_add(b, (const char *)d, SHA256_SIZE);
	buf_add(b, (const char *)d, n);
}

/* crypt(3) takes the bytes in an order of its own, six bits a letter. */
static void
put_letters(char *to, const unsigned char *d)
{
	static const char		letters[] = "./0123456789"
					    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					    "abcdefghijklmnopqrstuvwxyz";
	static const unsigned char	order[] = { 0, 10, 20, 21, 1, 11, 12,
	    22, 2, 3, 13, 23, 24, 4, 14, 15, 25, 5, 6, 16, 26, 27, 7, 17, 18,
	    28, 8, 9, 19, 29 };
	uint32_t			w;

	for (size_t i = 0; i < sizeof(order); i += 3) {
		w = (uint32_t)d[order[i]] << 16 |
		    (uint32_t)d[order[i + 1]] << 8 | d[order[i + 2]];
		for (int j = 0; j < 4; j++, w >>= 6)
			*to++ = letters[w & 63];
	}
	w = (uint32_t)d[31] << 8 | d[30];
	for (int j = 0; j < 3; j++, w >>= 6)
		*to++ = letters[w & 63];
	*to = '\0';
}

void
password_hash_sha2(char to[PASSWORD_HASH_SIZE], const char *password,
    const char *salt)
{
	unsigned char	d[SHA256_SIZE], x[SHA256_SIZE];
	struct buf	b = { 0 }, p = { 0 }, s = { 0 };
	size_t		n = strlen(password);

	*to = '\0';
	if (n == 0)
		return;
	/* The digest that the rounds begin with. */
	buf_str(&b, password);
	buf_add(&b, salt, PASSWORD_SALT);
	buf_str(&b, password);
	digest(EVP_sha256(), &b, d);
	buf_str(&b, password);
	buf_add(&b, salt, PASSWORD_SALT);
	add_repeated(&b, d, n);
	for (size_t bits = n; bits > 0; bits >>= 1)
		if ((bits & 1) != 0)
			buf_add(&b, (const char *)d, SHA256_SIZE);
		else
			buf_str(&b, password);
	digest(EVP_sha256(), &b, d);
	/* Password and salt as each round takes them. */
	for (size_t i = 0; i < n; i++)
		buf_str(&b, password);
	digest(EVP_sha256(), &b, x);
	add_repeated(&p, x, n);
	for (int i = 0; i < 16 + d[0]; i++)
		buf_add(&b, salt, PASSWORD_SALT);
	digest(EVP_sha256(), &b, x);
	add_repeated(&s, x, PASSWORD_SALT);
	for (int i = 0; i < ROUNDS; i++) {
		bool	odd = (i & 1) != 0;

		buf_add(&b, odd ? p.data : (const char *)d,
		    odd ? p.len : SHA256_SIZE);
		if (i % 3 != 0)
			buf_add(&b, s.data, s.len);
		if (i % 7 != 0)
			buf_add(&b, p.data, p.len);
		buf_add(&b, odd ? (const char *)d : p.data,
		    odd ? SHA256_SIZE : p.len);
		digest(EVP_sha256(), &b, d);
	}
	to += sprintf(to, "$A$005$%.*s", PASSWORD_SALT, salt);
	put_letters(to, d);
	explicit_bzero(p.data, p.len);
	buf_free(&b);
	buf_free(&p);
	buf_free(&s);
}

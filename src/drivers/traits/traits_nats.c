/* traits_nats.c - NATS, with JetStream or without */

#include "drivers/traits/traits.h"

#include <string.h>

#include "common/advice.h"
#include "util/printable.h"

static const struct advice advice[] = {
	{ "uthorization", "correct the login in the section nats, or the "
	  "account on the server" },
	{ "uthentication", "correct the login in the section nats, or the "
	  "account on the server" },
	{ "aximum connections", "end connections of other clients, or raise "
	  "max_connections in the server's configuration, or for the account" },
	{ "aximum account active connections", "end connections of other "
	  "clients of the account, or raise its limit" },
	{ "ermissions Violation", "give the account the rights of "
	  "outbox.yml(5)" },
	{ "ecure Connection", "set nats.tls, which the server asks for or "
	  "lacks" },
	{ "xpired", "renew the credentials, or the certificate" },
	{ "JetStream does not answer", "turn on JetStream in the server's "
	  "configuration, or for the account; a full disk may have turned it "
	  "off: the log of the server tells" },
	{ "JetStream domain", "connect the leaf node, or correct "
	  "nats.domain" },
	{ "JetStream behind", "import it as outbox.yml(5) shows, or correct "
	  "nats.api_prefix" },
	{ "no answer to", "if the disk of the broker is full, make room, and "
	  "restart it if it still gives no answer; if it is not busy, give "
	  "the account the rights of outbox.yml(5)" },
	{ "TLS", "correct nats.tls, or the server's certificate" },
	{ "SSL", "correct nats.tls, or the server's certificate" },
	{ "certificate", "correct nats.tls, or the server's certificate" },
	{ NULL, NULL }
};

static int
check_subject(const char *subject, size_t len, struct err *e)
{
	char	before = '.';

	/* A row must not reach the server's own API, such as a purge. */
	if (subject[0] == '$' || strncmp(subject, "_INBOX.", 7) == 0)
		return err_set(e, "subject \"%s\" is not legal: it is "
		    "reserved for the server", subject);
	if (len > SUBJECT_MAX)
		return err_set(e, "subject of %zu bytes is longer than %d", len,
		    SUBJECT_MAX);
	for (size_t i = 0; i < len; before = subject[i++]) {
		unsigned char c = (unsigned char)subject[i];

		if (c <= ' ' || c == 0x7f)
			return err_set(e, "subject \"%s\" is not legal: it "
			    "holds a blank or a control character", subject);
		if (c == '*' || c == '>')
			return err_set(e, "subject \"%s\" is not legal: it "
			    "holds a wildcard", subject);
		if (c == '.' && before == '.')
			return err_set(e, "subject \"%s\" is not legal: it "
			    "has an empty token", subject);
	}
	if (before == '.')
		return err_set(e, "subject \"%s\" is not legal: it has an "
		    "empty token", subject);
	return 0;
}

/* True if the bytes can be one or several tokens of a subject. */
static bool
is_tokens(struct bytes b)
{
	if (!printable_is(b.data, b.len) || b.len == 0 ||
	    b.data[0] == '.' || b.data[b.len - 1] == '.')
		return false;
	return memchr(b.data, ' ', b.len) == NULL &&
	    memchr(b.data, '*', b.len) == NULL &&
	    memchr(b.data, '>', b.len) == NULL &&
	    memmem(b.data, b.len, "..", 2) == NULL;
}

static void
put_remedy(const struct conf *conf, const struct conf_route *rule,
    const char *error, struct buf *b)
{
	(void)rule;
	advice_put(advice, error, "NATS server", &conf->nats.servers,
	    "nats.servers", b);
}

const struct driver_traits traits_nats = {
	.noun = "broker",
	.has_stream = true,
	.template_key = "nats.subject",
	.template = offsetof(struct conf, nats.subject),
	.own_template = offsetof(struct conf_route, subject),
	.takes_key = is_tokens,
	.check = check_subject,
	.audit = { NULL, "stream ", "", "sequences", "nats.recover" },
	.head = {
		{ "nats", offsetof(struct conf, nats.servers), true },
		{ "stream", offsetof(struct conf, nats.stream), false },
		{ "subject", offsetof(struct conf, nats.subject), false },
	},
	.put_remedy = put_remedy,
};

/*
 * conf_form_kafka.c - the forms of brokers, topics and properties of Kafka
 *
 * As conf_form.c.  A property is refused if a key has its value, if the driver
 * sets it, or if another value would break a promise.
 */

#include "conf/conf_impl.h"

#include <string.h>

#define TOPIC_MAX	249		/* bytes, of Kafka */
#define PROPERTY_MAX	100

int
conf_form_broker(const char *text, struct err *e)
{
	if (strstr(text, "://") != NULL)
		return err_set(e, "has a scheme in it: write HOST:PORT; "
		    "kafka.tls.mode says whether to encrypt");
	if (strchr(text, ',') != NULL)
		return err_set(e, "has a comma in it: make each broker an item "
		    "of the list");
	return conf_form_address(text, e);
}

int
conf_form_topic(const char *text, struct err *e)
{
	if (strlen(text) > TOPIC_MAX)
		return err_set(e, "is longer than %d bytes", TOPIC_MAX);
	if (strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
		return err_set(e, "%s is not the name of a topic", text);
	for (const char *s = text; *s != '\0'; s++) {
		if (*s == '{') {
			if ((s = conf_form_placeholder(s, e)) == NULL)
				return -1;
		} else if (strchr(CONF_LETTERS CONF_DIGITS "._-", *s) == NULL)
			return err_set(e, "%s may only have letters, digits, "
			    "., _, - and placeholders", conf_show(text).text);
	}
	return 0;
}

/* Names, or their beginnings, if they end with "*"; the first match counts. */
static const struct {
	const char	*name, *why;
} taken[] = {
	{ "bootstrap.servers", "use kafka.brokers" },
	{ "metadata.broker.list", "use kafka.brokers" },
	{ "security.protocol", "use kafka.tls.mode and kafka.sasl.mechanism" },
	{ "sasl.mechanism*", "use kafka.sasl.mechanism" },
	{ "sasl.username", "use kafka.sasl.user" },
	{ "sasl.password", "use kafka.sasl.password_file" },
	{ "ssl.ca.location", "use kafka.tls.ca" },
	{ "ssl.certificate.location", "use kafka.tls.cert" },
	{ "ssl.key.location", "use kafka.tls.key" },
	{ "enable.ssl.certificate.verification", "use kafka.tls.mode" },
	{ "ssl.endpoint.identification.algorithm", "use kafka.tls.mode" },
	{ "acks", "is always all: a message counts as delivered when all "
	    "replicas in sync have it" },
	{ "request.required.acks", "is always all, as acks" },
	{ "enable.idempotence", "is always true: otherwise a retry of the "
	    "client makes a second copy" },
	{ "enable.gapless.guarantee", "is the driver's: it retries by itself" },
	{ "max.in.flight*", "is the driver's: see publish.window" },
	{ "message.timeout.ms", "follows publish.timeout_ms, and the end of "
	    "the claim" },
	{ "delivery.timeout.ms", "follows publish.timeout_ms, and the end of "
	    "the claim" },
	{ "message.send.max.retries", "is the driver's: nothing is sent again "
	    "after publish.timeout_ms" },
	{ "retries", "is the driver's: nothing is sent again after "
	    "publish.timeout_ms" },
	{ "partitioner*", "is that of Java's client: the order key chooses the "
	    "partition for all producers alike" },
	{ "queue.*", "follows publish.window" },
	{ "queuing.strategy", "is always fifo: order" },
	{ "delivery.report*", "is the driver's: each message has an answer" },
	{ "produce.offset.report", "is the driver's: each message has an "
	    "answer" },
	{ "transaction*", "is not supported" },
	{ "plugin.library.paths", "is not supported" },
	{ "log.queue", "is the driver's: see log.level" },
	{ "log.thread.name", "is the driver's: see log.level" },
	{ "internal.termination.signal", "is the driver's" },
	{ "enabled_events", "is the driver's" },
	{ "opaque", "is the driver's" },
	{ "*_cb", "is the driver's" },
};

static bool
is_taken(const char *text, const char *pattern)
{
	size_t	n = strlen(pattern), len = strlen(text);

	if (pattern[0] == '*')
		return len >= n - 1 && strcmp(text + len - (n - 1),
		    pattern + 1) == 0;
	return pattern[n - 1] == '*' ? strncmp(text, pattern, n - 1) == 0 :
	    strcmp(text, pattern) == 0;
}

int
conf_form_file_property(const char *text, struct err *e)
{
	if (conf_form_word(text, PROPERTY_MAX, CONF_LOWER CONF_DIGITS "._",
	    "lower-case letters, digits, . and _", e) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (is_taken(text, taken[i].name))
			return err_set(e, "%s", taken[i].why);
	return 0;
}

/* A value in the file is no secret. */
int
conf_form_property(const char *text, struct err *e)
{
	static const char *const	words[] = { "password", "secret", ".pem" };

	if (conf_form_file_property(text, e) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(text, words[i]) != NULL)
			return err_set(e, "is a secret: use "
			    "kafka.client_files");
	return 0;
}

int
conf_form_mechanism(const char *text, struct err *e)
{
	static const char *const	known[] = { "PLAIN", "SCRAM-SHA-256",
		"SCRAM-SHA-512" };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(text, known[i]) == 0)
			return 0;
	return err_set(e, "%s is not PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512",
	    conf_show(text).text);
}

/* traits_http.c - HTTP endpoints */

#include "drivers/traits/traits.h"

#include <stdio.h>
#include <string.h>

#include "common/advice.h"
#include "drivers/traits/url_path.h"

static const struct advice advice[] = {
	{ "token", "correct http.token_file or http.token_env" },
	{ "signing_keys", "correct http.signing_keys" },
	{ "HTTP 401", "correct http.token_file or http.signing_keys, or what "
	  "the endpoint expects" },
	{ "HTTP 407", "let the proxy of http.proxy pass requests of this "
	  "host" },
	{ "HTTP 3", "correct http.endpoint, or set http.follow_redirects: "
	  "true" },
	{ "allow_private", "correct http.endpoint, or allow private "
	  "addresses" },
	{ "certificate", "correct http.tls, or the server's certificate" },
	{ "SSL", "correct http.tls, or the server's certificate" },
	{ NULL, NULL }
};

/* What it answers is its own affair, which its log explains. */
static void
put_remedy(const struct conf *conf, const struct conf_route *rule,
    const char *error, struct buf *b)
{
	const char	*known = advice_find(advice, error);
	bool		 own = rule != NULL && rule->endpoint[0] != '\0';
	char		 key[100];

	snprintf(key, sizeof(key), own ? "endpoint of route %s" :
	    "http.endpoint", own ? rule->name : "");
	if (known != NULL)
		buf_str(b, known);
	else if (strncmp(error, "HTTP ", 5) == 0)
		buf_printf(b, "the log of the server at %s tells why it "
		    "answers so; mend it, or correct %s: what waits is sent "
		    "again by itself", own ? rule->endpoint :
		    conf->http.endpoint, key);
	else
		buf_printf(b, "start the server at %s, or correct %s", own ?
		    rule->endpoint : conf->http.endpoint, key);
}

const struct driver_traits traits_http = {
	.noun = "destination",
	.template_key = "http.path",
	.template = offsetof(struct conf, http.path),
	.own_template = offsetof(struct conf_route, path),
	.put_value = url_path_put,
	.check = url_path_check,
	.head = {
		{ "endpoint", offsetof(struct conf, http.endpoint), false },
	},
	.put_remedy = put_remedy,
};

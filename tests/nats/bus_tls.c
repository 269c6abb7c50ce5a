/* bus_tls.c - encryption: servers that are trusted, and those that are not */

#include "nats/bus_test.h"

/* expired.pem: of yesterday; named.pem: of another host. */
static void
make_certificates(void)
{
	servers_certificates();
	servers_run("cd %s && exec 2>openssl.log && "
	    "sign() { openssl x509 -req -in server.csr -CA ca.pem "
	    "-CAkey ca.key -CAcreateserial \"$@\"; } && "
	    "sign -days 0 -extfile server.ext -out expired.pem && "
	    "printf 'subjectAltName=DNS:elsewhere.example\\n' >named.ext && "
	    "sign -days 30 -extfile named.ext -out named.pem",
	    servers_path(""));
}

static void
start_with(const char *name, const char *cert, const char *more)
{
	char		 tls[620];
	const char	*lines[] = { tls, NULL };

	snprintf(tls, sizeof(tls), "tls: { cert_file: \"%s%s\", "
	    "key_file: \"%s\", ca_file: \"%s\"%s }", servers_path(""), cert,
	    servers_path("server.key"), servers_path("ca.pem"), more);
	servers_start(name, "nats", lines);
}

static void
start_tls(void)
{
	make_certificates();
	servers_start("nats", "nats", NULL);
	start_with("tls", "server.pem", "");
	start_with("mtls", "server.pem", ", verify: true");
	start_with("expired", "expired.pem", "");
	start_with("named", "named.pem", "");
}

#define WORKS	NULL
#define CLEAR	"offers no TLS"
#define BAD	"local issuer"
#define OTHER	"mismatch"
#define OLD	"expired"

/*
 * All servers listen on 127.0.0.1, which 0.0.0.0 also leads to: to the bus
 * that is another host, and a name that is in no certificate.
 */
static const struct {
	const char	*server, *scheme, *host, *mode, *ca, *cert, *error;
} modes[] = {
	{ "tls", "nats://", "127.0.0.1", "auto", "ca", "", WORKS },
	{ "tls", "tls://", "127.0.0.1", "auto", "ca", "", WORKS },
	{ "tls", "", "127.0.0.1", "auto", "ca", "", WORKS },
	{ "tls", "nats://", "localhost", "auto", "ca", "", WORKS },
	{ "tls", "nats://", "127.0.0.1", "auto", "other", "", BAD },
	{ "tls", "nats://", "0.0.0.0", "auto", "ca", "", OTHER },
	{ "tls", "nats://", "127.0.0.1", "auto", "", "", BAD },
	{ "tls", "tls://", "127.0.0.1", "auto", "", "", BAD },
	{ "tls", "nats://", "127.0.0.1", "auto", "ca", "client", WORKS },
	{ "mtls", "nats://", "127.0.0.1", "auto", "ca", "", "" },
	{ "mtls", "nats://", "127.0.0.1", "auto", "ca", "client", WORKS },
	{ "expired", "nats://", "127.0.0.1", "auto", "ca", "", OLD },
	{ "named", "nats://", "127.0.0.1", "auto", "ca", "", OTHER },
	{ "nats", "nats://", "127.0.0.1", "auto", "", "", WORKS },
	{ "nats", "", "127.0.0.1", "auto", "", "", WORKS },
	{ "nats", "nats://", "localhost", "auto", "", "", WORKS },
	{ "nats", "nats://", "127.0.0.1", "auto", "ca", "", CLEAR },
	{ "nats", "nats://", "127.0.0.1", "auto", "", "client", CLEAR },
	{ "nats", "tls://", "127.0.0.1", "auto", "", "", CLEAR },
	{ "nats", "nats://", "0.0.0.0", "auto", "", "", CLEAR },
	{ "nats", "", "0.0.0.0", "auto", "", "", CLEAR },

	{ "tls", "nats://", "127.0.0.1", "verify", "ca", "", WORKS },
	{ "tls", "nats://", "localhost", "verify", "ca", "", WORKS },
	{ "tls", "nats://", "0.0.0.0", "verify", "ca", "", OTHER },
	{ "tls", "nats://", "127.0.0.1", "verify", "other", "", BAD },
	{ "tls", "nats://", "127.0.0.1", "verify", "", "", BAD },
	{ "mtls", "nats://", "127.0.0.1", "verify", "ca", "client", WORKS },
	{ "expired", "nats://", "127.0.0.1", "verify", "ca", "", OLD },
	{ "named", "nats://", "127.0.0.1", "verify", "ca", "", OTHER },
	{ "nats", "nats://", "127.0.0.1", "verify", "ca", "", CLEAR },
	{ "nats", "nats://", "127.0.0.1", "verify", "", "", CLEAR },

	{ "tls", "nats://", "0.0.0.0", "require", "", "", WORKS },
	{ "tls", "tls://", "0.0.0.0", "require", "other", "", WORKS },
	{ "expired", "nats://", "127.0.0.1", "require", "", "", WORKS },
	{ "named", "nats://", "127.0.0.1", "require", "ca", "", WORKS },
	{ "mtls", "nats://", "127.0.0.1", "require", "", "client", WORKS },
	{ "nats", "nats://", "127.0.0.1", "require", "", "", CLEAR },

	{ "nats", "nats://", "0.0.0.0", "disable", "", "", WORKS },
	{ "nats", "nats://", "127.0.0.1", "disable", "ca", "", WORKS },
	/* The server asks for it. */
	{ "tls", "nats://", "127.0.0.1", "disable", "ca", "", WORKS },
	{ "tls", "nats://", "127.0.0.1", "disable", "", "", BAD },
	{ "named", "nats://", "127.0.0.1", "disable", "ca", "", OTHER },
};

START_TEST(tls_is_as_asked)
{
	char		 ca[200] = "", cert[400] = "", keys[900];
	const char	*error = modes[_i].error;

	if (modes[_i].ca[0] != '\0')
		snprintf(ca, sizeof(ca), "%s/%s.pem", servers_path(""),
		    modes[_i].ca);
	if (modes[_i].cert[0] != '\0')
		snprintf(cert, sizeof(cert), ", cert: %s, key: %s",
		    servers_path("client.pem"), servers_path("client.key"));
	snprintf(keys, sizeof(keys), "servers: [\"%s%s:%s\"], "
	    "tls: {mode: %s, ca: \"%s\"%s}", modes[_i].scheme, modes[_i].host,
	    servers_get(modes[_i].server, "PORT"), modes[_i].mode, ca, cert);
	conf = conf_with(keys);
	bus = bus_new(conf, "check");
	ck_assert_msg(open_bus(&bus) == (error == WORKS ? 0 : -1), "%s",
	    e.text);
	ck_assert(is_open() == (error == WORKS));
	ck_has(e.text, error == WORKS ? "" : error);
	pub_free(&bus);
	conf_free(conf);
}
END_TEST

START_TEST(tls_carries_messages)
{
	char	keys[300];

	server = "tls";
	snprintf(keys, sizeof(keys), "tls: {ca: \"%s\"}",
	    servers_path("ca.pem"));
	conf = conf_of_server(keys);
	bus = bus_new(conf, "check");
	ck_assert_int_eq(open_bus(&bus), 0);
	bus.ops->begin(bus.arg, INT64_MAX);
	for (uint32_t i = 0; i < 1000; i++)
		send_row(i + 1, i);
	/* There is no stream, but everything goes to and fro. */
	for (uint32_t i = 0; i < 1000; i++)
		ck_answer(PUB_SOME_INDEX, VERDICT_ABSENT, "responders");
	pub_free(&bus);
	conf_free(conf);
}
END_TEST

START_TEST(key_of_all_is_refused)
{
	char	keys[700];

	server = "mtls";
	servers_run("cp %s %s && chmod 644 %s", servers_path("client.key"),
	    servers_path("open.key"), servers_path("open.key"));
	snprintf(keys, sizeof(keys), "tls: {ca: %s, cert: %s, key: %s}",
	    servers_path("ca.pem"), servers_path("client.pem"),
	    servers_path("open.key"));
	conf = conf_of_server(keys);
	bus = bus_new(conf, "check");
	ck_assert_int_eq(open_bus(&bus), -1);
	ck_has(e.text, "mode 644 gives all users access");
	servers_run("chmod 640 %s", servers_path("open.key"));
	ck_assert_msg(open_bus(&bus) == 0, "%s", e.text);
	pub_free(&bus);
	conf_free(conf);
}
END_TEST

/* One list: each server is asked for TLS, wherever the bus begins. */
START_TEST(each_server_of_a_list_is_verified)
{
	char	keys[500];

	snprintf(keys, sizeof(keys), "servers: [\"nats://127.0.0.1:%s\", "
	    "\"tls://127.0.0.1:%s\", \"nats://127.0.0.1:%s\", "
	    "\"127.0.0.1:%s\"], tls: {mode: verify, ca: %s}",
	    servers_get("nats", "PORT"), servers_get("named", "PORT"),
	    servers_get("expired", "PORT"), servers_get("tls", "PORT"),
	    servers_path("ca.pem"));
	conf = conf_with(keys);
	bus = bus_new(conf, "check");
	for (int i = 0, good = 0; i < 8; i++) {
		good += open_bus(&bus) == 0;
		ck_assert_int_eq(good, i / 4 + (good > i / 4));
	}
	pub_free(&bus);
	conf_free(conf);
}
END_TEST

#ifdef HAVE_NATSOPTIONS_TLSHANDSHAKEFIRST
/* Servers from 2.10.4 on can wait for the client to begin. */
static void
start_silent(void)
{
	int	major = 0, minor = 0;

	start_tls();
	sscanf(servers_get("tls", "VERSION"), "%d.%d", &major, &minor);
	if (major > 2 || (major == 2 && minor >= 10))
		start_with("silent", "server.pem", ", handshake_first: true");
}

START_TEST(tls_comes_first_indeed)
{
	char	keys[300];

	if (!servers_runs("silent"))
		return;
	server = "silent";
	snprintf(keys, sizeof(keys), "tls: {first: %s, ca: %s}",
	    _i == 0 ? "true" : "false", servers_path(_i == 2 ? "other.pem" :
	    "ca.pem"));
	conf = conf_of_server(keys);
	bus = bus_new(conf, "check");
	ck_assert_msg(open_bus(&bus) == (_i == 0 ? 0 : -1), "%s", e.text);
	pub_free(&bus);
	conf_free(conf);
}
END_TEST
#endif

/* This server speaks first. */
START_TEST(tls_comes_first)
{
	char	keys[300];

	server = "tls";
	snprintf(keys, sizeof(keys), "tls: {first: true, ca: %s}",
	    servers_path("ca.pem"));
	conf = conf_of_server(keys);
	bus = bus_new(conf, "check");
	ck_assert_int_eq(open_bus(&bus), -1);
#ifdef HAVE_NATSOPTIONS_TLSHANDSHAKEFIRST
	ck_has(e.text, "SSL");
#else
	ck_has(e.text, "nats.tls.first needs nats.c 3.9");
#endif
	pub_free(&bus);
	conf_free(conf);
}
END_TEST

/* Certificates are read for each connection. */
START_TEST(new_certificates_are_read)
{
	char	keys[300];

	server = "tls";
	servers_run("cp %s %s", servers_path("other.pem"),
	    servers_path("trusted.pem"));
	snprintf(keys, sizeof(keys), "tls: {ca: \"%s\"}",
	    servers_path("trusted.pem"));
	conf = conf_of_server(keys);
	bus = bus_new(conf, "check");
	ck_assert_int_eq(open_bus(&bus), -1);
	servers_run("cp %s %s", servers_path("ca.pem"),
	    servers_path("trusted.pem"));
	ck_assert_msg(open_bus(&bus) == 0, "%s", e.text);
	pub_free(&bus);
	conf_free(conf);
}
END_TEST

void
add_encryption(Suite *s)
{
	TCase	*tc = server_case(s, "tls", start_tls, NULL, NULL);

	tcase_add_loop_test(tc, tls_is_as_asked, 0, NROWS(modes));
	tcase_add_test(tc, tls_carries_messages);
	tcase_add_test(tc, key_of_all_is_refused);
	tcase_add_test(tc, each_server_of_a_list_is_verified);
	tcase_add_test(tc, tls_comes_first);
	tcase_add_test(tc, new_certificates_are_read);
#ifdef HAVE_NATSOPTIONS_TLSHANDSHAKEFIRST
	tc = server_case(s, "first", start_silent, NULL, NULL);
	tcase_add_loop_test(tc, tls_comes_first_indeed, 0, 3);
#endif
}

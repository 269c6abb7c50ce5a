/*
 * conf_secrets.c - can the secrets be read that the configuration names?
 *
 * Apart from conf_load(), because the answer is that of a process: a daemon
 * asks as the user that it runs as, and a command that uses no server never.
 * A secret is read and forgotten here; each connection reads it anew.
 */
#include "conf/conf_impl.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/secret.h"
#include "util/xalloc.h"

static int
blame(const struct conf *c, const char *key, struct err *e)
{
	unsigned	line = c->lines == NULL ? 0 :
			    c->lines[conf_key(key) - conf_table];

	if (line != 0)
		return err_in(e, "%s: line %u: %s", c->path, line, key);
	return err_in(e, "%s: %s", c->path, key);
}

/* One of the two keys is empty, or both. */
static int
check_secret(const struct conf *c, const char *file_key, const char *file,
    const char *env_key, const char *env, struct err *e)
{
	char	*secret = secret_read(file, env, e);

	if (secret == NULL)
		return blame(c, file[0] != '\0' ? file_key : env_key, e);
	secret_free(secret);
	return 0;
}

/* A file that a library reads by itself; "" is none. */
static int
check_file(const struct conf *c, const char *key, const char *path,
    struct err *e)
{
	struct stat	st;

	if (path[0] == '\0')
		return 0;
	if (secret_check_file(path, e) < 0)
		return blame(c, key, e);
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0) {
		err_set(e, "%s: the file is empty", path);
		return blame(c, key, e);
	}
	return 0;
}

int
conf_check_mysql_secret(const struct conf *c, struct err *e)
{
	if (check_file(c, "mysql.tls.key", c->mysql.tls.key, e) < 0)
		return -1;
	if (c->mysql.password_file[0] != '\0' &&
	    access(c->mysql.password_file, F_OK) < 0 && errno == ENOENT) {
		err_set(e, "%s: %s: outboxctl setup writes it",
		    c->mysql.password_file, strerror(errno));
		return blame(c, "mysql.password_file", e);
	}
	return check_secret(c, "mysql.password_file", c->mysql.password_file,
	    "mysql.password_env", c->mysql.password_env, e);
}

/* A line break in it would begin another header. */
static char *
read_line(const char *file, const char *env, struct err *e)
{
	char	*line = secret_read(file, env, e);

	if (line == NULL || conf_form_line(line, e) == 0)
		return line;
	err_in(e, "%s", file[0] != '\0' ? file : env);
	secret_free(line);
	return NULL;
}

char *
conf_http_token(const struct conf *c, struct err *e)
{
	return read_line(c->http.token_file, c->http.token_env, e);
}

char *
conf_http_header(const struct conf_header *h, struct err *e)
{
	char	*value = h->file[0] == '\0' ? xstrdup(h->value) :
		    read_line(h->file, "", e);

	if (value == NULL)
		err_in(e, "http.headers: %s", h->name);
	return value;
}

/* The line of a key that signs, or of a header, is that of the item. */
int
conf_check_http_secrets(const struct conf *c, struct err *e)
{
	const struct conf_signing_key	*key = c->http.signing_keys.items;
	const struct conf_header	*h = c->http.headers.items;
	char				*secret;

	if (!conf_uses_http(c))
		return 0;
	if (check_file(c, "http.tls.key", c->http.tls.key, e) < 0)
		return -1;
	for (size_t i = 0; i < c->http.signing_keys.n; i++, key++) {
		if ((secret = secret_read(key->file, "", e)) == NULL)
			return err_in(e, "%s: line %u: http.signing_keys: %s",
			    c->path, key->line, key->id);
		secret_free(secret);
	}
	for (size_t i = 0; i < c->http.headers.n; i++, h++) {
		if ((secret = conf_http_header(h, e)) == NULL)
			return err_in(e, "%s: line %u", c->path, h->line);
		secret_free(secret);
	}
	if ((secret = conf_http_token(c, e)) == NULL)
		return blame(c, c->http.token_file[0] != '\0' ?
		    "http.token_file" : "http.token_env", e);
	secret_free(secret);
	return 0;
}

char *
conf_monitor_token(const struct conf *c, struct err *e)
{
	const char	*file = c->monitor.token_file;
	char		*token = secret_read(file, "", e);

	if (token != NULL && strlen(token) >= CONF_TOKEN_MIN)
		return token;
	if (token != NULL)
		err_set(e, "%s: the token is shorter than %d characters",
		    file, CONF_TOKEN_MIN);
	secret_free(token);
	(void)err_in(e, "monitor.token_file");
	return NULL;
}

int
conf_check_monitor_token(const struct conf *c, struct err *e)
{
	char	*token;

	if (c->monitor.token_file[0] == '\0')
		return 0;
	token = conf_monitor_token(c, e);
	secret_free(token);
	return token == NULL ? err_in(e, "%s", c->path) : 0;
}

int
conf_check_nats_secret(const struct conf *c, struct err *e)
{
	if (check_file(c, "nats.tls.key", c->nats.tls.key, e) < 0)
		return -1;
	if (c->nats.credentials_file[0] != '\0')
		return check_file(c, "nats.credentials_file",
		    c->nats.credentials_file, e);
	if (c->nats.nkey_file[0] != '\0')
		return check_secret(c, "nats.nkey_file", c->nats.nkey_file,
		    "", "", e);
	if (c->nats.user[0] != '\0')
		return check_secret(c, "nats.password_file",
		    c->nats.password_file, "nats.password_env",
		    c->nats.password_env, e);
	return check_secret(c, "nats.token_file", c->nats.token_file,
	    "nats.token_env", c->nats.token_env, e);
}

int
conf_check_kafka_secrets(const struct conf *c, struct err *e)
{
	const struct conf_pair	*p = c->kafka.client_files.items;
	char			*secret;

	if (!conf_uses_driver(c, DRIVER_KAFKA))
		return 0;
	if (check_file(c, "kafka.tls.key", c->kafka.tls.key, e) < 0)
		return -1;
	for (size_t i = 0; i < c->kafka.client_files.n; i++, p++) {
		if ((secret = secret_read(p->value, "", e)) == NULL)
			return err_in(e, "%s: line %u: kafka.client_files: %s",
			    c->path, p->line, p->name);
		secret_free(secret);
	}
	return check_secret(c, "kafka.sasl.password_file",
	    c->kafka.sasl.password_file, "kafka.sasl.password_env",
	    c->kafka.sasl.password_env, e);
}

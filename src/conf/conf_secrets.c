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
blame(const struct conf *c, const struct conf_key *k, struct err *e)
{
	unsigned	line = c->lines == NULL ? 0 : c->lines[k - conf_table];

	if (line != 0)
		return err_in(e, "%s: line %u: %s", c->path, line, k->name);
	return err_in(e, "%s: %s", c->path, k->name);
}

static int
blame_item(const struct conf *c, unsigned line, const struct conf_key *k,
    const char *item, struct err *e)
{
	return err_in(e, "%s: line %u: %s: %s", c->path, line, k->name, item);
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
conf_signing_key(const char *file, struct err *e)
{
	char	*key = secret_read(file, "", e);

	if (key == NULL || strlen(key) >= CONF_KEY_MIN)
		return key;
	secret_free(key);
	err_set(e, "%s: the key is shorter than %d bytes and might be guessed: "
	    "make another, as by openssl rand -hex 32", file, CONF_KEY_MIN);
	return NULL;
}

/* What a key, or a field of a record, says; "" is none. */
static int
check_value(const struct conf_key *k, const char *value, struct err *e)
{
	bool		 env = k->check == conf_form_env;
	const char	*file = env ? "" : value;
	char		*secret;

	if (k->secret == 0 || value[0] == '\0')
		return 0;
	if (k->secret == SECRET_FILE) {
		struct stat	st;

		/* A file that a library reads by itself. */
		if (secret_check_file(value, e) < 0)
			return -1;
		return stat(value, &st) == 0 && S_ISREG(st.st_mode) &&
		    st.st_size == 0 ? err_set(e, "%s: the file is empty", value)
		    : 0;
	}
	if (k->secret == SECRET_KEY)
		secret = conf_signing_key(file, e);
	else if (k->secret == SECRET_LINE)
		secret = read_line(file, env ? value : "", e);
	else
		secret = secret_read(file, env ? value : "", e);
	if (secret == NULL)
		return -1;
	secret_free(secret);
	return 0;
}

static int
check_records(const struct conf *c, const struct conf_key *k, struct err *e)
{
	const struct conf_records	*r = conf_field(c, k);

	for (size_t i = 0; i < r->n; i++) {
		const void	*record = conf_record(r, k, i);

		for (size_t n = 0; n < k->nfields; n++)
			if (k->fields[n].secret != 0 && check_value(
			    &k->fields[n], *(char *const *)conf_field(record,
			    &k->fields[n]), e) < 0)
				return blame_item(c, *(const unsigned *)record,
				    k, *(char *const *)conf_field(record,
				    k->fields), e);
	}
	return 0;
}

static int
check_key(const struct conf *c, const struct conf_key *k, struct err *e)
{
	const struct conf_map	*map = conf_field(c, k);

	if (k->type == CONF_RECORDS)
		return check_records(c, k, e);
	if (k->secret == 0)
		return 0;
	if (k->type == CONF_STRING)
		return check_value(k, *(char *const *)conf_field(c, k), e) < 0 ?
		    blame(c, k, e) : 0;
	for (size_t i = 0; i < map->n; i++)
		if (check_value(k, map->items[i].value, e) < 0)
			return blame_item(c, map->items[i].line, k,
			    map->items[i].name, e);
	return 0;
}

static int
check_section(const struct conf *c, const char *section, struct err *e)
{
	size_t	n = strlen(section);

	for (const struct conf_key *k = conf_table; k->name != NULL; k++)
		if (strncmp(k->name, section, n) == 0 && k->name[n] == '.' &&
		    check_key(c, k, e) < 0)
			return -1;
	return 0;
}

int
conf_check_mysql_secret(const struct conf *c, struct err *e)
{
	const char	*file = c->mysql.password_file;

	if (file[0] != '\0' && access(file, F_OK) < 0 && errno == ENOENT) {
		err_set(e, "%s: %s: outboxctl setup writes it", file,
		    strerror(errno));
		return blame(c, conf_key("mysql.password_file"), e);
	}
	return check_section(c, "mysql", e);
}

/* The section of a driver has its name. */
int
conf_check_destination_secrets(const struct conf *c, struct err *e)
{
	const char *const	*drivers = conf_key("publish.driver")->words;

	for (size_t i = 0; i < CONF_DRIVERS; i++)
		if (conf_uses_driver(c, (enum conf_driver)i) &&
		    check_section(c, drivers[i], e) < 0)
			return -1;
	return 0;
}

int
conf_check_secrets(const struct conf *c, struct err *e)
{
	return conf_check_mysql_secret(c, e) < 0 ? -1 :
	    conf_check_destination_secrets(c, e);
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

/*
 * conf.c - the configuration as one value: load and free
 *
 * Loading takes five steps: the file, the environment, the options, defaults
 * for the other keys, the relations between keys.  The first error ends it and
 * frees everything.  Nothing here looks whether a user, a file or a server
 * exists: conf_secrets.c and the code that uses it do that later.
 */
#include "conf/conf_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/xalloc.h"

#define FILE_MAX	(1024 * 1024)	/* bytes; a hundred times the sample */

/* Read up to FILE_MAX bytes, which may come from a pipe. */
static int
read_text(FILE *f, char *text, size_t *size, struct err *e)
{
	*size = fread(text, 1, FILE_MAX, f);
	if (ferror(f))
		return err_set(e, "%s", strerror(errno));
	if (getc(f) != EOF)
		return err_set(e, "is larger than %d bytes: is it the right "
		    "file?", FILE_MAX);
	return 0;
}

char *
conf_read_text(const char *path, size_t *size, struct err *e)
{
	FILE	*f = fopen(path, "re");
	char	*text;

	if (f == NULL) {
		err_set(e, "%s", strerror(errno));
		return NULL;
	}
	text = xcalloc(FILE_MAX, 1);
	if (read_text(f, text, size, e) < 0) {
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

static int
read_conf_file(struct conf_draft *d, struct err *e)
{
	size_t	 size;
	char	*text = conf_read_text(d->path, &size, e);
	int	 status = text == NULL ? conf_in(d, 0, NULL, e) :
		    conf_read(d, text, size, e);

	free(text);
	return status;
}

static int
set_option(struct conf_draft *d, const char *name, const char *option,
    const char *text, struct err *e)
{
	size_t			 n;
	int			 i = conf_key_find(name);
	const struct conf_key	*k = conf_keys(&n) + i;

	d->from[i].option = option;
	if (conf_set(d->conf, k, text, false, e) < 0)
		return err_in(e, "%s", option);
	return 0;
}

static int
set_options(struct conf_draft *d, const struct conf_override *over,
    struct err *e)
{
	char	workers[24];

	if (over == NULL)
		return 0;
	snprintf(workers, sizeof(workers), "%" PRId64, over->workers);
	if (over->workers != 0 && set_option(d, "master.workers",
	    "--workers", workers, e) < 0)
		return -1;
	if (over->no_leasing && set_option(d, "worker.leasing",
	    "--no-leasing", "false", e) < 0)
		return -1;
	if (over->pidfile != NULL && set_option(d, "master.pidfile",
	    "-p", over->pidfile, e) < 0)
		return -1;
	return 0;
}

/* A list has commas between its items, and blanks around them do not count. */
static int
set_list(struct conf_draft *d, const struct conf_key *k, const char *text,
    struct err *e)
{
	char	*copy = xstrdup(text), *rest = copy, *item;
	size_t	 n;
	int	 rc = 0;

	conf_clear(d->conf, k);
	while (rc == 0 && (item = strsep(&rest, ",")) != NULL) {
		item += strspn(item, " ");
		for (n = strlen(item); n > 0 && item[n - 1] == ' '; )
			item[--n] = '\0';
		if (n > 0)
			rc = conf_set(d->conf, k, item, true, e);
	}
	free(copy);
	return rc;
}

/* Variables win over the file, and options over both. */
static int
set_from_environment(struct conf_draft *d, struct err *e)
{
	size_t			 n;
	const struct conf_key	*keys = conf_keys(&n);
	const char		*name, *text;
	int			 rc;

	for (size_t i = 0; i < n; i++) {
		if ((text = conf_key_variable(i)) == NULL)
			continue;
		name = conf_key_variable_name(i);
		d->from[i].option = name;
		rc = keys[i].type == CONF_LIST ?
		    set_list(d, &keys[i], text, e) :
		    conf_set(d->conf, &keys[i], text, false, e);
		if (rc < 0)
			return err_in(e, "%s", name);
	}
	return 0;
}

/* True if the key that replaces this one was given. */
static bool
yields(const struct conf_draft *d, const struct conf_key *k)
{
	size_t	n;

	return k->yields_to != NULL && !conf_is_empty(d->conf,
	    conf_keys(&n) + conf_key_find(k->yields_to));
}

static int
set_default(struct conf_draft *d, const struct conf_key *k, struct err *e)
{
	const char	*text = yields(d, k) ? "" : k->dflt;

	if (*text == '\0' && conf_has_items(k))
		return 0;
	if (*text == '\0' && k->required) {
		err_set(e, "is missing and has no default: set it");
		return conf_in(d, 0, k->name, e);
	}
	if (conf_set(d->conf, k, text, false, e) < 0)
		return conf_in(d, 0, k->name, e);
	return 0;
}

static int
set_conf_defaults(struct conf_draft *d, struct err *e)
{
	size_t			 n;
	const struct conf_key	*keys = conf_keys(&n);

	for (size_t i = 0; i < n; i++) {
		if (d->from[i].line != 0 || d->from[i].option != NULL)
			continue;
		if (set_default(d, &keys[i], e) < 0)
			return -1;
	}
	return 0;
}

/* Errors that are found later name the line, too. */
static void
keep_lines(const struct conf_draft *d)
{
	size_t	n;

	conf_keys(&n);
	d->conf->path = xstrdup(d->path);
	d->conf->lines = xcalloc(n, sizeof(*d->conf->lines));
	for (size_t i = 0; i < n; i++)
		d->conf->lines[i] = d->from[i].line;
}

unsigned
conf_key_line(const struct conf *c, const char *name)
{
	int	i = conf_key_find(name);

	return i < 0 || c->lines == NULL ? 0 : c->lines[i];
}

struct conf *
conf_load(const char *path, const struct conf_override *over, struct err *e)
{
	struct conf_draft	d = { .path = path };

	d.conf = xcalloc(1, sizeof(*d.conf));
	if (read_conf_file(&d, e) < 0 || set_from_environment(&d, e) < 0 ||
	    set_options(&d, over, e) < 0 ||
	    set_conf_defaults(&d, e) < 0 ||
	    conf_check(&d, e) < 0 || conf_check_publish(&d, e) < 0) {
		conf_free(d.conf);
		return NULL;
	}
	keep_lines(&d);
	return d.conf;
}

void
conf_free(struct conf *c)
{
	size_t			 n;
	const struct conf_key	*keys = conf_keys(&n);

	if (c == NULL)
		return;
	for (size_t i = 0; i < n; i++)
		conf_clear(c, &keys[i]);
	free(c->path);
	free(c->lines);
	free(c);
}

static bool
differs(const struct conf *a, const struct conf *b, const struct conf_key *k)
{
	char	*in_a = conf_text(a, k), *in_b = conf_text(b, k);
	bool	 answer = strcmp(in_a, in_b) != 0;

	free(in_a);
	free(in_b);
	return answer;
}

const char *
conf_changed_restart(const struct conf *a, const struct conf *b, size_t *i)
{
	size_t			 n;
	const struct conf_key	*keys = conf_keys(&n);

	while (*i < n) {
		const struct conf_key	*k = &keys[(*i)++];

		if (k->restart && differs(a, b, k))
			return k->name;
	}
	return NULL;
}

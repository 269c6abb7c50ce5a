/*
 * conf.c - the configuration as one value: load, dump and free
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

static int	set_from_environment(struct conf_draft *, struct err *);
static int	set_options(struct conf_draft *, const struct conf_override *,
		    struct err *);
static int	set_defaults(struct conf_draft *, struct err *);

struct conf *
conf_load(const char *path, const struct conf_override *over, struct err *e)
{
	struct conf_draft	 d = { .path = path };
	size_t			 size, n;
	char			*text = conf_read_text(path, &size, e);
	int			 rc;

	if (text == NULL)
		return NULL;
	d.conf = xcalloc(1, sizeof(*d.conf));
	rc = conf_read(&d, text, size, e);
	free(text);
	/* Variables win over the file, and options over both. */
	if (rc < 0 || set_from_environment(&d, e) < 0 ||
	    set_options(&d, over, e) < 0 ||
	    set_defaults(&d, e) < 0 ||
	    conf_check(&d, e) < 0 || conf_check_publish(&d, e) < 0) {
		conf_free(d.conf);
		return NULL;
	}
	/* Errors that are found later name the line, too. */
	conf_keys(&n);
	d.conf->path = xstrdup(path);
	d.conf->lines = xcalloc(n, sizeof(*d.conf->lines));
	for (size_t i = 0; i < n; i++)
		d.conf->lines[i] = d.from[i].line;
	return d.conf;
}

char *
conf_read_text(const char *path, size_t *size, struct err *e)
{
	FILE	*f = fopen(path, "re");		/* it may be a pipe */
	char	*text = NULL;

	if (f != NULL) {
		text = xcalloc(FILE_MAX + 1, 1);
		*size = fread(text, 1, FILE_MAX, f);
	}
	if (f == NULL || ferror(f))
		err_set(e, "%s: %s", path, strerror(errno));
	else if (getc(f) != EOF)
		err_set(e, "%s: is larger than %d bytes: is it the right "
		    "file?", path, FILE_MAX);
	else {
		fclose(f);
		return text;
	}
	if (f != NULL)
		fclose(f);
	free(text);
	return NULL;
}

/* Free a string or the items; leaves NULL or no items. */
static void
clear(void *base, const struct conf_key *k)
{
	void			*at = (char *)base + k->at;
	char			**string = at;
	struct conf_list	*list = at;
	struct conf_map		*map = at;
	struct conf_records	*r = at;

	switch (k->type) {
	case CONF_STRING:
		free(*string);
		*string = NULL;
		break;
	case CONF_LIST:
		while (list->n > 0)
			free(list->items[--list->n]);
		free(list->items);
		list->items = NULL;
		break;
	case CONF_MAP:
		while (map->n > 0) {
			map->n--;
			free(map->items[map->n].name);
			free(map->items[map->n].value);
		}
		free(map->items);
		map->items = NULL;
		break;
	case CONF_RECORDS:
		while (r->n > 0) {
			r->n--;
			for (size_t i = 0; i < k->nfields; i++)
				clear(conf_record(r, k, r->n), &k->fields[i]);
		}
		free(r->items);
		r->items = NULL;
		break;
	default:
		break;
	}
}

/* A list has commas between its items, and blanks around them do not count. */
static int
set_list(struct conf_draft *d, const struct conf_key *k, const char *text,
    struct err *e)
{
	char	*copy = xstrdup(text), *rest = copy, *item;
	size_t	 n;
	int	 rc = 0;

	clear(d->conf, k);
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

static int
set_from_environment(struct conf_draft *d, struct err *e)
{
	for (const struct conf_key *k = conf_table; k->name != NULL; k++) {
		const char	*name = conf_key_variable_name(k);
		const char	*text = conf_key_variable(k);

		if (text == NULL)
			continue;
		d->from[k - conf_table].option = name;
		if ((k->type == CONF_LIST ? set_list(d, k, text, e) :
		    conf_set(d->conf, k, text, false, e)) < 0)
			return err_in(e, "%s", name);
	}
	return 0;
}

static int
set_option(struct conf_draft *d, const char *name, const char *option,
    const char *text, struct err *e)
{
	const struct conf_key	*k = conf_key(name);

	d->from[k - conf_table].option = option;
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

static int
set_default(struct conf_draft *d, const struct conf_key *k, struct err *e)
{
	const char	*text = k->dflt;

	if (k->yields_to != NULL &&
	    !conf_is_empty(d->conf, conf_key(k->yields_to)))
		text = "";
	if (*text == '\0' && conf_has_items(k))
		return 0;
	if (*text == '\0' && k->required)
		return conf_fail(d, 0, k->name, e,
		    "is missing and has no default: set it");
	if (conf_set(d->conf, k, text, false, e) < 0)
		return conf_in(d, 0, k->name, e);
	return 0;
}

static int
set_defaults(struct conf_draft *d, struct err *e)
{
	for (const struct conf_key *k = conf_table; k->name != NULL; k++) {
		const struct conf_source *from = &d->from[k - conf_table];

		if (from->line == 0 && from->option == NULL &&
		    set_default(d, k, e) < 0)
			return -1;
	}
	return 0;
}

/*
 * Somebody who edits the file makes an error, and the daemon goes on with what
 * it has read before.  Its state can be shown, and it can be stopped.
 */
struct conf *
conf_load_host(const char *path, bool named)
{
	static const char *const	names[] =
	    { "master.pidfile", "log.target" };
	struct conf_draft		d = { .path = path };
	struct conf_document		doc;
	struct err			e;
	size_t				size;
	char				*file;
	bool				known;

	if ((file = conf_read_text(path, &size, &e)) == NULL)
		return NULL;
	conf_document_read(&doc, file, size);
	free(file);
	d.conf = xcalloc(1, sizeof(*d.conf));
	d.conf->path = xstrdup(path);
	for (const struct conf_key *k = conf_table; k->name != NULL; k++)
		(void)set_default(&d, k, &e);
	known = !doc.broken;
	for (size_t i = 0; known && i < sizeof(names) / sizeof(names[0]);
	    i++) {
		const struct conf_key	*k = conf_key(names[i]);
		const struct conf_node	*node =
		    conf_document_find(&doc, names[i]);
		const char		*text = conf_key_variable(k);

		if (text == NULL && node != NULL)
			text = node->text;
		if (text != NULL)
			known = conf_set(d.conf, k, text, true, &e) == 0;
		else if (i == 0)
			known = !named;
	}
	conf_document_free(&doc);
	if (known)
		return d.conf;
	conf_free(d.conf);
	return NULL;
}

/* A section's heading stands where the key before it is not in the section. */
void
conf_dump(const struct conf *c, FILE *f)
{
	const char	*before = NULL;

	for (const struct conf_key *k = conf_table; k->name != NULL; k++) {
		const char	*last = before, *name = k->name, *dot;
		char		*text = conf_text(c, k);
		int		 depth = 0;

		for (; (dot = strchr(name, '.')) != NULL; name = dot + 1) {
			size_t	n = (size_t)(dot + 1 - name);

			if (last != NULL && strncmp(last, name, n) == 0)
				last += n;
			else {
				last = NULL;
				fprintf(f, "%*s%.*s:\n", 2 * depth, "",
				    (int)n - 1, name);
			}
			depth++;
		}
		fprintf(f, "%*s%s: %s\n", 2 * depth, "", name, text);
		free(text);
		before = k->name;
	}
}

void
conf_free(struct conf *c)
{
	if (c == NULL)
		return;
	for (const struct conf_key *k = conf_table; k->name != NULL; k++)
		clear(c, k);
	free(c->path);
	free(c->lines);
	free(c);
}

const char *
conf_changed_restart(const struct conf *a, const struct conf *b, size_t *i)
{
	bool	same = true;

	while (same && conf_table[*i].name != NULL) {
		const struct conf_key	*k = &conf_table[(*i)++];
		char	*in_a, *in_b;

		if (!k->restart)
			continue;
		in_a = conf_text(a, k);
		in_b = conf_text(b, k);
		same = strcmp(in_a, in_b) == 0;
		free(in_a);
		free(in_b);
	}
	return same ? NULL : conf_table[*i - 1].name;
}

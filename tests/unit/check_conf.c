/*
 * check_conf.c - the configuration
 *
 * conf_keys.c has the tests that walk the table of keys, conf_files.c the
 * ones of whole files; this file has what both need.
 */
#include "unit/conf_test.h"

char	conf_path[sizeof(struct path)];

struct conf *
load_bytes(const char *text, size_t size, const struct conf_override *over,
    struct err *e)
{
	struct conf	*c;

	snprintf(conf_path, sizeof(conf_path), "%s", in_dir("yml").text);
	write_file(conf_path, text, size);
	e->text[0] = '\0';
	c = conf_load(conf_path, over, e);
	if (c == NULL) {
		ck_assert_str_ne(e->text, "");
		ck_assert_ptr_null(strstr(e->text, SECRET));
	} else
		ck_assert_str_eq(e->text, "");
	return c;
}

struct conf *
load(const char *doc, const struct conf_override *over, struct err *e)
{
	char		*text = strncmp(doc, "mysql:", 6) == 0 ?
			    xstrdup(doc) :
			    xasprintf("mysql: {database: app}\n%s", doc);
	struct conf	*c = load_bytes(text, strlen(text), over, e);

	free(text);
	return c;
}

struct conf *
must_load(const char *doc)
{
	struct err	 e;
	struct conf	*c = load(doc, NULL, &e);

	ck_assert_msg(c != NULL, "%s\n%s", e.text, doc);
	return c;
}

void
check_error(const struct err *e, unsigned line, const char *key,
    const char *what)
{
	char	where[256];
	int	n;

	n = snprintf(where, sizeof(where), "%s: ", conf_path);
	if (line != 0)
		n += snprintf(where + n, sizeof(where) - (size_t)n,
		    "line %u: ", line);
	if (key != NULL)
		snprintf(where + n, sizeof(where) - (size_t)n, "%s: ", key);
	starts(e->text, where);
	holds(e->text + strlen(where), what);
}

unsigned
document(char **text, const char *key, const char *value)
{
	bool		 mysql = strncmp(key, "mysql.", 6) == 0;
	const char	*name = mysql ? key + 6 : key, *dot;
	int		 depth = mysql ? 1 : 0;
	unsigned	 line = 0;
	size_t		 len;
	FILE		*f = open_memstream(text, &len);

	fputs(mysql ? "mysql:\n" : "mysql: {database: app}\n", f);
	if (mysql && strcmp(key, "mysql.database") != 0)
		fputs("  database: app\n", f);
	for (; (dot = strchr(name, '.')) != NULL; name = dot + 1)
		fprintf(f, "%*s%.*s:\n", 2 * depth++, "", (int)(dot - name),
		    name);
	fprintf(f, "%*s%s: %s\n", 2 * depth, "", name, value);
	fclose(f);
	for (const char *s = *text; *s != '\0'; s++)
		line += *s == '\n';
	return line;
}

void
check_refused(const char *key, const char *value, const char *what)
{
	struct err	 e;
	char		*text;
	unsigned	 line = document(&text, key, value);
	struct conf	*c = load_bytes(text, strlen(text), NULL, &e);

	ck_assert_msg(c == NULL, "%s: %s was taken", key, value);
	check_error(&e, line, key, what);
	free(text);
}

char *
dump(const struct conf *c)
{
	char	*text;
	size_t	 len;
	FILE	*f = open_memstream(&text, &len);

	conf_dump(c, f);
	fclose(f);
	return text;
}

const struct conf_key *
key_at(int i)
{
	size_t			 n;
	const struct conf_key	*keys = conf_keys(&n);

	ck_assert_int_lt(i, (int)n);
	return &keys[i];
}

int
nkeys(void)
{
	size_t	n;

	conf_keys(&n);
	return (int)n;
}

char *
slurp(const char *name)
{
	const char	*top = getenv("srcdir");
	char		*file = xasprintf("%s/%s", top != NULL ? top : ".",
			    name), *text = NULL;
	size_t		 size = 0;
	FILE		*f = fopen(file, "r");

	ck_assert_msg(f != NULL, "%s is not there", file);
	ck_assert_int_ge(getdelim(&text, &size, '\0', f), 0);
	fclose(f);
	free(file);
	return text;
}

int
main(void)
{
	Suite	*s = suite_create("conf");
	TCase	*keys = add_case(s, "keys"), *files = add_case(s, "files");

	tcase_set_timeout(keys, 120);
	tcase_set_timeout(files, 120);
	add_keys(keys);
	add_files(files);
	return run_suite(s);
}

/* serve.c - commands from standard input, each a line, and a line for each */

#include <stdlib.h>
#include <string.h>

#include "common/exits.h"
#include "ctl/base/command.h"
#include "ctl/base/outcome.h"
#include "ctl/serve/serve.h"
#include "ipc/people.h"
#include "util/secret.h"
#include "util/xalloc.h"

#define FORM	"not a JSON array of strings such as [\"dead\",\"list\"], " \
		"nor {\"person\": NAME, \"words\": [...]}, nor the same with " \
		"\"token\""

/*
 * What the monitor asks for may come from hostile code in it: the master says
 * in the environment that this one only reads, or makes the changes of
 * monitor.tokens.  No such command reads a file that is named to it.
 */
static bool
is_allowed(const struct command *k)
{
	const char	*may = getenv("OUTBOXCTL_MAY");

	return may == NULL || k->kind == COMMAND_READS ||
	    (people_action(k->words) < CONF_ACTIONS &&
	    strcmp(may, "change") == 0);
}

/* argv: the words from the last one of the command's name. */
static int
run(struct here *h, int nwords, char **words, int nname, char **argv,
    json_t **result)
{
	struct ctl		*c = &h->c;
	const struct args	*a = &c->args;
	int			 status;

	if ((status = args_parse(&c->args, c->command, nwords - nname + 1,
	    argv)) != CTL_DONE)
		return status;
	/* What never ends, or needs the input that has the commands. */
	if (!is_allowed(c->command))
		return ctl_misuse("%s: the monitor may not ask for it",
		    c->command->words);
	if (c->command->needs == NEEDS_NOTHING)
		return ctl_misuse("serve: not inside serve");
	if (a->watch || a->follow)
		return ctl_misuse("--%s: not inside serve, as it does not end",
		    a->watch ? "watch" : "follow");
	if (strcmp(c->command->words, "enqueue") == 0 &&
	    (a->nrest == 0 || strcmp(a->rest[0], "-") == 0))
		return ctl_misuse("enqueue: name a FILE; standard input has "
		    "the commands");
	if (c->command->kind != COMMAND_READS)
		return (status = asker_judge(h)) != CTL_DONE ? status :
		    child_run(c->path, nwords, words, h->name, result);
	c->args.json = true;
	return here_run(h);
}

/* getopt sorts the words that it gets, so it gets a list of its own. */
static int
run_words(struct here *h, int nwords, char **words, json_t **result)
{
	struct ctl	 *c = &h->c;
	char		**argv;
	int		  nname, status;

	c->command = NULL;
	if (nwords == 0)
		return ctl_misuse("no command was given");
	for (int i = 0; i < nwords && strcmp(words[i], "--") != 0; i++)
		if (command_is_help(words[i]))
			return ctl_misuse("%s: not inside serve", words[i]);
	c->command = command_find(c->table, nwords, words, &nname);
	if (c->command == NULL)
		return command_unknown(c->table, words[0]);
	argv = xcalloc((size_t)nwords + 1, sizeof(*argv));
	memcpy(argv, words, (size_t)nwords * sizeof(*argv));
	status = run(h, nwords, words, nname, argv + nname - 1, result);
	args_free(&c->args);
	memset(&c->args, 0, sizeof(c->args));
	free(argv);
	return status;
}

/*
 * The words of a line; NULL: there are none.  It may say who asks, by a name or
 * a token that is none of the words.
 */
static const json_t *
read_line(struct here *h, const json_t *line)
{
	h->token = h->person = NULL;
	h->name[0] = '\0';
	if (!json_is_object(line))
		return line;
	h->token = json_string_value(json_object_get(line, "token"));
	h->person = json_string_value(json_object_get(line, "person"));
	return json_object_size(line) == 2 && (h->token != NULL ||
	    (h->person != NULL && conf_is_person(h->person))) ?
	    json_object_get(line, "words") : NULL;
}

/* Run the command of the line, NULL if that was too long. */
static int
run_line(struct here *h, const char *line, size_t len, json_t **result)
{
	json_t	 *document, *word;
	const json_t *array;
	char	**words;
	size_t	  n, i;
	bool	  valid;
	int	  status;

	if (line == NULL)
		return ctl_misuse("a line of more than %zu bytes",
		    SERVE_LINE_MAX);
	document = json_loadb(line, len, 0, NULL);
	array = read_line(h, document);
	valid = json_is_array(array);
	n = json_array_size(array);
	words = xcalloc(n + 1, sizeof(*words));
	json_array_foreach(array, i, word) {
		valid = valid && json_is_string(word);
		words[i] = valid ? xstrdup(json_string_value(word)) : NULL;
	}
	status = valid ? run_words(h, (int)n, words, result) :
	    ctl_misuse(FORM);
	h->token = h->person = NULL;
	json_decref(document);
	for (i = 0; i < n; i++)
		free(words[i]);
	free(words);
	return status;
}

/* false: nobody reads the answers. */
static bool
serve_line(struct here *h, struct lines *l, char *line, size_t len)
{
	json_t		*result = NULL, *own;
	struct buf	 answer = { 0 };
	bool		 is_read;
	int		 status;

	h->c.command = NULL;
	status = run_line(h, line, len, &result);
	if (line != NULL)
		explicit_bzero(line, len);	/* a token */
	if (status == CTL_USAGE && result == NULL)
		command_remedy(h->c.command);
	own = outcome_take(status);
	if (result == NULL)
		result = own;
	else
		json_decref(own);
	if (h->c.command != NULL && h->c.command->kind == COMMAND_READS)
		here_settle(h, status, result);
	outcome_line(&answer, json_pack("{s:i, s:o}", "exit", status, "result",
	    result == NULL ? json_null() : result));
	is_read = lines_answer(l, &answer);
	buf_free(&answer);
	return is_read;
}

int
serve_run(struct ctl *c)
{
	struct lines	 l = { 0 };
	struct here	 h = { .c = { .table = c->table, .path = c->path } };
	struct err	 e;
	char		*line;
	size_t		 len;
	int		 status = CTL_DONE;

	if (lines_take(&l, &e) < 0)
		return ctl_error("%s", e.text);
	outcome_begin();
	json_set_alloc_funcs(malloc, secret_wipe);
	while (status == CTL_DONE && lines_next(&l, &line, &len))
		if (!serve_line(&h, &l, line, len))
			status = CTL_FAILED;
		else if (h.is_forged)	/* for the master, who tells it */
			status = EXIT_REFUSED;
	here_free(&h);
	lines_free(&l);
	return status;
}

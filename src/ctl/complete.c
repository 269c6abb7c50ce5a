/*
 * complete.c - a bash completion, made from the tables
 *
 * The script asks outboxctl for labels and types: see complete_values().
 */

#include "ctl/complete.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mysql/db.h"
#include "util/display.h"

static const char head[] =
"# bash completion of outboxctl, made by it from its table of commands\n"
"# shellcheck shell=bash disable=SC2207\n"
"\n"
"_outboxctl_commands='";

static const char tail[] =
"\n"
"# Print the words that may follow these.\n"
"_outboxctl_words() {\n"
"	local command word\n"
"	while read -r command; do\n"
"		command+=' '\n"
"		[[ $command == \"$1\"* ]] || continue\n"
"		word=${command#\"$1\"}\n"
"		echo \"${word%% *}\"\n"
"	done <<< \"$_outboxctl_commands\"\n"
"}\n"
"\n"
"# Labels or types, with the configuration of the command line.\n"
"_outboxctl_ask() {\n"
"	\"${COMP_WORDS[0]}\" ${config:+-c \"$config\"} --values \"$1\" \\\n"
"	    2> /dev/null\n"
"}\n"
"\n"
"# Complete with the lines of the input; compgen would expand them.\n"
"_outboxctl_lines() {\n"
"	local line\n"
"	while read -r line; do\n"
"		[[ $line == \"$1\"* ]] && COMPREPLY+=(\"$line\")\n"
"	done\n"
"}\n"
"\n"
"_outboxctl() {\n"
"	local cur=${COMP_WORDS[COMP_CWORD]} said='' config='' i values\n"
"	COMPREPLY=()\n"
"	for ((i = 1; i < COMP_CWORD; i++)); do\n"
"		case ${COMP_WORDS[i]} in\n"
"		-c | --config) config=${COMP_WORDS[++i]} ;;\n"
"		-*) ;;\n"
"		*) said+=\"${COMP_WORDS[i]} \" ;;\n"
"		esac\n"
"	done\n"
"	said=${said#help }\n"
"	case ${COMP_WORDS[COMP_CWORD - 1]} in\n"
"	-c | --config)\n"
"		compopt -o filenames 2> /dev/null\n"
"		COMPREPLY=($(compgen -f -- \"$cur\"))\n"
"		return ;;\n"
"	esac\n"
"	if [[ $cur == -* ]]; then\n"
"		COMPREPLY=($(compgen -W \"$(_outboxctl_options \"$said\")\" \\\n"
"		    -- \"$cur\"))\n"
"		return\n"
"	fi\n"
"	values=$(_outboxctl_values \"${COMP_WORDS[COMP_CWORD - 1]}\" \"$said\")\n"
"	if [[ -n $values ]]; then\n"
"		_outboxctl_lines \"$cur\" <<< \"$values\"\n"
"	else\n"
"		COMPREPLY=($(compgen -W \"$(_outboxctl_words \"$said\")\" \\\n"
"		    -- \"$cur\"))\n"
"	fi\n"
"}\n"
"\n"
"complete -F _outboxctl outboxctl\n";

void
complete_print(const struct command *commands)
{
	const struct command	*c;
	const char		*name, *values;
	size_t			 i = 0;

	fputs(head, stdout);
	for (c = commands; c->words != NULL; c++)
		display_print(stdout, "%s\n", c->words);

	fputs("help'\n\n_outboxctl_options() {\n\tcase $1 in\n", stdout);
	for (c = commands; c->words != NULL; c++) {
		display_print(stdout, "\t'%s '*) echo '--help", c->words);
		args_names(c, stdout);
		fputs("' ;;\n", stdout);
	}
	fputs("\t*) echo '--config --json --wide --version --help' ;;\n"
	    "\tesac\n}\n", stdout);

	/* Of the option before the cursor, else arguments of the command. */
	fputs("\n_outboxctl_values() {\n\tcase $1 in\n", stdout);
	while ((values = args_values(&i, &name)) != NULL)
		if (values[0] == '@')
			display_print(stdout, "\t--%s) _outboxctl_ask %s ; "
			    "return ;;\n", name, values + 1);
		else
			display_print(stdout, "\t--%s) printf '%%s\\n' %s ; "
			    "return ;;\n", name, values);
	fputs("\tesac\n\tcase $2 in\n", stdout);
	for (c = commands; c->words != NULL; c++)
		if (c->rest != NULL && strstr(c->rest, "LABEL") != NULL)
			display_print(stdout,
			    "\t'%s '*) _outboxctl_ask labels ;;\n", c->words);
	fputs("\tesac\n}\n", stdout);
	fputs(tail, stdout);
}

/* Whatever is not printed by now comes too late. */
static void
on_alarm(int signo)
{
	(void)signo;
	_exit(0);
}

static void
print_value(const char *text)
{
	if (text == NULL || text[0] == '\0')
		return;
	for (const unsigned char *p = (const unsigned char *)text; *p != '\0';
	    p++)
		if (*p < 0x80 && !isalnum(*p) && strchr("._/@%+,=-", *p) == NULL)
			return;
	display_print(stdout, "%s\n", text);
}

void
complete_values(const char *path, const char *what)
{
	bool		 types = strcmp(what, "types") == 0;
	struct err	 e;
	struct conf	*conf;
	struct store	*s;
	struct db_rows	*rows = NULL;

	signal(SIGALRM, on_alarm);
	alarm(1);
	if ((conf = conf_load(path, NULL, &e)) == NULL)
		return;
	for (size_t i = 0; types && i < conf->publish.types.n; i++)
		print_value(conf->publish.types.items[i]);
	fflush(stdout);
	s = store_new(conf, "outboxctl", 1000);
	if (store_open(s, &e) == 0) {
		store_sql(s, "SELECT :values", SQL_EITHER("values", types,
		    "DISTINCT {event_type} FROM (SELECT {event_type} "
		    "FROM {events} ORDER BY {sequence} DESC LIMIT 1000) "
		    "AS newest ORDER BY {event_type} LIMIT 200",
		    "partition_key FROM {partitions} ORDER BY partition_key "
		    "LIMIT 2000"));
		rows = store_query(s, "values", &e);
	}
	while (rows != NULL && db_next(rows))
		print_value(db_text(rows, 0));
	db_rows_free(rows);
	store_free(s);
	conf_free(conf);
}

/* complete.c - a bash completion, made from the tables */

#include "ctl/complete.h"

#include <stdio.h>

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
"_outboxctl() {\n"
"	local cur=${COMP_WORDS[COMP_CWORD]} said='' i\n"
"	COMPREPLY=()\n"
"	case ${COMP_WORDS[COMP_CWORD - 1]} in\n"
"	-c | --config)\n"
"		compopt -o filenames 2> /dev/null\n"
"		COMPREPLY=($(compgen -f -- \"$cur\"))\n"
"		return ;;\n"
"	esac\n"
"	for ((i = 1; i < COMP_CWORD; i++)); do\n"
"		case ${COMP_WORDS[i]} in\n"
"		-c | --config) ((++i)) ;;\n"
"		-*) ;;\n"
"		*) said+=\"${COMP_WORDS[i]} \" ;;\n"
"		esac\n"
"	done\n"
"	said=${said#help }\n"
"	if [[ $cur == -* ]]; then\n"
"		COMPREPLY=($(compgen -W \"$(_outboxctl_options \"$said\")\" \\\n"
"		    -- \"$cur\"))\n"
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
	fputs(head, stdout);
	for (const struct command *c = commands; c->words != NULL; c++)
		printf("%s\n", c->words);
	fputs("help", stdout);
	fputs("'\n\n_outboxctl_options() {\n\tcase $1 in\n", stdout);
	for (const struct command *c = commands; c->words != NULL; c++) {
		printf("\t'%s '*) echo '--help", c->words);
		args_names(c, stdout);
		fputs("' ;;\n", stdout);
	}
	fputs("\t*) echo '--config --json --wide --version --help' ;;\n"
	    "\tesac\n}\n", stdout);
	fputs(tail, stdout);
}

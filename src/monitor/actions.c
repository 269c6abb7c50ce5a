/*
 * actions.c - the changes: from the body of a request to a command
 *
 * The command is that of outboxctl, with its checks, also of who may make the
 * change, its audit and its account (mysql.operator).
 */

#include "monitor/monitor_impl.h"

#include <string.h>

#include <bsd/string.h>

#include "common/exits.h"

#define FILTERS		"key", "type", "partition", "since", "until"

/* The members of the body: texts, flags, and a list behind all options. */
static const struct action {
	const char	*list;
	bool		 numbers;	/* the list has sequences */
	const char	*texts[8];
	const char	*flags[4];
} actions[CONF_ACTIONS] = {
	[ACTION_RETRY] = { "sequences", true,
	  { FILTERS }, { "all", "reset-attempts" } },
	[ACTION_DISCARD] = { "sequences", true, { NULL }, { NULL } },
	[ACTION_REPLAY] = { "sequences", true, { FILTERS }, { "all" } },
	[ACTION_PAUSE] = { "labels", false, { NULL }, { "all" } },
	[ACTION_RESUME] = { "labels", false, { NULL }, { "all" } },
	[ACTION_RELEASE] = { "keys", false, { NULL }, { NULL } },
	[ACTION_DEAD_RETRY] = { "sequences", true,
	  { FILTERS, "group" }, { "all" } },
	[ACTION_DEAD_PURGE] = { "sequences", true,
	  { FILTERS, "group" }, { "all", "release" } },
};

static bool
is_one_of(const char *name, const char *const *list, size_t max)
{
	for (size_t i = 0; i < max && list[i] != NULL; i++)
		if (strcmp(name, list[i]) == 0)
			return true;
	return false;
}

/*
 * The items of the list as words; -1: one is of the wrong type, or there is
 * none: whoever names nothing does not mean all, whatever else is in the body.
 */
static int
add_list(json_t *words, const struct action *a, const json_t *list)
{
	json_t	*v;
	size_t	 i;

	if (json_array_size(list) == 0)
		return -1;
	json_array_append_new(words, json_string("--"));
	json_array_foreach(list, i, v) {
		if (a->numbers && json_is_integer(v) &&
		    json_integer_value(v) > 0)
			json_array_append_new(words, json_sprintf("%lld",
			    json_integer_value(v)));
		else if (!a->numbers && json_is_string(v))
			json_array_append(words, v);
		else
			return -1;
	}
	return 0;
}

/* Add the command's options and list; false: refused. */
static bool
add_members(struct request *r, json_t *words, const struct action *a,
    json_t *body)
{
	const json_t	*list = NULL;
	const char	*member;
	json_t		*v;

	json_object_foreach(body, member, v) {
		char	name[40];

		if (strcmp(member, a->list) == 0 && json_is_array(v)) {
			list = v;
			continue;
		}
		/* "reset_attempts" in JSON is the option reset-attempts. */
		strlcpy(name, member, sizeof(name));
		for (char *p = name; (p = strchr(p, '_')) != NULL;)
			*p = '-';
		if (json_is_boolean(v) && (strcmp(member, "dry_run") == 0 ||
		    is_one_of(name, a->flags, 4))) {
			if (json_is_true(v))
				json_array_append_new(words, json_sprintf(
				    "--%s", name));
		} else if (json_is_string(v) && is_one_of(name, a->texts, 8))
			json_array_append_new(words, json_sprintf("--%s=%s",
			    name, json_string_value(v)));
		else
			return answer_misuse(r, "unknown", member,
			    "unknown, or of the wrong type");
	}
	return list == NULL || add_list(words, a, list) == 0 ||
	    answer_misuse(r, "value", a->list, "%s are wanted", a->numbers ?
	    "positive numbers" : "texts");
}

static void
answer_change(struct request *r)
{
	const struct question	*q = r->question;
	const char		*why = q == NULL ? NULL : json_string_value(
				    json_object_get(q->result, "error"));

	if (why != NULL && q->exit == EXIT_REFUSED)
		guard_tell(r, REFUSED_RIGHT, why);
	ask_answer(r);
}

/*
 * With the person's token: outboxctl finds out whose it is, and if that person
 * may do so.  The log has the address as well.
 */
static void
ask_for(struct request *r, const char *name, json_t *words, bool dry_run)
{
	char	client[CLIENT_NAME_SIZE];

	client_name(r->client, client);
	if (!dry_run)
		log_info("%s wants a change: %s: %s", r->who.name, name,
		    client);
	ask_outboxctl(r, QUESTION_ACTION, json_pack("{s:s, s:O}",
	    r->by_proxy ? "person" : "token", r->by_proxy ? r->who.name :
	    r->token, "words", words), answer_change);
}

void
actions_route(struct request *r, const char *name)
{
	enum conf_action	 i = 0;
	const char		*command;
	json_error_t		 error;
	json_t			*body, *words;

	if (r->nquery > 0) {
		answer_error(r, MHD_HTTP_BAD_REQUEST, "an action has no "
		    "parameters but its body", NULL);
		return;
	}
	while (i < CONF_ACTIONS && strcmp(conf_actions[i], name) != 0)
		i++;
	if (i == CONF_ACTIONS) {
		answer_error(r, MHD_HTTP_NOT_FOUND, "there is no such action",
		    "see /openapi.json");
		return;
	}
	body = json_loadb(r->body.data == NULL ? "" : r->body.data,
	    r->body.len, JSON_REJECT_DUPLICATES, &error);
	command = people_commands[i];
	words = json_pack("[s#, s, s]", command, (int)strcspn(command, " "),
	    strchr(command, ' ') + 1, "--yes");
	if (body == NULL)
		answer_misuse(r, "value", NULL, "the body is no JSON: %s",
		    error.text);
	else if (!json_is_object(body))
		answer_misuse(r, "value", NULL, "the body is no object");
	else if (add_members(r, words, &actions[i], body))
		ask_for(r, name, words, json_is_true(json_object_get(body,
		    "dry_run")));
	json_decref(words);
	json_decref(body);
}

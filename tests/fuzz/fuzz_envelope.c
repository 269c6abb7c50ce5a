/*
 * fuzz_envelope.c - a row as a message: subject template, key, type, metadata
 *
 * Whatever the row holds, subject and headers that come out are legal on the
 * wire.
 */

#include "fuzz/fuzz.h"

#include "conf/conf_impl.h"
#include "driver/envelope.h"

static bool
is_subject(const char *s)
{
	if (*s == '\0' || *s == '.' || strlen(s) > ENVELOPE_MAX_SUBJECT)
		return false;
	for (; *s != '\0'; s++)
		if ((unsigned char)*s <= ' ' || *s == 0x7f || *s == '*' ||
		    *s == '>' || (*s == '.' && (s[1] == '.' || s[1] == '\0')))
			return false;
	return true;
}

static bool
is_header(const char *name, const char *value)
{
	return name[0] != '\0' && strpbrk(name, ": \r\n\t") == NULL &&
	    strpbrk(value, "\r\n") == NULL;
}

static void
check_message(const struct envelope *env)
{
	MUST(is_subject(envelope_subject(env)));
	MUST(env->nheaders <= ENVELOPE_MAX_HEADERS);
	for (size_t i = 0; i < env->nheaders; i++)
		MUST(is_header(envelope_name(env, i), envelope_value(env, i)));
}

static void
fill(const char *template, struct msg *m)
{
	struct envelope		env = { 0 };
	struct envelope_form	form = { template, "0123456789abcdef", "S" };
	struct err		e;

	if (envelope_fill(&env, &form, m, &e) == 0)
		check_message(&env);
	envelope_subject_of(&env, &form, m);
	envelope_free(&env);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input	 in = { data, size };
	unsigned	 flags = take_byte(&in);
	char		*template = take_text(&in), *fields[6];
	struct msg	 m = { .sequence = 17, .has_event = true };
	struct bytes	*to[] = { &m.key, &m.type, &m.partition, &m.metadata,
			    &m.correlation, &m.payload };
	struct err	 e;

	m.version = (struct bytes){ "1", 1 };
	m.stream_sequence = (struct bytes){ "3", 1 };
	m.time = (struct bytes){ "2026-01-31 12:00:00.123456", 26 };
	for (int i = 0; i < 6; i++) {
		fields[i] = take_field(&in, &to[i]->len);
		to[i]->data = (flags & 1u << i) != 0 && i > 1 ? NULL :
		    fields[i];
		if (to[i]->data == NULL)
			to[i]->len = 0;
	}
	if (template[0] != '\0' && conf_form_subject(template, &e) == 0)
		fill(template, &m);
	for (int i = 0; i < 6; i++)
		free(fields[i]);
	free(template);
	return 0;
}

/*
 * fuzz_envelope.c - a row as a message: subject template, key, type, metadata
 *
 * Whatever the row holds, subject, path and headers that come out are legal on
 * the wire in each form, and a body of ours is JSON.  jansson, where it reads a
 * payload, agrees with our scanner.
 */

#include "fuzz/fuzz.h"

#include <jansson.h>

#include "conf/conf_impl.h"
#include "driver/envelope.h"
#include "drivers/traits/traits.h"
#include "util/json_text.h"

static bool
is_subject(const char *s)
{
	if (*s == '\0' || *s == '.' || strlen(s) > SUBJECT_MAX)
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

/* A path may be empty, and holds no query. */
static bool
is_path(const char *s)
{
	for (; *s != '\0'; s++)
		if (*s <= ' ' || *s >= 0x7f || strchr("?#\\\"", *s) != NULL)
			return false;
	return true;
}

static void
check_message(const struct envelope *env, enum conf_driver driver)
{
	MUST(driver == DRIVER_HTTP ? is_path(envelope_subject(env)) :
	    is_subject(envelope_subject(env)));
	MUST(env->nheaders <= ENVELOPE_MAX_HEADERS);
	for (size_t i = 0; i < env->nheaders; i++)
		MUST(is_header(envelope_name(env, i), envelope_value(env, i)));
}

/*
 * What jansson takes is valid, but for a NUL at the end; it also refuses some
 * that is.
 */
static void
check_scanner(struct bytes payload)
{
	json_t	*j = payload.data == NULL ? NULL : json_loadb(payload.data,
		    payload.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

	MUST(j == NULL || payload.len > JSON_TEXT_DEEPEST ||
	    memchr(payload.data, '\0', payload.len) != NULL ||
	    json_text_is_valid(payload.data, payload.len));
	json_decref(j);
}

/* With room for what surrounds a payload that is as deep as may be. */
static bool
is_json(struct bytes b)
{
	return b.len > JSON_TEXT_DEEPEST || json_text_is_valid(b.data, b.len);
}

static void
check_body(const struct envelope *env, const struct envelope_form *form,
    const struct msg *m)
{
	if (form->kind == ENVELOPE_JSON || form->kind == ENVELOPE_CLOUDEVENTS)
		MUST(is_json(env->payload));
	else
		MUST(env->payload.data == m->payload.data &&
		    env->payload.len == m->payload.len);
}

static void
fill(const char *template, enum conf_driver driver, struct msg *m,
    unsigned flags)
{
	struct envelope		env = { 0 };
	struct envelope_form	form = { .subject = template, .stream = "S",
				    .id_prefix = "0123456789abcdef",
				    .driver = driver };
	struct err		e;

	form.types.type_case = (enum conf_type_case)((flags & 3) % 3);
	for (int kind = 0; kind <= ENVELOPE_CLOUDEVENTS_BINARY; kind++) {
		form.kind = (enum conf_envelope)kind;
		if (envelope_fill(&env, &form, m, &e) < 0)
			continue;
		check_message(&env, driver);
		check_body(&env, &form, m);
	}
	envelope_subject_of(&env, &form, m);
	envelope_free(&env);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input	 in = { data, size };
	unsigned	 flags = take_byte(&in);
	char		*template = take_text(&in), *fields[8];
	struct msg	 m = { .sequence = 17, .has_event = true };
	struct bytes	*to[] = { &m.key, &m.type, &m.partition, &m.metadata,
			    &m.correlation, &m.payload,
			    &m.content_type, &m.id };
	struct err	 e;

	m.version = (struct bytes){ "1", 1 };
	m.stream_sequence = (struct bytes){ "3", 1 };
	m.time = (struct bytes){ "2026-01-31 12:00:00.123456", 26 };
	for (int i = 0; i < 8; i++) {
		fields[i] = take_field(&in, &to[i]->len);
		to[i]->data = (flags & 1u << i) != 0 && i > 1 ? NULL :
		    fields[i];
		if (to[i]->data == NULL)
			to[i]->len = 0;
	}
	if ((flags & 1) != 0)		/* its column may be a text */
		m.time = m.key;
	check_scanner(m.payload);
	if (template[0] != '\0' && conf_form_subject(template, &e) == 0)
		fill(template, DRIVER_NATS, &m, flags);
	if (conf_form_url_path(template, &e) == 0)
		fill(template, DRIVER_HTTP, &m, flags);
	for (int i = 0; i < 8; i++)
		free(fields[i]);
	free(template);
	return 0;
}

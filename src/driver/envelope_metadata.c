/*
 * envelope_metadata.c - entries of the metadata as headers
 *
 * See envelope_impl.h.
 */

#include "driver/envelope_impl.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "conf/conf.h"

/* True for an HTTP token that is not a name of ours or the server's. */
static bool
is_free_name(const char *name)
{
	if (name[0] == '\0' || strncasecmp(name, "nats-", 5) == 0 ||
	    strncasecmp(name, "outbox-", 7) == 0)
		return false;
	for (const char *p = name; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) &&
		    strchr("!#$%&'*+-.^_`|~", *p) == NULL)
			return false;
	return true;
}

static bool
put_scalar(struct envelope *v, json_t *value)
{
	struct bytes	text;
	double		real;
	char		digits[40];

	switch (json_typeof(value)) {
	case JSON_STRING:
		text.data = json_string_value(value);
		text.len = json_string_length(value);
		if (text.len == 0 ||
		    memchr(text.data, '\r', text.len) != NULL ||
		    memchr(text.data, '\n', text.len) != NULL ||
		    memchr(text.data, '\0', text.len) != NULL)
			return false;
		buf_add(&v->text, text.data, text.len);
		return true;
	case JSON_INTEGER:
		buf_printf(&v->text, "%" JSON_INTEGER_FORMAT,
		    json_integer_value(value));
		return true;
	case JSON_REAL:
		real = json_real_value(value);
		/* Above 2^53 an integer read as a real may be another one. */
		if (v->rounded && fabs(real) >= 9007199254740992.0)
			return false;
		/* The shortest digits that read back as the same number. */
		snprintf(digits, sizeof(digits), "%.15g", real);
		if (strtod(digits, NULL) != real)
			snprintf(digits, sizeof(digits), "%.17g", real);
		buf_str(&v->text, digits);
		return true;
	case JSON_TRUE:
	case JSON_FALSE:
		buf_str(&v->text, json_is_true(value) ? "true" : "false");
		return true;
	default:
		return false;
	}
}

int
envelope_read_metadata(struct envelope *v, struct bytes text, json_t **root,
    struct err *e)
{
	size_t		 flags = JSON_ALLOW_NUL | JSON_DECODE_ANY;
	json_error_t	 je;
	json_t		*read;
	int		 rc = 0;

	*root = NULL;
	if (text.len > MSG_METADATA_MAX)
		return err_set(e, "metadata of %zu bytes is longer than %d",
		    text.len, MSG_METADATA_MAX);
	if (!envelope_has(text))
		return 0;
	read = json_loadb(text.data, text.len, flags, &je);
	/* An integer of more than 64 bits is legal JSON, too. */
	v->rounded = read == NULL &&
	    json_error_code(&je) == json_error_numeric_overflow;
	if (v->rounded)
		read = json_loadb(text.data, text.len,
		    flags | JSON_DECODE_INT_AS_REAL, &je);
	if (read == NULL)
		return err_set(e, "metadata is not JSON: %s", je.text);
	if (json_is_object(read)) {
		*root = read;
		return 0;
	}
	/* PHP writes an empty map as []. */
	if (!json_is_null(read) &&
	    !(json_is_array(read) && json_array_size(read) == 0))
		rc = err_set(e, "metadata is not a JSON object");
	json_decref(read);
	return rc;
}

void
envelope_add_metadata(struct envelope *v, const struct envelope_form *f,
    json_t *root)
{
	json_t		*value;
	const char	*name;

	json_object_foreach(root, name, value) {
		size_t	start = v->text.len;
		/* Does this form of envelope give it a value? */
		bool	taken = (v->typed &&
			    strcasecmp(name, ENVELOPE_CONTENT_TYPE) == 0) ||
			    (f->kind >= ENVELOPE_CLOUDEVENTS &&
			    strncasecmp(name, "ce-", 3) == 0);

		if (taken || v->nheaders == ENVELOPE_MAX_HEADERS ||
		    !is_free_name(name)) {
			v->skipped++;
			continue;
		}
		envelope_open_header(v, name);
		if (put_scalar(v, value))
			envelope_close_header(v);
		else {
			buf_chop(&v->text, v->text.len - start);
			v->skipped++;
		}
	}
}

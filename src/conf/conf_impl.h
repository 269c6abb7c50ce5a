/*
 * conf_impl.h - what the files of conf share among themselves
 *
 * conf.c	load and free: the whole
 * conf_keys.c	the table of keys
 * conf_value.c	text to value, by type
 * conf_text.c	values to text: errors and the dump
 * conf_form.c	the forms that strings must have
 * conf_yaml.c	YAML to keys and text
 * conf_check.c	relations between keys
 * conf_ask.c	questions about the whole
 */
#ifndef OUTBOX_CONF_IMPL_H
#define OUTBOX_CONF_IMPL_H

#include "conf/conf.h"

#define CONF_KEYS_MAX	96		/* keys in the table, at most */
#define CONF_NAME_SIZE	64		/* of the longest name, with its NUL */

/* Where a value came from; zeroed: from the table of keys. */
struct conf_source {
	unsigned	 line;		/* of the file; 0: not in the file */
	const char	*option;	/* of the command line, or NULL */
};

/* A configuration on its way from the file to conf_load's caller. */
struct conf_draft {
	struct conf		*conf;
	const char		*path;
	struct conf_source	 from[CONF_KEYS_MAX];	/* as conf_keys() */
};

/* Longest first, so that the first that divides a duration writes it. */
struct conf_unit {
	const char	*name;		/* NULL ends the table */
	int64_t		 ms;
};

#define CONF_MICRO	INT64_C(1000000)	/* how fine a fraction can be */

/* A short text returned by value, for the arguments of err_set. */
struct conf_phrase {
	char	text[120];
};

/* conf_keys.c */
/* The key's index, or -1. */
int		 conf_key_find(const char *name);
/* "mysql" and "mysql.tls" are sections; "" is the whole file. */
bool		 conf_key_is_section(const char *name);
/*
 * What the unknown leaf in a section was likely meant to be, by its full
 * name; an empty text when nothing is close.
 */
struct conf_phrase conf_key_near(const char *section, const char *leaf);

/* conf_value.c */
/*
 * Check the text and store it; items of a list are appended.  quoted says
 * that the file had it in quotes: "4" is no number.  On failure the value
 * keeps what it was.
 */
int		 conf_set(struct conf *, const struct conf_key *,
		    const char *text, bool quoted, struct err *);
/* Strings and lists can be empty, other types never are. */
bool		 conf_is_empty(const struct conf *, const struct conf_key *);
/* Free what a string or a list holds; the field is NULL or no item after. */
void		 conf_clear(struct conf *, const struct conf_key *);

/* conf_text.c */
/*
 * Put "FILE: line N: NAME: " before the error, without "line N: " when line
 * is 0 and without "NAME: " when name is NULL.  Returns -1.
 */
int		 conf_in(const struct conf_draft *, unsigned line,
		    const char *name, struct err *);
extern const struct conf_unit	conf_units[];
const void	*conf_field(const struct conf *, const struct conf_key *);
/* The value as conf_set and a YAML parser read it; yours to free. */
char		*conf_text(const struct conf *, const struct conf_key *);
/* "from 1 to 256", in the units of the type. */
struct conf_phrase conf_range(const struct conf_key *);
/* The words that can be chosen today: "a, b, c". */
struct conf_phrase conf_choices(const struct conf_key *);
/* "a whole number from 1 to 256" */
struct conf_phrase conf_wanted(const struct conf_key *);
/* The text as an error may show it: printable and not too long. */
struct conf_phrase conf_show(const char *);

/* conf_form.c: 0, or -1 with what is wrong; "" is for .required to refuse. */
int		 conf_form_text(const char *, struct err *);
int		 conf_form_path(const char *, struct err *);
int		 conf_form_socket(const char *, struct err *);
int		 conf_form_env(const char *, struct err *);
int		 conf_form_host(const char *, struct err *);
int		 conf_form_server(const char *, struct err *);
int		 conf_form_database(const char *, struct err *);
int		 conf_form_table(const char *, struct err *);
int		 conf_form_stream(const char *, struct err *);
int		 conf_form_type(const char *, struct err *);
int		 conf_form_count(const char *, struct err *);
int		 conf_form_subject(const char *, struct err *);
int		 conf_form_prefix(const char *, struct err *);
int		 conf_form_plain_subject(const char *, struct err *);
int		 conf_form_log(const char *, struct err *);
int		 conf_form_later(const char *, struct err *);

/* conf_yaml.c: set every key that the text of a file has, note its line. */
int		 conf_read(struct conf_draft *, const char *text, size_t size,
		    struct err *);

/* conf_check.c: do the values go together? */
int		 conf_check(const struct conf_draft *, struct err *);

#endif

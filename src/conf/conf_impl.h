/*
 * conf_impl.h - shared by the files of conf
 *
 * conf.c	load and free: the whole
 * conf_keys.c	the table of keys
 * conf_names.c	keys by name
 * conf_value.c	text to value, by type
 * conf_text.c	values to text: errors and the dump
 * conf_data.c	values in memory
 * conf_nested.c	maps and records
 * conf_form.c	the forms that strings must have
 * conf_form_http.c, conf_form_route.c	more of them
 * conf_yaml.c	YAML to keys and text
 * conf_check.c	relations between keys
 * conf_check_publish.c	those of the destinations and columns
 * conf_check_types.c	those of the aliases of types
 * conf_secrets.c	files and variables with secrets
 * conf_warn.c	what works but is not safe
 * conf_ask.c	questions about several keys
 * conf_edit.c	change values in a file
 */
#ifndef OUTBOX_CONF_IMPL_H
#define OUTBOX_CONF_IMPL_H

#include "conf/conf.h"

#define CONF_KEYS_MAX	160		/* keys in the table, at most */
#define CONF_NAME_SIZE	64		/* of the longest name, with its NUL */
#define CONF_FIELDS_MAX	16		/* fields of a record, at most */

/* Where a value came from; zeroed: it is the default. */
struct conf_source {
	unsigned	 line;		/* of the file; 0: not in the file */
	const char	*option;	/* of the command line, or the variable
					   of the environment; or NULL */
};

/* A configuration on its way from the file to conf_load's caller. */
struct conf_draft {
	struct conf		*conf;
	const char		*path;
	struct conf_source	 from[CONF_KEYS_MAX];	/* as conf_keys() */
};

/* Longest first: a duration is written in the first unit that divides it. */
struct conf_unit {
	const char	*name;		/* NULL ends the table */
	int64_t		 ms;
};

#define CONF_MICRO	INT64_C(1000000)	/* 6 decimals of a fraction */

/* A short text returned by value, for the arguments of err_set. */
struct conf_phrase {
	char	text[120];
};

/* conf_names.c */
/* The key's index, or -1. */
int		 conf_key_find(const char *name);
/* A key of former versions: it is read, told by conf_warn(), and does nothing. */
struct conf_retired {
	const char	*name;		/* NULL ends the table */
	const char	*text;		/* what became of it */
};
extern const struct conf_retired conf_retired[];
/* "mysql" and "mysql.tls" are sections; "" is the whole file. */
bool		 conf_key_is_section(const char *name);
/*
 * The full name of the key that an unknown leaf in a section probably means;
 * an empty text if none is similar.
 */
struct conf_phrase conf_key_near(const char *section, const char *leaf);
/* The word that is most similar to the text, or an empty text. */
struct conf_phrase conf_word_near(const char *const *words, const char *text);

/*
 * conf.c: the file, up to its greatest size, which the caller frees; NULL: see
 * err.
 */
char		*conf_read_text(const char *path, size_t *size, struct err *);

/* conf_names.c: the variable of the environment of a key, and its value or NULL. */
const char	*conf_key_variable_name(size_t i);
const char	*conf_key_variable(size_t i);

/* conf.c: the line of the file that sets the key; 0: none does. */
unsigned	 conf_key_line(const struct conf *, const char *name);

/* conf_value.c */
/*
 * Check the text and store it in a configuration, or a record if the key is a
 * field; a list gets one more item.  quoted: the file has it in quotes, so it
 * is a text and no number or boolean.  Returns -1 with an error and leaves the
 * value as it was.
 */
int		 conf_set(void *base, const struct conf_key *,
		    const char *text, bool quoted, struct err *);
/* The form of a string, an item of a list or a value of a map. */
int		 conf_check_string(const struct conf_key *, const char *text,
		    struct err *);

/* conf_data.c; base is a configuration, or a record and the key its field. */
const void	*conf_field(const void *base, const struct conf_key *);
void		*conf_record(const struct conf_records *,
		    const struct conf_key *, size_t i);
/* True for lists, maps and records: without items they are empty. */
bool		 conf_has_items(const struct conf_key *);
/* Free a string or the items; leaves NULL or no items. */
void		 conf_clear(void *base, const struct conf_key *);

/* conf_nested.c */
int		 conf_map_add(struct conf *, const struct conf_key *,
		    const char *name, const char *value, unsigned line,
		    struct err *);
/* A record without values, at the end; NULL: there are too many, see err. */
void		*conf_record_add(struct conf *, const struct conf_key *,
		    unsigned line, struct err *);
/* A record of .pairs, from a pair of a mapping. */
int		 conf_record_add_pair(struct conf *, const struct conf_key *,
		    const char *name, const char *value, unsigned line,
		    struct err *);
/* All of the last record's fields are read: is it whole, and its name new? */
int		 conf_record_check(const struct conf *, const struct conf_key *,
		    struct err *);
/* NULL: see err. */
const struct conf_key *conf_record_field(const struct conf_key *,
		    const char *name, struct err *);

/* conf_text.c */
/*
 * Put "FILE: line N: NAME: " before the error, without "line N: " when line
 * is 0 and without "NAME: " when name is NULL.  Returns -1.
 */
int		 conf_in(const struct conf_draft *, unsigned line,
		    const char *name, struct err *);
extern const struct conf_unit	conf_units[];
/* The value as text that conf_set and YAML parsers read; caller frees. */
char		*conf_text(const void *base, const struct conf_key *);
/* "from 1 to 256", in the units of the type. */
struct conf_phrase conf_range(const struct conf_key *);
/* The words of an enum: "a, b, c". */
struct conf_phrase conf_choices(const struct conf_key *);
/* "a whole number from 1 to 256" */
struct conf_phrase conf_wanted(const struct conf_key *);
/* The text for an error: printable, and cut if it is long. */
struct conf_phrase conf_show(const char *);

/* conf_form.c: 0, or -1 with an error.  Never called with "". */
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
int		 conf_form_nkey(const char *, struct err *);
int		 conf_form_inbox(const char *, struct err *);
int		 conf_form_log(const char *, struct err *);
int		 conf_form_listen(const char *, struct err *);
int		 conf_form_host_name(const char *, struct err *);
/* HOST, HOST:PORT or [IPV6]:PORT */
int		 conf_form_address(const char *, struct err *);
/* text begins with "{": the end of the placeholder; NULL: see err. */
const char	*conf_form_placeholder(const char *, struct err *);

/* conf_form_http.c */
int		 conf_form_endpoint(const char *, struct err *);
int		 conf_form_url_host(const char *, struct err *);
int		 conf_form_url_path(const char *, struct err *);
int		 conf_form_key_id(const char *, struct err *);
int		 conf_form_header(const char *, struct err *);
int		 conf_form_metadata_header(const char *, struct err *);
int		 conf_form_header_value(const char *, struct err *);
int		 conf_form_content_type(const char *, struct err *);
int		 conf_form_line(const char *, struct err *);
int		 conf_form_proxy(const char *, struct err *);

/* conf_form_route.c */
int		 conf_form_route(const char *, struct err *);
int		 conf_form_match(const char *, struct err *);
int		 conf_form_alias(const char *, struct err *);
int		 conf_form_aliased(const char *, struct err *);
int		 conf_form_source(const char *, struct err *);
int		 conf_form_column(const char *, struct err *);
int		 conf_form_partition_by(const char *, struct err *);
/* The columns that outbox.columns can name, each with its tables. */
struct conf_column {
	const char	*name;		/* NULL ends the table */
	unsigned	 tables;	/* bits of CONF_IN_... */
	bool		 written;	/* by the daemon */
};
#define CONF_IN_OUTBOX		1u
#define CONF_IN_EVENTS		2u
#define CONF_IN_MESSAGES	4u
extern const struct conf_column	conf_columns[];

/* conf_yaml.c: set each key that the text of a file names, note its line. */
int		 conf_read(struct conf_draft *, const char *text, size_t size,
		    struct err *);

/* conf_check.c: -1 with an error if the values contradict each other. */
int		 conf_check(const struct conf_draft *, struct err *);
/* Put before the error where the key was set: option, or file and line. */
int		 conf_blame(const struct conf_draft *, const char *name,
		    struct err *);

/* conf_check_publish.c: the same of outbox.columns and the destinations. */
int		 conf_check_publish(const struct conf_draft *, struct err *);

/*
 * conf_check_types.c: -1 with an error if two event types with an alias get
 * the same subject, or would without their own alias.
 */
int		 conf_check_types(const struct conf_draft *, struct err *);

#endif

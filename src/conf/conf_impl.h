/*
 * conf_impl.h - shared by the files of conf
 *
 * conf.c	load and free: the whole
 * conf_yaml.c	a file as a tree of its values
 * conf_file.c	those values, to their keys
 * conf_keys.c	the table of keys
 * conf_names.c	keys by name
 * conf_value.c	text to value, by type
 * conf_text.c	values to text: errors and the dump
 * conf_form.c	the forms that strings must have
 * conf_form_http.c	those of URLs and headers
 * conf_form_kafka.c	those of topics and properties
 * conf_form_monitor.c	those of people and what they may do
 * conf_check.c	relations between keys
 * conf_check_publish.c	those of the destinations and columns
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

/* conf_keys.c: all keys; one without a name ends the table. */
extern const struct conf_key	conf_table[];

/* conf_check_publish.c: what is secret in requests, in words; NULL: nothing. */
const char	*conf_http_secrets(const struct conf *);

/* conf_names.c */
/* NULL: there is no such key. */
const struct conf_key *conf_key(const char *name);
/* "mysql" and "mysql.tls" are sections; "" is the whole file. */
bool		 conf_key_is_section(const char *name);
/*
 * The full name of the key that an unknown leaf in a section probably means;
 * an empty text if none is similar.
 */
struct conf_phrase conf_key_near(const char *section, const char *leaf);
/* The variable of the environment of a key, and its value or NULL. */
const char	*conf_key_variable_name(const struct conf_key *);
const char	*conf_key_variable(const struct conf_key *);

/*
 * conf.c: a file, with a NUL at its end, up to a greatest size; free it.  NULL:
 * see err.
 */
char		*conf_read_text(const char *path, size_t *size, struct err *);

/* conf_yaml.c: a value of a file.  In a mapping names and values take turns. */
struct conf_node {
	enum {
		NODE_END,		/* no value: the end, or an error */
		NODE_TEXT, NODE_LIST, NODE_MAPPING
	}			 type;
	unsigned		 line;
	const char		*error;		/* why it is refused, or NULL */
	char			*text;		/* of NODE_TEXT, else NULL */
	bool			 quoted;
	size_t			 start, end;	/* characters of the file */
	struct conf_node	*items;
	size_t			 n;
};

struct conf_document {
	struct conf_node	 root;		/* NODE_END: an empty file */
	struct conf_node	 rest;		/* what must not follow it */
	struct err		 syntax;	/* of the node with an error */
	bool			 broken;	/* root ends in an error */
};

/* Free it, broken or not. */
void		 conf_document_read(struct conf_document *, const char *text,
		    size_t size);
void		 conf_document_free(struct conf_document *);
/* The value of "section.leaf"; NULL: there is none. */
const struct conf_node *conf_document_find(const struct conf_document *,
		    const char *name);

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

/*
 * Where the value is.  base is a configuration, or a record and the key its
 * field.
 */
static inline const void *
conf_field(const void *base, const struct conf_key *k)
{
	return (const char *)base + k->at;
}

static inline void *
conf_record(const struct conf_records *r, const struct conf_key *k, size_t i)
{
	return (char *)r->items + i * k->record_size;
}

/* conf_ask.c: true for lists, maps and records, which can be empty. */
bool		 conf_has_items(const struct conf_key *);

/* conf_text.c */
/*
 * Put "FILE: line N: NAME: " before the error, without "line N: " when line
 * is 0 and without "NAME: " when name is NULL.  Returns -1.
 */
int		 conf_in(const struct conf_draft *, unsigned line,
		    const char *name, struct err *);
/* The same with an error of its own. */
int		 conf_fail(const struct conf_draft *, unsigned line,
		    const char *name, struct err *, const char *, ...)
		    __attribute__((format(printf, 5, 6)));
extern const struct conf_unit	conf_units[];
/* The value as text that conf_set and YAML parsers read; caller frees. */
char		*conf_text(const void *base, const struct conf_key *);
/* "from 1 to 256", in the units of the type. */
struct conf_phrase conf_range(const struct conf_key *);
/* "a whole number from 1 to 256" */
struct conf_phrase conf_wanted(const struct conf_key *);
/* The text for an error: printable, and cut if it is long. */
struct conf_phrase conf_show(const char *);
/* The word that is most similar to the text, or an empty text. */
struct conf_phrase conf_word_near(const char *const *words, const char *text);
/* From a text to len bytes of a name that may be meant; SIZE_MAX: it is not. */
size_t		 conf_how_far(const char *, const char *name, size_t len);

#define CONF_DIGITS	"0123456789"
#define CONF_LOWER	"abcdefghijklmnopqrstuvwxyz"
#define CONF_LETTERS	CONF_LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* A name of these characters alone, which are called by what. */
int		 conf_form_word(const char *, size_t max, const char *allowed,
		    const char *what, struct err *);

/* It begins with "{": the end of the placeholder; NULL with an error. */
const char	*conf_form_placeholder(const char *, struct err *);

/*
 * conf_form.c, conf_form_http.c, conf_form_kafka.c, conf_form_monitor.c: 0, or
 * -1 with an error.  Never called with "".
 */
int		 conf_form_text(const char *, struct err *);
int		 conf_form_path(const char *, struct err *);
int		 conf_form_socket(const char *, struct err *);
int		 conf_form_env(const char *, struct err *);
int		 conf_form_host(const char *, struct err *);
int		 conf_form_server(const char *, struct err *);
int		 conf_form_database(const char *, struct err *);
int		 conf_form_table(const char *, struct err *);
int		 conf_form_stream(const char *, struct err *);
int		 conf_form_domain(const char *, struct err *);
int		 conf_form_api_prefix(const char *, struct err *);
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
int		 conf_form_broker(const char *, struct err *);
int		 conf_form_topic(const char *, struct err *);
int		 conf_form_property(const char *, struct err *);
int		 conf_form_file_property(const char *, struct err *);
int		 conf_form_mechanism(const char *, struct err *);
int		 conf_form_person(const char *, struct err *);
int		 conf_form_may(const char *, struct err *);
int		 conf_form_user_header(const char *, struct err *);
int		 conf_form_peer(const char *, struct err *);
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

/* conf_file.c: set each key that the text of a file names, note its line. */
int		 conf_read(struct conf_draft *, const char *text, size_t size,
		    struct err *);

/* conf_check.c: -1 with an error if the values contradict each other. */
int		 conf_check(const struct conf_draft *, struct err *);
/* Set the error; before it stands where the key was set. */
int		 conf_blame(const struct conf_draft *, const char *name,
		    struct err *, const char *, ...)
		    __attribute__((format(printf, 4, 5)));

/* conf_check_publish.c: the same of outbox.columns and the destinations. */
int		 conf_check_publish(const struct conf_draft *, struct err *);

#endif

/* conf_test.h - what the tests of the configuration share */
#ifndef TESTS_CONF_TEST_H
#define TESTS_CONF_TEST_H

#include "lib/check.h"

#include "conf/conf_impl.h"
#include "util/xalloc.h"

#define SECRET		"hunter2"	/* must not be in any error */

extern char	conf_path[];		/* of the last file written */

/* A file of these bytes: NULL with an error, or the configuration. */
struct conf	*load_bytes(const char *text, size_t size,
		    const struct conf_override *, struct err *);

/* The same of a document, which has the required key unless it sets mysql. */
struct conf	*load(const char *doc, const struct conf_override *,
		    struct err *);
struct conf	*must_load(const char *doc);

/* line 0, key NULL: the error has none. */
void		 check_error(const struct err *, unsigned line,
		    const char *key, const char *what);

/* A file with one key beside the required one; returns the key's line. */
unsigned	 document(char **text, const char *key, const char *value);

/* Check that a key refuses a value, with its line and name. */
void		 check_refused(const char *key, const char *value,
		    const char *what);

char		*dump(const struct conf *);

/* Every key of the table has a number below nkeys(). */
const struct conf_key	*key_at(int i);
int		 nkeys(void);

/* A file of the source tree. */
char		*slurp(const char *name);

void		 add_keys(TCase *);	/* conf_keys.c */
void		 add_files(TCase *);	/* conf_files.c */

#endif

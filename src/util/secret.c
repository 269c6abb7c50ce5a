/*
 * secret.c - read for each connection and never kept, so that a rotated
 * password needs no restart
 */

#include "util/secret.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/xalloc.h"

static char *
read_secret_file(const char *path, struct err *e)
{
	char	 line[SECRET_MAX];
	FILE	*f;
	char	*secret = NULL;

	if ((f = fopen(path, "re")) == NULL) {
		err_set(e, "%s: %s", path, strerror(errno));
		return NULL;
	}
	setvbuf(f, NULL, _IONBF, 0);	/* no copy left in a stdio buffer */
	if (fgets(line, sizeof(line), f) == NULL) {
		err_set(e, "%s: %s", path,
		    ferror(f) ? strerror(errno) : "the file is empty");
	} else if (strlen(line) == sizeof(line) - 1) {
		err_set(e, "%s: the first line is too long", path);
	} else {
		line[strcspn(line, "\r\n")] = '\0';
		if (line[0] == '\0')
			err_set(e, "%s: the first line is empty", path);
		else
			secret = xstrdup(line);
	}
	explicit_bzero(line, sizeof(line));
	fclose(f);
	return secret;
}

char *
secret_read(const char *file, const char *env, struct err *e)
{
	const char	*value;

	if (file[0] != '\0')
		return read_secret_file(file, e);
	if (env[0] == '\0')
		return xstrdup("");
	if ((value = getenv(env)) == NULL) {
		err_set(e, "environment variable %s is not set", env);
		return NULL;
	}
	return xstrdup(value);
}

void
secret_free(char *secret)
{
	if (secret == NULL)
		return;
	explicit_bzero(secret, strlen(secret));
	free(secret);
}

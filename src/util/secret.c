/*
 * secret.c - read for each connection and never kept, so that a rotated
 * password needs no restart
 */

#include "util/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/display.h"
#include "util/xalloc.h"

/* A device or a pipe is no place where a secret lies. */
static int
open_secret(const char *path, struct err *e)
{
	int		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat	st;
	struct buf	word = { 0 };

	if (fd < 0)
		return err_set(e, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) < 0)
		err_set(e, "%s: %s", path, strerror(errno));
	else if (S_ISREG(st.st_mode) && (st.st_mode & S_IRWXO) != 0) {
		display_put_word(&word, path);
		err_set(e, "%s: mode %o gives all users access to the secret: "
		    "chmod o= %s", path, (unsigned)(st.st_mode & 0777),
		    word.data);
		buf_free(&word);
	} else
		return fd;
	close(fd);
	return -1;
}

int
secret_check_file(const char *path, struct err *e)
{
	int	fd = open_secret(path, e);

	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static char *
read_secret_file(const char *path, struct err *e)
{
	char	 line[SECRET_MAX];
	int	 fd = open_secret(path, e);
	FILE	*f;
	char	*secret = NULL;

	if (fd < 0)
		return NULL;
	if ((f = fdopen(fd, "r")) == NULL)
		abort();
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

void
secret_wipe(void *block)
{
	if (block != NULL)
		explicit_bzero(block, malloc_usable_size(block));
	free(block);
}

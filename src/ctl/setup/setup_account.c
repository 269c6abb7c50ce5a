/* setup_account.c - the daemon's account: name, password, rights */

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/schema/schema.h"
#include "ctl/setup/setup.h"
#include "util/secret.h"
#include "util/xalloc.h"

/* The accounts of sql/grants.sql and sql/operator.sql. */
#define SHIPPED		"'outbox'@'localhost'"
#define SHIPPED_OPERATOR "'outbox_operator'@'localhost'"

#define PASSWORD_BYTES	20	/* random ones: 32 characters */

/* A text as a literal; both servers read both doubled characters. */
static void
put_literal(struct buf *to, const char *text)
{
	buf_str(to, "'");
	for (; *text != '\0'; text++) {
		if (*text == '\'' || *text == '\\')
			buf_add(to, text, 1);
		buf_add(to, text, 1);
	}
	buf_str(to, "'");
}

/* A server sees a login by the socket as one from localhost. */
static const char *
host_of_account(const struct conf *conf)
{
	if (conf->mysql.socket[0] != '\0')
		return "localhost";
	for (size_t i = 0; i < conf->mysql.hosts.n; i++)
		if (strncmp(conf->mysql.hosts.items[i], "127.0.0.1", 9) != 0)
			return "%";
	return "127.0.0.1";
}

char *
setup_account_name(const struct ctl *c, const char *user)
{
	struct buf	 name = { 0 };
	const char	*host = c->args.account_host != NULL ?
			    c->args.account_host : host_of_account(c->conf);

	put_literal(&name, user);
	buf_str(&name, "@");
	put_literal(&name, host);
	return name.data;
}

/* conf: readable by the daemon's group as well; NULL: by its owner alone. */
static int
write_password(const struct conf *conf, const char *path,
    const char *password, struct err *e)
{
	int		 fd = open(path, O_WRONLY | O_CREAT | O_EXCL |
			    O_CLOEXEC | O_NOFOLLOW, 0600);
	struct passwd	*pw;
	bool		 ok;

	if (fd < 0)
		return err_set(e, "%s: %s", path, strerror(errno));
	ok = dprintf(fd, "%s\n", password) > 0;
	if (ok && conf != NULL && geteuid() == 0 && conf->master.user[0] != '\0') {
		pw = getpwnam(conf->master.user);
		ok = pw != NULL && fchown(fd, 0, pw->pw_gid) == 0 &&
		    fchmod(fd, 0640) == 0;
		if (pw == NULL)
			errno = ENOENT;
	}
	ok = ok && fsync(fd) == 0;
	if (!ok) {
		err_set(e, "%s for user %s: %s", path, conf == NULL ? "root" :
		    conf->master.user, strerror(errno));
		unlink(path);
	}
	close(fd);
	return ok ? 0 : -1;
}

static char *
new_password(void)
{
	static const char	letters[] = "abcdefghijkmnopqrstuvwxyz234567";
	unsigned char		random[PASSWORD_BYTES * 8 / 5];
	char			*text = xcalloc(sizeof(random) + 1, 1);

	if (getentropy(random, sizeof(random)) < 0)
		abort();
	for (size_t i = 0; i < sizeof(random); i++)
		text[i] = letters[random[i] % (sizeof(letters) - 1)];
	explicit_bzero(random, sizeof(random));
	return text;
}

static char *
make_password(const struct conf *conf, const char *path, struct err *e)
{
	char	*password = new_password();

	if (write_password(conf, path, password, e) == 0)
		return password;
	secret_free(password);
	return NULL;
}

static bool
is_missing(const char *path)
{
	return path[0] != '\0' && access(path, F_OK) < 0 && errno == ENOENT;
}

char *
setup_password(const struct conf *conf, bool *made, struct err *e)
{
	const char	*path = conf->mysql.password_file;

	*made = is_missing(path);
	return *made ? make_password(conf, path, e) :
	    secret_read(path, conf->mysql.password_env, e);
}

char *
setup_own_password(const char *path, bool *made, struct err *e)
{
	*made = is_missing(path);
	return *made ? make_password(NULL, path, e) : secret_read(path, "", e);
}

void
setup_put_account(const char *account, const char *password, struct buf *to)
{
	buf_printf(to, "CREATE USER IF NOT EXISTS %s IDENTIFIED BY ", account);
	put_literal(to, password);
	buf_str(to, ";\n");
}

/* Run the statements, and wipe them: there may be a password in them. */
int
setup_run_sql(struct setup *s, struct buf *sql, struct err *e)
{
	int	rc = schema_run_all(&s->admin, sql->data, e);

	explicit_bzero(sql->data, sql->len);
	buf_free(sql);
	return rc;
}

int
setup_has_account(struct setup *s, const char *account, bool *has,
    struct err *e)
{
	store_sql(s->admin.store, "SELECT 1 FROM mysql.user WHERE "
	    "CONCAT(QUOTE(user), '@', QUOTE(host)) = ");
	store_put_text(s->admin.store, account);
	return store_query_any(s->admin.store, "setup", has, e);
}

int
setup_put_grants(const struct setup *s, struct buf *to, struct err *e)
{
	struct schema_grants	g = { schema_file_grants, SHIPPED, s->account };

	return schema_put_grants(s->ctl->conf, &g, to, e);
}

int
setup_put_operator_grants(const struct setup *s, struct buf *to,
    struct err *e)
{
	struct schema_grants	g = { schema_file_operator, SHIPPED_OPERATOR,
				    s->operator };

	return schema_put_grants(s->ctl->conf, &g, to, e);
}

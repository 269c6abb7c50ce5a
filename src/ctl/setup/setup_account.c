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
#include "mysql/db.h"
#include "mysql/password_hash.h"
#include "util/secret.h"
#include "util/xalloc.h"

/* The accounts of sql/grants.sql and sql/operator.sql. */
#define SHIPPED		"'outbox'@'localhost'"
#define SHIPPED_OPERATOR "'outbox_operator'@'localhost'"

#define PASSWORD_LETTERS 32	/* of a random one: 158 bits */

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
account_host(const struct ctl *c)
{
	const struct conf_list	*hosts = &c->conf->mysql.hosts;

	if (c->args.account_host != NULL)
		return c->args.account_host;
	if (c->conf->mysql.socket[0] != '\0')
		return "localhost";
	for (size_t i = 0; i < hosts->n; i++)
		if (strncmp(hosts->items[i], "127.0.0.1", 9) != 0)
			return "%";
	return "127.0.0.1";
}

char *
setup_account_name(const struct ctl *c, const char *user)
{
	struct buf	 name = { 0 };

	put_literal(&name, user);
	buf_str(&name, "@");
	put_literal(&name, account_host(c));
	return name.data;
}

bool
setup_is_remote(const struct ctl *c)
{
	return !conf_is_loopback(account_host(c));
}

/* n random letters, and a NUL. */
static void
put_random(char *to, size_t n)
{
	static const char	letters[] = "abcdefghijkmnopqrstuvwxyz234567";
	unsigned char		random[PASSWORD_LETTERS];

	if (getentropy(random, n) < 0)
		abort();
	for (size_t i = 0; i < n; i++)
		to[i] = letters[random[i] % (sizeof(letters) - 1)];
	to[n] = '\0';
	explicit_bzero(random, sizeof(random));
}

/*
 * conf: for the daemon's user; NULL: for us.  Never for its group, which may read
 * scoreboard and log.
 */
static char *
make_password(const struct conf *conf, const char *path, struct err *e)
{
	char		*password = xcalloc(PASSWORD_LETTERS + 1, 1);
	int		 fd = open(path, O_WRONLY | O_CREAT | O_EXCL |
			    O_CLOEXEC | O_NOFOLLOW, 0600);
	struct passwd	*pw;
	bool		 ok;

	if (fd < 0) {
		err_set(e, "%s: %s", path, strerror(errno));
		secret_free(password);
		return NULL;
	}
	put_random(password, PASSWORD_LETTERS);
	ok = dprintf(fd, "%s\n", password) > 0;
	if (ok && conf != NULL && geteuid() == 0 && conf->master.user[0] != '\0') {
		pw = getpwnam(conf->master.user);
		ok = pw != NULL && fchown(fd, pw->pw_uid, pw->pw_gid) == 0 &&
		    fchmod(fd, 0400) == 0;
		if (pw == NULL)
			errno = ENOENT;
	}
	ok = ok && fsync(fd) == 0;
	if (!ok) {
		err_set(e, "%s for user %s: %s", path, conf == NULL ? "root" :
		    conf->master.user, strerror(errno));
		unlink(path);
		secret_free(password);
	}
	close(fd);
	return ok ? password : NULL;
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

/*
 * As a hash: a binlog and a log keep a statement as it was sent, and whoever
 * may see the processes can read it.  Each server skips the other's comment.
 */
static void
put_password(const struct setup *s, const char *password, struct buf *to)
{
	const struct store	*st = s->admin.store;
	char			 native[PASSWORD_HASH_SIZE];
	char			 sha2[PASSWORD_HASH_SIZE];
	char			 salt[PASSWORD_SALT + 1];

	buf_str(to, " IDENTIFIED");
	if (s->clear) {
		buf_str(to, " BY ");
		put_literal(to, password);
		return;
	}
	put_random(salt, PASSWORD_SALT);
	password_hash_native(native, password);
	password_hash_sha2(sha2, password, salt);
	if (st == NULL)
		buf_printf(to, "\n    /*M! VIA mysql_native_password USING "
		    "'%s' */\n    /*!80000 WITH caching_sha2_password AS "
		    "'%s' */", native, sha2);
	else if (db_is_mariadb(store_db(st)))
		buf_printf(to, " VIA mysql_native_password USING '%s'",
		    native);
	else
		buf_printf(to, " WITH caching_sha2_password AS '%s'", sha2);
}

void
setup_put_account(const struct setup *s, const char *account,
    const char *password, struct buf *to)
{
	buf_printf(to, "CREATE USER IF NOT EXISTS %s", account);
	put_password(s, password, to);
	buf_printf(to, "%s;\n", s->require_tls ? " REQUIRE SSL" : "");
	if (!s->ctl->args.new_password)
		return;
	buf_printf(to, "ALTER USER %s", account);
	put_password(s, password, to);
	buf_str(to, ";\n");
}

static int
allow_clear(const struct setup *s, struct err *e)
{
	static const char	why[] = "the server checks passwords and "
				    "takes no hash of one "
				    "(strict_password_validation), so its "
				    "binlog, its logs and its list of "
				    "processes would show the password";
	const struct ctl	*c = s->ctl;

	if (c->args.clear_password || (!c->args.yes &&
	    isatty(STDIN_FILENO) && ctl_confirm_impact(c, "%s", why)))
		return 0;
	return err_set(e, "%s: set that variable to OFF for the time of this "
	    "command, or allow it with --clear-password", why);
}

int
setup_choose_login(struct setup *s, struct err *e)
{
	struct store	*st = s->admin.store;
	bool		 mariadb = db_is_mariadb(store_db(st)), offers;

	/*
	 * Does the server offer TLS?  MySQL then has a certificate with an end;
	 * its table of channels is empty without performance_schema.
	 */
	store_sql(st, "SELECT 1 FROM :variable",
	    SQL_EITHER("variable", mariadb,
	    "information_schema.global_variables WHERE "
	    "variable_name = 'HAVE_SSL' AND variable_value = 'YES'",
	    "performance_schema.global_status WHERE "
	    "variable_name = 'Ssl_server_not_after' AND "
	    "variable_value <> ''"));
	if (store_query_any(st, "setup", &offers, e) < 0)
		return -1;
	/*
	 * A server of MariaDB that checks new passwords takes no hash, unless
	 * it is told to; MySQL always does.
	 */
	s->clear = false;
	if (mariadb) {
		store_sql(st, "SELECT 1 FROM information_schema.plugins WHERE "
		    "plugin_type = 'PASSWORD VALIDATION' AND plugin_status = "
		    "'ACTIVE' AND @@strict_password_validation");
		if (store_query_any(st, "setup", &s->clear, e) < 0)
			return -1;
	}
	s->require_tls = offers && setup_is_remote(s->ctl) &&
	    db_uses_tls(s->ctl->conf);
	return 0;
}

int
setup_no_password(const char *account, const char *path, struct err *e)
{
	return err_set(e, "the account %s exists, but %s does not: write the "
	    "account's password into it, or outboxctl setup --new-password "
	    "makes a new one", account, path);
}

int
setup_make_account(struct setup *s, const char *account, bool exists,
    const char *password, struct err *e)
{
	struct buf	sql = { 0 };
	bool		plain;

	if (!exists || s->ctl->args.new_password) {
		if (s->clear && allow_clear(s, e) < 0)
			return -1;
		setup_put_account(s, account, password, &sql);
		if (setup_run_sql(s, &sql, e) < 0)
			return -1;
	}
	if (!setup_is_remote(s->ctl))
		return 0;
	/* May an account of other hosts log in without TLS? */
	store_sql(s->admin.store, "SELECT 1 FROM mysql.user WHERE "
	    "ssl_type = '' AND CONCAT(QUOTE(user), '@', QUOTE(host)) = "
	    ":account", SQL_TEXT("account", account));
	if (store_query_any(s->admin.store, "setup", &plain, e) < 0)
		return -1;
	if (plain)
		setup_step(s, "tls", "%s may log in from other hosts without "
		    "TLS; where the server offers it, and mysql.tls uses it: "
		    "ALTER USER %s REQUIRE SSL", account, account);
	return 0;
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
	    "CONCAT(QUOTE(user), '@', QUOTE(host)) = :account",
	    SQL_TEXT("account", account));
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

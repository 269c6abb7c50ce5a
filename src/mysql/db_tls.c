/*
 * db_tls.c - encryption, and who may have the password
 *
 * A server chooses how its clients log in.  Some ways give it the password: in
 * clear, or encrypted with a key that it has sent itself.  They are allowed
 * only if the server is known to be ours: on a Unix socket, or with a checked
 * certificate.  Otherwise the password is only hashed with the server's random
 * number.  Oracle's libmysqlclient and MariaDB's Connector/C have different
 * options for this; only this file knows of it.
 */

#include "mysql/db_impl.h"

#include <errmsg.h>
#ifndef LIBMARIADB
#include <client_plugin.h>
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/x509.h>

enum conf_tls
db_tls(const struct conf *conf, const char *host)
{
	if (conf->mysql.tls.mode != TLS_AUTO)
		return (enum conf_tls)conf->mysql.tls.mode;
	return host == NULL || conf_is_loopback(host) ? TLS_DISABLE : TLS_VERIFY;
}

static bool
is_known(const struct conf *conf, const char *host)
{
	return host == NULL || db_tls(conf, host) == TLS_VERIFY;
}

static const char *
or_null(const char *s)
{
	return s[0] == '\0' ? NULL : s;
}

#ifdef LIBMARIADB

/* They send no more than a hash or a signature of a random number. */
#define HASHING	"mysql_native_password,client_ed25519,parsec"

static void
set_mode(struct db *db, enum conf_tls tls, bool known)
{
	bool	has_key = db->conf->mysql.server_public_key[0] != '\0';
	my_bool	enforce = (my_bool)(tls != TLS_DISABLE);
	my_bool	verify = (my_bool)(tls == TLS_VERIFY);

	mysql_options(db->mysql, MYSQL_OPT_SSL_ENFORCE, &enforce);
	mysql_options(db->mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
	if (known)
		return;
	/*
	 * With TLS Connector/C sends the whole password to
	 * caching_sha2_password, and with MYSQL_OPT_SSL_ENFORCE alone even if
	 * the server offers no TLS.
	 */
	mysql_options(db->mysql, MARIADB_OPT_RESTRICTED_AUTH, has_key &&
	    tls == TLS_DISABLE ? HASHING ",caching_sha2_password" : HASHING);
	/* The server's default may be a forbidden one; the account's is not. */
	mysql_options(db->mysql, MYSQL_DEFAULT_AUTH, "mysql_native_password");
}

static bool
is_forbidden(unsigned code)
{
	return code == CR_PLUGIN_NOT_ALLOWED;
}

#else

static int	(*log_in_sha256)(MYSQL_PLUGIN_VIO *, MYSQL *);

/*
 * For sha256_password, unlike caching_sha2_password, the library asks any
 * server for a key, and no option forbids it.
 */
static int
log_in_with_our_key(MYSQL_PLUGIN_VIO *vio, MYSQL *mysql)
{
	struct MYSQL_PLUGIN_VIO_INFO info;
	const char	*key = NULL;

	vio->info(vio, &info);
	mysql_get_option(mysql, MYSQL_SERVER_PUBLIC_KEY, &key);
	if (info.protocol != MYSQL_VIO_SOCKET && key == NULL &&
	    mysql_get_ssl_cipher(mysql) == NULL)
		return CR_ERROR;
	return log_in_sha256(vio, mysql);
}

static void
guard_sha256(MYSQL *mysql)
{
	struct auth_plugin_t	*plugin;

	if (log_in_sha256 != NULL)
		return;
	plugin = (struct auth_plugin_t *)mysql_client_find_plugin(mysql,
	    "sha256_password", MYSQL_CLIENT_AUTHENTICATION_PLUGIN);
	if (plugin == NULL)
		return;
	log_in_sha256 = plugin->authenticate_user;
	plugin->authenticate_user = log_in_with_our_key;
}

/* The library forbids the rest by itself, unless there is TLS. */
static void
set_mode(struct db *db, enum conf_tls tls, bool known)
{
	unsigned	mode = tls == TLS_DISABLE ? SSL_MODE_DISABLED :
	    tls == TLS_VERIFY ? SSL_MODE_VERIFY_IDENTITY : SSL_MODE_REQUIRED;
	bool		no = false;

	if (!known)
		guard_sha256(db->mysql);
	mysql_options(db->mysql, MYSQL_OPT_SSL_MODE, &mode);
	mysql_options(db->mysql, MYSQL_OPT_GET_SERVER_PUBLIC_KEY, &no);
	mysql_options(db->mysql, MYSQL_ENABLE_CLEARTEXT_PLUGIN, &no);
}

static bool
is_forbidden(unsigned code)
{
	return code == CR_AUTH_PLUGIN_ERR || code == CR_UNKNOWN_ERROR ||
	    code == CR_AUTH_PLUGIN_CANNOT_LOAD;
}

#endif

/*
 * Those of mysql.tls, or for a check those of the system.  These must be named:
 * libmysqlclient checks nothing without, and Connector/C 3.4 takes any server
 * that proves, after the login, that it knows the hash of the password.
 */
static void
set_certificates(struct db *db, enum conf_tls tls)
{
	const struct conf	*c = db->conf;
	const char		*ca = or_null(c->mysql.tls.ca), *dir = NULL;

	if (ca == NULL && tls == TLS_VERIFY) {
		if ((ca = getenv(X509_get_default_cert_file_env())) == NULL)
			ca = X509_get_default_cert_file();
		if (access(ca, R_OK) < 0)
			ca = NULL;
		if ((dir = getenv(X509_get_default_cert_dir_env())) == NULL)
			dir = X509_get_default_cert_dir();
	}
	mysql_ssl_set(db->mysql, or_null(c->mysql.tls.key),
	    or_null(c->mysql.tls.cert), ca, dir, NULL);
}

int
db_set_tls(struct db *db, const char *host, struct err *e)
{
	const struct conf	*c = db->conf;
	enum conf_tls		 tls = db_tls(c, host);
	const char		*key = c->mysql.server_public_key;
	struct stat		 sb;
	int			 rc = 0;

	if (tls != TLS_DISABLE)
		set_certificates(db, tls);
	set_mode(db, tls, is_known(c, host));
	if (key[0] == '\0')
		return 0;
	/* Without a readable key Connector/C would ask the server for one. */
	if (access(key, R_OK) < 0 || stat(key, &sb) < 0)
		rc = err_set(e, "mysql.server_public_key: %s: %s", key,
		    strerror(errno));
	else if (!S_ISREG(sb.st_mode) || sb.st_size == 0)
		rc = err_set(e, "mysql.server_public_key: %s is empty or no "
		    "file", key);
	else
		mysql_options(db->mysql, MYSQL_SERVER_PUBLIC_KEY, key);
	if (rc < 0)
		db->fault = DB_WRONG;
	return rc;
}

int
db_explain_login(const struct db *db, const char *host, struct err *e)
{
	struct err	why = *e;

	if (is_forbidden(db->code) && !is_known(db->conf, host))
		err_set(e, "%s; this way to log in would give the password to "
		    "a server that was not checked: use mysql.socket, "
		    "mysql.tls.mode: verify, or mysql.server_public_key",
		    why.text);
	return -1;
}

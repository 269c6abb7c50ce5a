/*
 * password_hash.h - a password as the servers keep it
 *
 * An account that is created with the hash needs no statement with the
 * password, which a binlog, a log or a list of statements would show.
 */
#ifndef OUTBOX_PASSWORD_HASH_H
#define OUTBOX_PASSWORD_HASH_H

/* Each is printable ASCII without quotes; of "" it is "", as for a server. */
#define PASSWORD_HASH_SIZE	80

/* For mysql_native_password, which MariaDB has: "*" and 40 digits. */
void	password_hash_native(char to[PASSWORD_HASH_SIZE], const char *password);

/* For caching_sha2_password of MySQL 8.0 and later; salt of 20 letters. */
#define PASSWORD_SALT	20
void	password_hash_sha2(char to[PASSWORD_HASH_SIZE], const char *password,
	    const char *salt);

#endif

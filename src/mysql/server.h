/*
 * server.h - what the server of a connection is: alone, or a member of what
 *
 * Read with four statements that need no right but where it is said.  What the
 * account may not see is unknown, which is never an error: a text is then "",
 * a number SERVER_UNKNOWN.
 */
#ifndef OUTBOX_SERVER_H
#define OUTBOX_SERVER_H

#include "mysql/db.h"

#define SERVER_UNKNOWN	(-1)

#define SERVER_NAME	262	/* a host of up to 255 bytes, and a port */
#define SERVER_WORD	64
#define SERVER_TEXT	(SERVER_NAME + 320)

enum server_kind {
	SERVER_SINGLE,		/* alone as far as is known */
	SERVER_PRIMARY,		/* it has replicas */
	SERVER_GALERA,
	SERVER_GROUP		/* of group replication */
};

struct server {
	enum server_kind kind;
	char		name[SERVER_NAME];	/* "n1"; "db1:3307" */
	bool		vtgate;			/* reached by way of Vitess */
	char		version[SERVER_WORD];
	/*
	 * identity differs between any two servers: server_uuid, and on MariaDB
	 * "server_id@hostname:port".  source is the same for all members of a
	 * Galera cluster ("galera:UUID") or of a group ("group:NAME"), whose
	 * rows have one history; else it is the identity.
	 */
	char		identity[SERVER_NAME + 32];
	char		source[SERVER_NAME + 32];
	bool		read_only;

	/*
	 * Members that are online, of all that are known; of SERVER_PRIMARY its
	 * replicas, without the listeners of this program.  Needs SELECT on
	 * performance_schema.replication_group_members; for replicas
	 * REPLICATION SLAVE, on MariaDB REPLICATION MASTER ADMIN.
	 */
	int		online, size;
	char		state[SERVER_WORD];	/* "Synced", "ONLINE" */
	bool		several_primaries;	/* of a group: all take writes */
	char		primary[SERVER_NAME];	/* the group's only one */

	/* Semi-synchronous: "AFTER_SYNC"; "": asynchronous, or no binlog. */
	char		semi_sync[SERVER_WORD];

	/* Globals; a text "" if the server has no such variable. */
	int		sync_binlog, flush_at_commit;
	bool		has_binlog;
	int		increment, offset;	/* of AUTO_INCREMENT */
	int		sync_wait;		/* wsrep_sync_wait */
	char		consistency[SERVER_WORD];	/* of the group */

	/* Microseconds that its clock is ahead of this host's. */
	int64_t		ahead_us;
};

/*
 * Read it all over an open connection.  -1: that is lost; the struct is then
 * not to be used.
 */
int		 server_read(struct db *, struct server *, struct err *);

/*
 * In one line: "Galera n2 (3 of 3, Synced)"; "group replication, single primary
 * mysql-1 (3 of 3 online)"; "primary db1, 2 replicas (semi-sync, AFTER_SYNC)".
 * Behind vtgate it begins with "by vtgate: ".
 */
void		 server_text(const struct server *, char text[SERVER_TEXT]);

#endif

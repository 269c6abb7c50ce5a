/* server.c - see server.h */

#include "mysql/server.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <bsd/string.h>

#include "mysql/binlog.h"

/* What the server shows, as text. */
struct found {
	char	hostname[256], report_host[256], node[256], port[16];
	char	server_id[16], uuid[SERVER_WORD];
	char	read_only[16], log_bin[16];
	char	provider[SERVER_WORD], addresses[1024];
	char	group[SERVER_WORD], single[16];
	char	semi_sync[16], wait_point[SERVER_WORD], clients[16];
	char	cluster_size[16], cluster[SERVER_WORD], state[SERVER_WORD];
	char	sync_binlog[16], flush[16], increment[16], offset[16];
	char	sync_wait[16], consistency[SERVER_WORD];
	char	version[SERVER_WORD];
};

#define ROW(name, field)	\
	{ name, offsetof(struct found, field), sizeof(((struct found *)0)->field) }

struct name {
	const char	*name;
	size_t		 at, size;
};

static const struct name	variables[] = {
	ROW("version", version), ROW("hostname", hostname),
	ROW("report_host", report_host), ROW("port", port),
	ROW("server_id", server_id), ROW("server_uuid", uuid),
	ROW("read_only", read_only),
	ROW("log_bin", log_bin), ROW("sync_binlog", sync_binlog),
	ROW("innodb_flush_log_at_trx_commit", flush),
	ROW("auto_increment_increment", increment),
	ROW("auto_increment_offset", offset),
	ROW("wsrep_provider", provider), ROW("wsrep_node_name", node),
	ROW("wsrep_cluster_address", addresses),
	ROW("wsrep_sync_wait", sync_wait),
	ROW("group_replication_group_name", group),
	ROW("group_replication_single_primary_mode", single),
	ROW("group_replication_consistency", consistency),
	ROW("rpl_semi_sync_master_wait_point", wait_point),
	ROW("rpl_semi_sync_source_wait_point", wait_point),
}, statuses[] = {
	ROW("wsrep_cluster_size", cluster_size),
	ROW("wsrep_cluster_state_uuid", cluster),
	ROW("wsrep_local_state_comment", state),
	ROW("Rpl_semi_sync_master_status", semi_sync),
	ROW("Rpl_semi_sync_source_status", semi_sync),
	ROW("Rpl_semi_sync_master_clients", clients),
	ROW("Rpl_semi_sync_source_clients", clients),
};

/* NULL, and *lost is false: the server does not tell. */
static struct db_rows *
ask(struct db *db, const struct buf *sql, bool *lost, struct err *e)
{
	struct db_rows	*rows = db_query(db, "server", sql, e);

	*lost = rows == NULL && !db_is_open(db);
	return rows;
}

/* -1: the connection is lost. */
static int
show(struct db *db, const char *what, const struct name *names, size_t n,
    struct found *f, struct err *e)
{
	struct buf	 sql = { 0 };
	struct db_rows	*rows;
	bool		 lost;

	buf_printf(&sql, "SHOW GLOBAL %s WHERE Variable_name IN (", what);
	for (size_t i = 0; i < n; i++) {
		buf_str(&sql, i == 0 ? "" : ", ");
		db_quote(db, &sql, names[i].name, strlen(names[i].name));
	}
	buf_str(&sql, ")");
	rows = ask(db, &sql, &lost, e);
	while (rows != NULL && db_next(rows))
		for (size_t i = 0; i < n; i++)
			if (strcasecmp(names[i].name, db_text(rows, 0)) == 0)
				strlcpy((char *)f + names[i].at,
				    db_text(rows, 1), names[i].size);
	db_rows_free(rows);
	buf_free(&sql);
	return lost ? -1 : 0;
}

static int
number(const char *text)
{
	return text[0] == '\0' ? SERVER_UNKNOWN :
	    (int)strtol(text, NULL, 10);
}

static bool
is_on(const char *text)
{
	return strcasecmp(text, "ON") == 0 || strcmp(text, "1") == 0;
}

/* "db1"; with the port if it is not what everybody expects. */
static void
put_name(char name[SERVER_NAME], const char *host, const char *port)
{
	if (host[0] == '\0' || port[0] == '\0' || strcmp(port, "3306") == 0)
		strlcpy(name, host, SERVER_NAME);
	else
		snprintf(name, SERVER_NAME, "%s:%s", host, port);
}

static void
put_galera(struct server *s, const struct found *f)
{
	const char	*p = f->addresses;
	int		 listed = 0;

	s->kind = SERVER_GALERA;
	if (f->node[0] != '\0')
		strlcpy(s->name, f->node, sizeof(s->name));
	if (f->cluster[0] != '\0')
		snprintf(s->source, sizeof(s->source), "galera:%s", f->cluster);
	strlcpy(s->state, f->state, sizeof(s->state));
	/* "gcomm://a,b,c?options": those that it was told of. */
	if ((p = strstr(p, "://")) != NULL)
		for (p += 3; *p != '\0' && *p != '?'; p++)
			if (*p != ',' && (p[-1] == ',' || p[-1] == '/'))
				listed++;
	s->online = number(f->cluster_size);
	s->size = listed > s->online ? listed : s->online;
}

static int
read_group(struct db *db, struct server *s, const struct found *f,
    struct err *e)
{
	struct buf	 sql = { 0 };
	struct db_rows	*rows;
	bool		 lost;

	s->kind = SERVER_GROUP;
	snprintf(s->source, sizeof(s->source), "group:%s", f->group);
	s->several_primaries = f->single[0] != '\0' && !is_on(f->single);
	strlcpy(s->consistency, f->consistency, sizeof(s->consistency));
	buf_str(&sql, "SELECT member_id, member_host, member_port, "
	    "member_state, member_role "
	    "FROM performance_schema.replication_group_members");
	rows = ask(db, &sql, &lost, e);
	buf_free(&sql);
	if (rows == NULL)
		return lost ? -1 : 0;
	s->size = (int)db_nrows(rows);
	s->online = 0;
	while (db_next(rows)) {
		s->online += strcmp(db_text(rows, 3), "ONLINE") == 0;
		if (strcmp(db_text(rows, 0), f->uuid) == 0)
			strlcpy(s->state, db_text(rows, 3), sizeof(s->state));
		if (strcmp(db_text(rows, 4), "PRIMARY") == 0 &&
		    !s->several_primaries)
			put_name(s->primary, db_text(rows, 1),
			    db_text(rows, 2));
	}
	db_rows_free(rows);
	return 0;
}

static int
read_replicas(struct db *db, struct server *s, const struct found *f,
    struct err *e)
{
	struct buf	 sql = { 0 };
	struct db_rows	*rows;
	bool		 lost;
	int		 clients = number(f->clients);

	if (is_on(f->semi_sync))
		strlcpy(s->semi_sync, f->wait_point, sizeof(s->semi_sync));
	buf_str(&sql, db_is_mariadb(db) ? "SHOW SLAVE HOSTS" :
	    "SHOW REPLICAS");
	rows = ask(db, &sql, &lost, e);
	buf_free(&sql);
	if (lost)
		return -1;
	if (rows != NULL)
		s->online = 0;
	while (rows != NULL && db_next(rows))
		s->online += db_u64(rows, 0) < BINLOG_SERVER_ID_MIN;
	db_rows_free(rows);
	/* Everybody may count those that acknowledge. */
	if (clients > s->online && clients > 0)
		s->online = clients;
	s->size = s->online;
	if (s->online > 0)
		s->kind = SERVER_PRIMARY;
	return 0;
}

static int64_t
wall_us(void)
{
	struct timespec	ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static int
read_clock(struct db *db, struct server *s, struct err *e)
{
	struct buf	 sql = { 0 };
	struct db_rows	*rows;
	int64_t		 before, after;
	bool		 lost;

	buf_str(&sql, "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', "
	    "UTC_TIMESTAMP(6))");
	before = wall_us();
	rows = ask(db, &sql, &lost, e);
	after = wall_us();
	buf_free(&sql);
	if (rows != NULL && db_next(rows))
		s->ahead_us = (int64_t)db_u64(rows, 0) - (before + after) / 2;
	db_rows_free(rows);
	return lost ? -1 : 0;
}

int
server_read(struct db *db, struct server *s, struct err *e)
{
	struct found	f;

	memset(&f, 0, sizeof(f));
	memset(s, 0, sizeof(*s));
	s->online = s->size = SERVER_UNKNOWN;
	s->vtgate = db_is_vtgate(db);
	if (show(db, "VARIABLES", variables, sizeof(variables) /
	    sizeof(variables[0]), &f, e) < 0 ||
	    show(db, "STATUS", statuses, sizeof(statuses) /
	    sizeof(statuses[0]), &f, e) < 0 || read_clock(db, s, e) < 0)
		return -1;
	put_name(s->name, f.report_host[0] != '\0' ? f.report_host :
	    f.hostname, f.port);
	strlcpy(s->version, f.version, sizeof(s->version));
	if (f.uuid[0] != '\0')
		strlcpy(s->identity, f.uuid, sizeof(s->identity));
	else if (f.hostname[0] != '\0')
		snprintf(s->identity, sizeof(s->identity), "%s@%s:%s",
		    f.server_id, f.hostname, f.port);
	strlcpy(s->source, s->identity, sizeof(s->source));
	s->read_only = f.read_only[0] != '\0' &&
	    strcasecmp(f.read_only, "OFF") != 0;
	s->has_binlog = is_on(f.log_bin);
	s->sync_binlog = number(f.sync_binlog);
	s->flush_at_commit = number(f.flush);
	s->increment = number(f.increment);
	s->offset = number(f.offset);
	s->sync_wait = number(f.sync_wait);
	if (f.provider[0] != '\0' && strcmp(f.provider, "none") != 0) {
		put_galera(s, &f);
		return 0;
	}
	if (f.group[0] != '\0')
		return read_group(db, s, &f, e);
	return s->has_binlog ? read_replicas(db, s, &f, e) : 0;
}

static void
put_members(struct buf *b, const struct server *s, const char *online)
{
	if (s->online != SERVER_UNKNOWN)
		buf_printf(b, "%d of %d%s", s->online, s->size, online);
}

void
server_text(const struct server *s, char text[SERVER_TEXT])
{
	struct buf	 b = { 0 };
	const char	*name = s->name[0] != '\0' ? s->name : "server";
	const char	*primary;

	buf_str(&b, s->vtgate ? "by vtgate: " : "");
	switch (s->kind) {
	case SERVER_GALERA:
		buf_printf(&b, "Galera %s (", name);
		put_members(&b, s, "");
		buf_printf(&b, "%s%s)", s->online != SERVER_UNKNOWN &&
		    s->state[0] != '\0' ? ", " : "", s->state);
		break;
	case SERVER_GROUP:
		primary = s->primary[0] != '\0' ? s->primary : s->read_only ?
		    "" : name;
		buf_str(&b, "group replication, ");
		if (s->several_primaries)
			buf_str(&b, "multi-primary");
		else
			buf_printf(&b, "single primary%s%s",
			    primary[0] != '\0' ? " " : "", primary);
		if (s->several_primaries || strcmp(primary, name) != 0)
			buf_printf(&b, ", this is %s", name);
		buf_str(&b, " (");
		put_members(&b, s, " online");
		buf_str(&b, s->online == SERVER_UNKNOWN ?
		    "members not visible)" : ")");
		break;
	case SERVER_PRIMARY:
		buf_printf(&b, "primary %s, %d replica%s (%s%s)", name,
		    s->online, s->online == 1 ? "" : "s",
		    s->semi_sync[0] != '\0' ? "semi-sync, " : "asynchronous",
		    s->semi_sync);
		break;
	case SERVER_SINGLE:
		buf_str(&b, name);
		if (s->read_only)
			buf_str(&b, ", read-only");
		else if (s->semi_sync[0] != '\0')
			buf_printf(&b, " (semi-sync, %s)", s->semi_sync);
		break;
	}
	strlcpy(text, b.data, SERVER_TEXT);
	buf_free(&b);
}

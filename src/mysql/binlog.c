/*
 * binlog.c - see binlog.h
 *
 * Both libraries can request a binlog.  Oracle's returns the bytes of each
 * event.  Connector/C decodes them and ends the stream at an unknown one: we
 * use only its request, and read the packets ourselves.
 */

#include "mysql/binlog.h"

#include "mysql/db_impl.h"

#ifdef LIBMARIADB
#include <mariadb_rpl.h>
#endif

#include <stdlib.h>
#include <string.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>

#include "mysql/binlog_event.h"
#include "mysql/gtid.h"
#include "util/xalloc.h"

#define SILENCE_MS	10000		/* the server beats each second */
#define HEARTBEAT_NS	"1000000000"

#define SERVER_ID_RANGE	(UINT32_MAX - BINLOG_SERVER_ID_MIN)

struct binlog {
	const struct conf	*conf;
	struct db		*db;		/* the stream */
	unsigned		 column;
	uint64_t		 keys;
	char			 file[512];	/* MySQL: begin here, */
	uint64_t		 position;
	struct buf		 gtids;		/* or, if any, after these */
#ifdef LIBMARIADB
	MARIADB_RPL		*dump;		/* NULL: no stream */
#else
	MYSQL_RPL		 dump;
#endif
};

struct binlog *
binlog_new(const struct conf *conf)
{
	struct binlog	*b = xcalloc(1, sizeof(*b));

	b->conf = conf;
	b->db = db_new(conf, SILENCE_MS);
	return b;
}

void
binlog_free(struct binlog *b)
{
	binlog_close(b);
	db_free(b->db);
	buf_free(&b->gtids);
	free(b);
}

struct db *
binlog_db(const struct binlog *b)
{
	return b->db;
}

unsigned
binlog_column(const struct binlog *b)
{
	return b->column;
}

uint64_t
binlog_keys(const struct binlog *b)
{
	return b->keys;
}

/*
 * The server disconnects a reader when another comes with its id.  So each
 * stream has a random one of a large range.
 */
static uint32_t
server_id(void)
{
	return BINLOG_SERVER_ID_MIN + arc4random_uniform(SERVER_ID_RANGE);
}

static int
ended(struct binlog *b, struct err *e)
{
	b->db->fault = DB_LOST;
	return err_set(e, "binlog: the server ended the stream");
}

#ifdef LIBMARIADB

#define ASKS_BY_GTID	false

static int
dump_open(struct binlog *b, struct err *e)
{
	if ((b->dump = mariadb_rpl_init(b->db->mysql)) == NULL)
		abort();
	mariadb_rpl_optionsv(b->dump, MARIADB_RPL_SERVER_ID, server_id());
	mariadb_rpl_optionsv(b->dump, MARIADB_RPL_FILENAME, b->file,
	    strlen(b->file));
	mariadb_rpl_optionsv(b->dump, MARIADB_RPL_START,
	    (unsigned long)b->position);
	mariadb_rpl_optionsv(b->dump, MARIADB_RPL_FLAGS, 0u);
	if (mariadb_rpl_open(b->dump) != 0)
		return db_fail(b->db, "binlog", e);
	return 0;
}

/* Packets begin with a status: 0, or 254 in the last one. */
static int
dump_next(struct binlog *b, const uint8_t **event, size_t *len, struct err *e)
{
	unsigned long	n = mysql_net_read_packet(b->db->mysql);

	if (n == packet_error)
		return db_fail(b->db, "binlog", e);
	*event = b->db->mysql->net.read_pos;
	if (n == 0 || (*event)[0] != 0)
		return ended(b, e);
	(*event)++;
	*len = n - 1;
	return 0;
}

static void
dump_close(struct binlog *b)
{
	if (b->dump != NULL)
		mariadb_rpl_close(b->dump);
	b->dump = NULL;
}

#else

#define ASKS_BY_GTID	true

static int
dump_open(struct binlog *b, struct err *e)
{
	b->dump = (MYSQL_RPL){
		.file_name = b->file, .file_name_length = strlen(b->file),
		.start_position = b->position, .server_id = server_id()
	};
	if (b->gtids.len > 0) {
		b->dump.flags = MYSQL_RPL_GTID;
		b->dump.gtid_set_arg = b->gtids.data;
		b->dump.gtid_set_encoded_size = b->gtids.len;
	}
	if (mysql_binlog_open(b->db->mysql, &b->dump) != 0)
		return db_fail(b->db, "binlog", e);
	return 0;
}

/* Packets begin with a status, which the library has checked. */
static int
dump_next(struct binlog *b, const uint8_t **event, size_t *len, struct err *e)
{
	if (mysql_binlog_fetch(b->db->mysql, &b->dump) != 0)
		return db_fail(b->db, "binlog", e);
	if (b->dump.size == 0)
		return ended(b, e);
	*event = b->dump.buffer + 1;
	*len = b->dump.size - 1;
	return 0;
}

static void
dump_close(struct binlog *b)
{
	if (b->db->mysql != NULL)
		mysql_binlog_close(b->db->mysql, &b->dump);
}

#endif

static int
binlog_exec(struct db *db, const char *text, struct err *e)
{
	struct buf	sql = { 0 };
	int		rc;

	buf_str(&sql, text);
	rc = db_exec(db, "binlog", &sql, NULL, e);
	buf_free(&sql);
	return rc;
}

static struct db_rows *
binlog_query(struct db *db, const char *text, struct err *e)
{
	struct buf	 sql = { 0 };
	struct db_rows	*rows;

	buf_str(&sql, text);
	rows = db_query(db, "binlog", &sql, e);
	buf_free(&sql);
	return rows;
}

/* Append the condition that a row is a column of the outbox. */
static void
put_is_outbox(struct binlog *b, struct buf *sql)
{
	const struct conf	*c = b->conf;
	const char		*table = conf_outbox_table(c);

	buf_str(sql, " AND TABLE_SCHEMA = ");
	db_quote(b->db, sql, c->mysql.database, strlen(c->mysql.database));
	buf_str(sql, " AND TABLE_NAME = ");
	db_quote(b->db, sql, table, strlen(table));
}

/* Which columns of the outbox have the label, and the primary key? */
static int
learn_columns(struct binlog *b, struct err *e)
{
	const char	*name = conf_column(b->conf, "partition_key");
	struct buf	 sql = { 0 };
	struct db_rows	*rows;
	bool		 fits = true;

	/* In UTF-16 and the like, the bytes of a label are no ASCII text. */
	buf_str(&sql, "SELECT ORDINAL_POSITION - 1 "
	    "FROM information_schema.COLUMNS "
	    "WHERE COALESCE(CHARACTER_SET_NAME, '') NOT IN "
	    "('ucs2', 'utf16', 'utf16le', 'utf32') AND COLUMN_NAME = ");
	db_quote(b->db, &sql, name, strlen(name));
	put_is_outbox(b, &sql);
	rows = db_query(b->db, "binlog", &sql, e);
	buf_free(&sql);
	if (rows == NULL)
		return -1;
	b->column = BINLOG_NO_COLUMN;
	if (db_next(rows) && db_u64(rows, 0) < BINLOG_NO_COLUMN)
		b->column = (unsigned)db_u64(rows, 0);
	db_rows_free(rows);

	buf_str(&sql, "SELECT ORDINAL_POSITION - 1 "
	    "FROM information_schema.COLUMNS WHERE COLUMN_KEY = 'PRI'");
	put_is_outbox(b, &sql);
	rows = db_query(b->db, "binlog", &sql, e);
	buf_free(&sql);
	if (rows == NULL)
		return -1;
	b->keys = 0;
	while (db_next(rows)) {
		fits = fits && db_u64(rows, 0) < BINLOG_COLUMNS;
		if (fits)
			b->keys |= UINT64_C(1) << db_u64(rows, 0);
	}
	if (!fits)
		b->keys = 0;
	db_rows_free(rows);
	return 0;
}

static int
begin_mysql(struct binlog *b, struct err *e)
{
	bool		 old = b->db->version < 80200;
	struct db_rows	*rows;
	struct err	 second;
	int		 rc = 0;

	buf_clear(&b->gtids);
	rows = binlog_query(b->db, old ? "SHOW MASTER STATUS" :
	    "SHOW BINARY LOG STATUS", e);
	if (rows != NULL) {
		if (db_next(rows) && db_length(rows, 0) < sizeof(b->file)) {
			strlcpy(b->file, db_text(rows, 0), sizeof(b->file));
			b->position = db_u64(rows, 1);
		} else
			rc = err_set(e, "binlog: the server reports no "
			    "position");
		db_rows_free(rows);
		return rc;
	}
	if (!ASKS_BY_GTID || b->db->fault != DB_WRONG)
		return -1;
	/*
	 * An account that may not ask for the position may ask for the executed
	 * GTIDs.  This is the second choice: the server reads its last file
	 * from the start for it.  If it fails as well, the error stays that of
	 * the first.
	 */
	rows = binlog_query(b->db, "SELECT @@global.gtid_executed FROM DUAL "
	    "WHERE @@global.gtid_mode = 'ON'", &second);
	if (rows == NULL)
		return -1;
	rc = db_next(rows) ? gtid_encode(db_text(rows, 0), &b->gtids) : -1;
	db_rows_free(rows);
	b->file[0] = '\0';
	b->position = 4;
	if (rc < 0)
		b->db->fault = DB_WRONG;
	return rc;
}

/* Both names of each: a server knows one of them or both. */
static int
prepare_dump(struct binlog *b, struct err *e)
{
	struct db_rows	*rows = binlog_query(b->db, "SELECT @@global.log_bin",
			    e);
	bool		 on;
	int		 rc = 0;

	if (rows == NULL)
		return -1;
	on = db_next(rows) && db_u64(rows, 0) == 1;
	db_rows_free(rows);
	if (!on) {
		b->db->fault = DB_WRONG;
		return err_set(e, "binlog: the server writes none: start it "
		    "with log_bin");
	}
	/*
	 * With auto the binlog is left alone where its events cannot be read:
	 * each commit of any table would wake all workers.
	 */
	if (b->conf->wake.binlog == WAKE_AUTO) {
		rows = binlog_query(b->db, "SHOW GLOBAL VARIABLES "
		    "WHERE Variable_name IN "
		    "('log_bin_compress', 'binlog_transaction_compression') "
		    "AND Value = 'ON'", e);
		if (rows == NULL)
			return -1;
		if (db_next(rows)) {
			b->db->fault = DB_WRONG;
			rc = err_set(e, "binlog: the server compresses it: "
			    "SET GLOBAL %s = OFF", db_text(rows, 0));
		}
		db_rows_free(rows);
	}
	if (rc < 0 || learn_columns(b, e) < 0)
		return -1;
	if (b->db->mariadb) {
		/*
		 * It begins after the GTIDs that the client sets, and any
		 * account may read the present ones.
		 */
		buf_clear(&b->gtids);
		b->file[0] = '\0';
		b->position = 4;
		rc = binlog_exec(b->db, "SET @mariadb_slave_capability = 4, "
		    "@slave_connect_state = @@global.gtid_binlog_pos", e);
	} else
		rc = begin_mysql(b, e);
	return rc < 0 ? -1 : binlog_exec(b->db, "SET "
	    "@master_binlog_checksum = @@global.binlog_checksum, "
	    "@source_binlog_checksum = @@global.binlog_checksum, "
	    "@master_heartbeat_period = " HEARTBEAT_NS ", "
	    "@source_heartbeat_period = " HEARTBEAT_NS, e);
}

int
binlog_open(struct binlog *b, struct err *e)
{
	binlog_close(b);
	if (db_open(b->db, e) < 0)
		return -1;
	if (prepare_dump(b, e) < 0 || dump_open(b, e) < 0) {
		binlog_close(b);
		return -1;
	}
	return 0;
}

void
binlog_close(struct binlog *b)
{
	dump_close(b);
	db_close(b->db);
}

int
binlog_next(struct binlog *b, const uint8_t **event, size_t *len,
    struct err *e)
{
	if (dump_next(b, event, len, e) == 0)
		return 0;
	binlog_close(b);
	return -1;
}

# pillar.sh - the tables of the PHP package Pillar; sourced after lib.sh
#
# pillar_tables: replace our tables by those of its migrations, with the rights
# of the daemon's account.  check_pillar NAME: check the stream at the end.

# shellcheck shell=bash disable=SC2154

# The checker reads dead letters.
check_pillar() {
	sql "CREATE TABLE outbox_dead_letters (global_sequence BIGINT UNSIGNED,
	    attempts INT, reason TEXT, last_error TEXT, order_key TEXT)"
	check_stream "$1" --wait 10
}

pillar_tables() {
	sql "DROP TABLE outbox, events, outbox_partitions, outbox_workers,
	outbox_settings, outbox_dead_letters, outbox_blocked_keys,
	outbox_streams, outbox_audit, outbox_registry;
    ALTER DATABASE app CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"
	"$SANDBOX" sql "$DIR/db" app < "$srcdir/tests/lib/pillar.sql"
	sql "GRANT SELECT ON app.events TO 'outbox'@'localhost';
    GRANT SELECT, UPDATE, DELETE ON app.outbox TO 'outbox'@'localhost';
    GRANT SELECT, INSERT, UPDATE ON app.outbox_partitions TO 'outbox'@'localhost';
    GRANT SELECT, INSERT, UPDATE, DELETE ON app.outbox_workers
	TO 'outbox'@'localhost'"
}

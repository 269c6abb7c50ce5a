# inline.sh - the tables of outbox.mode: inline; sourced after lib.sh
#
# inline_tables: replace the tables of the other mode by these, with the rights
# of the accounts.  write_conf and produce then use them.

# inline_views: what scripts for the other mode read and write; the checker finds
# dead messages among the events.

# shellcheck shell=bash disable=SC2034

OUTBOX='mode: inline'

inline_ctl() { "$OUTBOXCTL" -c "$CONF" "$@"; }

# The rights of the accounts, and what the tests need besides.
inline_grants() {
	inline_ctl schema print --grants | awk 'BEGIN { RS = ORS = ";" }
	    !/outbox_operator/'
	echo "GRANT SELECT, INSERT ON outbox_messages
	    TO 'outbox_producer'@'localhost';
	GRANT INSERT, UPDATE (changed) ON outbox_audit
	    TO 'outbox'@'localhost';"
}

drop_tables() {
	sql "DROP TABLE outbox, events, outbox_partitions, outbox_workers,
	outbox_settings, outbox_dead_letters, outbox_blocked_keys,
	outbox_streams, outbox_audit, outbox_registry;
	DROP PROCEDURE outbox_enqueue"
}

inline_tables() {
	drop_tables
	[ -e "$CONF" ] || write_conf
	inline_ctl schema print > "$DIR/inline.sql" || return
	"$SANDBOX" sql "$DIR/db" app < "$DIR/inline.sql" || return
	inline_grants | "$SANDBOX" sql "$DIR/db" app
}

inline_views() {
	sql "CREATE VIEW outbox AS SELECT id AS global_sequence, partition_key,
	    attempts, available_at, published_at, claim_token, last_error
	    FROM outbox_messages;
	CREATE VIEW events AS SELECT id AS sequence, order_key AS stream_id,
	    topic AS event_type, payload AS event_data FROM outbox_messages
	    UNION ALL SELECT global_sequence, CONVERT(order_key USING utf8mb4)
	    COLLATE utf8mb4_bin, CONVERT(event_type USING utf8mb4)
	    COLLATE utf8mb4_bin, payload FROM outbox_dead_letters"
}

is_drained() { is_sql 'SELECT COUNT(*) FROM outbox_messages
    WHERE published_at IS NULL' 0; }
published() { sql 'SELECT COUNT(published_at) FROM outbox_messages'; }
pending() { sql 'SELECT COUNT(*) FROM outbox_messages
    WHERE published_at IS NULL'; }

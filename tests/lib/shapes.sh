# shapes.sh - outboxes of other programs, by outbox.columns; sourced after
# lib.sh and inline.sh
#
# shape_conf NAME: set OUTBOX for write_conf, for a table of shapes.sql
# shape_tables NAME: replace our tables by it, mended as schema check says, with
# our tables beside it, the trigger, and the rights of the accounts
# shape_views NAME: what scripts for our own tables read and write; the checker
# finds dead messages among the events

# shellcheck shell=bash disable=SC2034,SC2154

shape_conf() {
	case $1 in
	laravel)
		SHAPE=outbox_messages
		OUTBOX='id: outbox_seq, message_id: id, order_key: topic,
		    scheduled_at: available_at,
		    available_at: outbox_available_at, published_at: sent_at,
		    headers: outbox_headers,
		    content_type: outbox_content_type' ;;
	debezium)
		SHAPE=outboxevent
		OUTBOX='id: outbox_seq, message_id: id, topic: type,
		    order_key: aggregateid' ;;
	esac
	OUTBOX="mode: inline, tables: {messages: $SHAPE}, columns: {$(
	    tr -s '\n\t ' ' ' <<<"$OUTBOX")}"
}

shape_ctl() { "$OUTBOXCTL" -c "$DIR/boss.yml" "$@"; }

shape_tables() {
	shape_conf "$1"
	drop_tables
	sql "CREATE USER 'boss'@'localhost' IDENTIFIED BY '$OUTBOX_PW';
	    GRANT ALL ON *.* TO 'boss'@'localhost' WITH GRANT OPTION"
	sed -n "/^-- $1/,/^)/p" "$srcdir/tests/lib/shapes.sql" |
	    "$SANDBOX" sql "$DIR/db" app
	HANG_TIMEOUT=0 write_conf "$DIR/boss.yml"
	sed -i 's/user: outbox,/user: boss,/' "$DIR/boss.yml"
	shape_ctl schema install
	shape_ctl --json schema check | jq -r '.[] | select(.level != "note") |
	    .remedy + ";"' | "$SANDBOX" sql "$DIR/db" app || return
	shape_ctl schema install --trigger || return
	sql 'UPDATE outbox_settings SET partition_count = 16'
	shape_grants | "$SANDBOX" sql "$DIR/db" app
}

shape_grants() {
	shape_ctl schema print --grants | awk 'BEGIN { RS = ORS = ";" }
	    !/outbox_operator/'
	echo "GRANT SELECT, INSERT ON $SHAPE TO 'outbox_producer'@'localhost';
	GRANT INSERT, UPDATE (changed) ON outbox_audit
	    TO 'outbox'@'localhost';"
}

shape_views() {
	local key=topic type=topic at=outbox_available_at done=sent_at
	[ "$1" = laravel ] ||
	    key=aggregateid type=type at=available_at done=published_at
	sql "CREATE VIEW outbox AS SELECT outbox_seq AS global_sequence,
	    partition_key, attempts, $at AS available_at,
	    $done AS published_at, claim_token, last_error FROM $SHAPE;
	CREATE VIEW events AS SELECT outbox_seq AS sequence,
	    $key COLLATE utf8mb4_bin AS stream_id,
	    $type COLLATE utf8mb4_bin AS event_type, payload AS event_data
	    FROM $SHAPE UNION ALL SELECT global_sequence,
	    CONVERT(order_key USING utf8mb4) COLLATE utf8mb4_bin,
	    CONVERT(event_type USING utf8mb4) COLLATE utf8mb4_bin, payload
	    FROM outbox_dead_letters"
	is_drained() { is_sql 'SELECT COUNT(*) FROM outbox
	    WHERE published_at IS NULL' 0; }
}

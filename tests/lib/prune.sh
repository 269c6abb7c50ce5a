# prune.sh - helpers for the tests of pruning; sourced after lib.sh

# shellcheck shell=bash

# checked AGE: set the last stream check to this long ago
checked() {
	sql "REPLACE INTO outbox_streams (name, known_since, checked_at)
	    VALUES ('EVENTS', NOW(6) - INTERVAL 90 DAY, NOW(6) - INTERVAL $1)"
}
rows() { sql 'SELECT CONCAT(COUNT(*), " from ", MIN(global_sequence))
    FROM outbox'; }
dead() { sql "SELECT COALESCE(GROUP_CONCAT(global_sequence, ' ', reason
    ORDER BY global_sequence), '') FROM outbox_dead_letters"; }

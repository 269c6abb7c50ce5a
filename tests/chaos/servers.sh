# servers.sh - what the database is set to, and a broker that answers with
# errors; sourced by run.sh

# shellcheck shell=bash disable=SC2034,SC2154

#
# Variables of the database, server-wide.  Sessions that begin afterwards have
# them, so most changes come with a KILL of all connections.
#

# Name and values; A..B is a number from there.  Those that this server does not
# have change nothing.  The first 16 come more often.
VARS='
	sql_select_limit 1..1000
	sql_safe_updates 1
	sql_mode ANSI ANSI_QUOTES NO_BACKSLASH_ESCAPES PIPES_AS_CONCAT TRADITIONAL IGNORE_SPACE HIGH_NOT_PRECEDENCE NO_UNSIGNED_SUBTRACTION ONLY_FULL_GROUP_BY PAD_CHAR_TO_FULL_LENGTH REAL_AS_FLOAT NO_AUTO_VALUE_ON_ZERO ANSI,NO_BACKSLASH_ESCAPES,TRADITIONAL ORACLE EMPTY_STRING_IS_NULL NO_ZERO_IN_DATE,NO_ZERO_DATE TIME_TRUNCATE_FRACTIONAL ALLOW_INVALID_DATES
	time_zone +05:30 -08:00 +13:00
	completion_type CHAIN RELEASE
	autocommit 0
	tx_isolation READ-UNCOMMITTED REPEATABLE-READ SERIALIZABLE
	transaction_isolation READ-UNCOMMITTED REPEATABLE-READ SERIALIZABLE
	tx_read_only 1
	transaction_read_only 1
	max_statement_time 0.05 0.2 0.5
	max_execution_time 1..300
	sql_big_selects 0
	max_join_size 10..1000
	sql_auto_is_null 1
	group_concat_max_len 4..64
	innodb_lock_wait_timeout 1..3
	lock_wait_timeout 1..3
	innodb_snapshot_isolation ON OFF
	idle_transaction_timeout 1..3
	wait_timeout 1..3
	net_read_timeout 1..3
	net_write_timeout 1..3
	max_sort_length 64..100
	max_error_count 0
	div_precision_increment 0
	default_week_format 3
	unique_checks 0
	foreign_key_checks 0
	low_priority_updates 1
	optimizer_switch index_merge=off derived_merge=off materialization=off,semijoin=off condition_pushdown_for_derived=off split_materialized=off rowid_filter=off mrr=on,mrr_cost_based=off subquery_to_derived=on skip_scan=off
	eq_range_index_dive_limit 1..3
	in_predicate_conversion_threshold 2
	optimizer_search_depth 0 1
	optimizer_prune_level 0
	max_seeks_for_key 1
	join_buffer_size 128
	sort_buffer_size 32768
	tmp_table_size 1024
	max_heap_table_size 16384
	character_set_server latin1 utf8mb3 binary
	collation_server latin1_german2_ci utf8mb4_general_ci
	character_set_connection latin1
	collation_connection utf8mb4_general_ci latin1_swedish_ci
	character_set_results latin1
	lc_messages de_DE ja_JP
	lc_time_names de_DE
	binlog_format MIXED
	binlog_row_image MINIMAL NOBLOB
	binlog_checksum NONE CRC32
	binlog_row_metadata FULL
	log_bin_compress 1
	log_bin_compress_min_len 10
	session_track_system_variables autocommit,sql_mode
	session_track_transaction_info CHARACTERISTICS
	session_track_state_change 1
	sql_notes 0
	updatable_views_with_limit 0
	windowing_use_high_precision 0
	init_connect SET+NAMES+latin1 SET+sql_mode=ANSI SET+autocommit=0 SET+sql_select_limit=20 SET+sql_safe_updates=1 SET+time_zone="-05:00"
'
VARS_NOW=()		# name=value, in force; a blank in a value is a +
VARS_WAS=()		# those before

# Set VAR to a variable and its value.
any_var() {
	local rows=() row
	mapfile -t rows < <(sed '/^$/d; s/^[[:space:]]*//' <<<"$VARS")
	below 2
	below $((R == 0 ? ${#rows[@]} : 16))
	read -ra row <<<"${rows[R]}"
	below $((${#row[@]} - 1))
	VAR=${row[R + 1]}
	[[ ! $VAR =~ ^([0-9]+)\.\.([0-9]+)$ ]] || {
		between "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
		VAR=$R
	}
	VAR=${row[0]}=$VAR
}

# some_vars: set LIST to a few of them, each once
some_vars() {
	local n i
	LIST=''
	between 2 6
	n=$R
	for ((i = 0; i < n; i++)); do
		any_var
		[[ " $LIST" == *" ${VAR%%=*}="* ]] || LIST+="$VAR "
	done
}

# Three of four kill all connections, for new ones to have them.
plan_server_vars() {
	local how='sever'
	is_busy vars "$1" && return 1
	below 4
	[ "$R" -ne 0 ] || how="wait"
	some_vars
	occupy vars $(($1 + 5000))
	PLAN+=("$1 server_vars $how ${LIST% }")
}

do_server_vars() {
	local how=$1
	shift
	! is_running db && ! is_running vars && [ -z "$BACK_BUSY" ] || return 1
	VARS_WAS=("${VARS_NOW[@]}") VARS_NOW=("$@")
	in_background vars vars_change "$how"
}

# assign NAME=VALUE: the statement for it
assign() {
	local value=${1#*=}
	value=${value//+/ }
	case ${1%%=*} in time_zone) value=${1#*=} ;; esac
	[[ $value =~ ^[0-9.]+$ ]] || value="'${value//\'/\'\'}'"
	echo "SET GLOBAL ${1%%=*} = $value;"
}

# The values from before the run are in a file.
vars_change() {
	local item
	{
		for item in "${VARS_WAS[@]}"; do
			assign "$(awk -F '\t' -v name="${item%%=*}" \
			    '$1 == name { print $1 "=" $2 }' "$DIR/globals")"
		done
		for item in "${VARS_NOW[@]}"; do assign "$item"; done
	} | timeout 20 "$SANDBOX" sql "$PRIMARY" --force
	[ "$1" = wait ] || sever outbox,outbox_producer
	return 0
}

# A server that was started again has those of its file.
vars_again() {
	[ "${#VARS_NOW[@]}" -eq 0 ] || is_running vars ||
	    in_background vars vars_change sever
}

vars_start() {
	"$SANDBOX" sql "$PRIMARY" -N -e 'SHOW GLOBAL VARIABLES' > "$DIR/globals"
}

#
# KILL QUERY, as drivers send it when their own time is up: the session goes on
#

plan_query_kill() {
	between 20 200
	PLAN+=("$1 query_kill $R")
}

do_query_kill() {
	! is_running db && ! is_running kill &&
	    in_background kill query_kill "$1"
}

# That many, of the daemon and of applications, one by one.
query_kill() {
	timeout 20 "$SANDBOX" sql "$PRIMARY" -e "CALL chaos.query_kill($1)"
	forget_tables
}

# A statement of MariaDB 10.11 that is killed while it opens a table leaves a
# broken trigger in the cache, "has an error in its body", for all that follow.
forget_tables() {
	timeout 20 "$SANDBOX" sql "$PRIMARY" -e 'FLUSH TABLES'
}

query_kill_start() {
	"$SANDBOX" sql "$PRIMARY" <<-'E'
	CREATE DATABASE chaos;
	DELIMITER //
	CREATE PROCEDURE chaos.query_kill(n INT)
	BEGIN
		DECLARE v BIGINT;
		DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
		WHILE n > 0 DO
			SET n = n - 1, v = NULL;
			SELECT id INTO v FROM information_schema.processlist
			    WHERE user IN ('outbox', 'outbox_producer')
			    AND command = 'Query' ORDER BY RAND() LIMIT 1;
			IF v IS NOT NULL THEN
				KILL QUERY v;
			END IF;
			DO SLEEP(0.005);
		END WHILE;
	END//
	E
}

#
# Lies: the proxy of the first master answers in place of the broker.  Most
# begin with answers that do not come, and a connection that is cut: then there
# are messages of which nobody knows whether they are stored.
#

LIES=$DIR/lies
HOWS=(nobody silence denied empty garbage cut 503.10008 404.10059 503.10023
    503.10039 500.10050)

plan_api_lie() {
	local what how deaf=0 away=0
	is_busy pnats "$1" && return 1
	below 8
	case $R in
	0|1|2) what='info' ;;
	3|4) what="get" ;;
	5) what=gone ;;
	*) what=all ;;
	esac
	below "${#HOWS[@]}"
	how=${HOWS[R]}
	below 4
	[ "$R" -eq 0 ] || {
		between 200 1200
		deaf=$R
		below 3
		[ "$R" -eq 0 ] || {
			between 500 4000
			away=$R
		}
	}
	between 500 5000
	occupy pnats $(($1 + deaf + away + R + 500))
	PLAN+=("$1 api_lie $what $how $deaf $away $R")
}

do_api_lie() {
	[ -n "$PROXY_nats" ] && [ ! -e "$LIES" ] || return 1
	if [ "$3" -eq 0 ]; then
		lies_tell "$1" "$2"
		after "$5" lies_end
	else
		echo deaf > "$LIES"
		after "$3" lies_cut "$1" "$2" "$4" "$5"
	fi
}

# lies_cut WHAT HOW AWAY FOR: cut the connections; new ones hear lies
lies_cut() {
	lies_tell "$1" "$2"
	if [ "$3" -gt 0 ]; then
		refuse_side nats "$3"
	else
		cut_side nats 0
	fi
	after $(($3 + $4)) lies_end
}

# lies_tell WHAT HOW
lies_tell() {
	case $1 in
	info) printf '%s %s\n' "\$JS.API.STREAM.INFO" "$2" ;;
	get) printf '%s %s\n' "\$JS.API.STREAM.MSG.GET" "$2" ;;
	all) printf '%s %s\n' "\$JS.API." "$2" ;;
	# A stream that is moved, or restored: nobody takes its messages.
	gone) printf '%s\n' "\$JS.API.STREAM. 404.10059" 'events. nobody' ;;
	esac > "$LIES.new"
	mv "$LIES.new" "$LIES"
	note "the broker's answers are lies: $1 $2"
}

lies_end() {
	rm -f "$LIES"
	note 'the lies are over'
}

#
# DDL that a database takes while it is at work
#

# What is done to a table, and taken back; KEY is its first column.  A server
# that went in between leaves it, and then only the second half does something.
DDL=(
	'ADD COLUMN chaos_n INT NULL|DROP COLUMN chaos_n'
	"ADD COLUMN chaos_t VARCHAR(20) NOT NULL DEFAULT 'x' FIRST|DROP COLUMN chaos_t"
	'ADD INDEX chaos_i (KEY)|DROP INDEX chaos_i'
	"COMMENT = 'chaos'|COMMENT = ''"
	'FORCE|FORCE'
)

plan_ddl() {
	local n
	is_busy ddl "$1" && return 1
	below 100
	n=$R
	below "${#DDL[@]}"
	occupy ddl $(($1 + 4000))
	PLAN+=("$1 ddl $n $R")
}

do_ddl() { ! is_running db && ! is_running ddl && in_background ddl ddl "$@"; }

# ddl N HOW: of the N-th table
ddl() {
	local tables table key part text=${DDL[$2]}
	mapfile -t tables < <(timeout 20 "$SANDBOX" sql "$PRIMARY" -N app -e "
	    SELECT CONCAT(c.table_name, ' ', c.column_name)
	    FROM information_schema.columns AS c
	    JOIN information_schema.tables AS t USING (table_schema, table_name)
	    WHERE c.table_schema = 'app' AND t.table_type = 'BASE TABLE'
	    AND c.column_key = 'PRI' GROUP BY c.table_name
	    ORDER BY c.table_name")
	[ "${#tables[@]}" -gt 0 ] || return
	read -r table key <<<"${tables[$1 % ${#tables[@]}]}"
	text=${text//KEY/$key}
	echo "ddl: $table: $text"
	for part in "${text%|*}" "${text#*|}"; do
		timeout 20 "$SANDBOX" sql "$PRIMARY" app -e "
		    SET SESSION lock_wait_timeout = 3;
		    ALTER TABLE $table $part"
		nap 0.3
	done
	return 0
}

#
# The database's clock goes ahead a little, or back for so long that nobody waits
# for it: all of its moments are moved the other way, which is the same to
# whoever reads them.
#

CLOCK_LATE=30		# seconds until all that was enqueued before is gone

plan_clock_step() {
	local by
	is_busy clock "$1" && return 1
	between 2 10
	by=$R
	occupy clock $(($1 + 8000))
	below 2
	[ "$R" -eq 0 ] || {
		between 45 60
		by=-$R
		occupy clock $(($1 + CLOCK_LATE * 1000))
	}
	PLAN+=("$1 clock_step $by")
}

# So that something waits, many rows come at that moment.
do_clock_step() {
	! is_running db && ! is_running clock || return 1
	[ "$1" -gt 0 ] || do_burst 3000
	in_background clock clock_step "$1"
}

# What was delivered long ago stays; so do events and what operators read.
clock_step() {
	local try
	{
		echo 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		    START TRANSACTION;'
		timeout 20 "$SANDBOX" sql "$PRIMARY" -N -r app -e "
		    SELECT CONCAT('UPDATE ', table_name, ' SET ',
			GROUP_CONCAT(column_name, ' = ', column_name,
			' - INTERVAL $1 SECOND' SEPARATOR ', '),
			IF(SUM(column_name IN ('published_at', 'sent_at')) = 0,
			'', CONCAT(' WHERE COALESCE(',
			MAX(IF(column_name IN ('published_at', 'sent_at'),
			column_name, '')), ', NOW(6)) > NOW(6) -
			INTERVAL 5 SECOND')), ';')
		    FROM information_schema.columns
		    JOIN information_schema.tables
			USING (table_schema, table_name)
		    WHERE table_schema = 'app' AND table_type = 'BASE TABLE'
		    AND data_type IN ('timestamp', 'datetime')
		    AND table_name NOT IN ('events', 'outbox_dead_letters',
			'outbox_audit')
		    GROUP BY table_name"
		echo 'COMMIT;'
	} > "$DIR/step"
	for ((try = 0; try < 5; try++)); do
		timeout 20 "$SANDBOX" sql "$PRIMARY" app < "$DIR/step" && {
			echo "clock: stepped by $1"
			[ "$1" -gt 0 ] || not_from_the_future
			return
		}
	done
	return 1
}

none_waits_for_the_clock() {
	is_sql "SELECT COUNT(*) FROM outbox WHERE published_at IS NULL
	    AND claim_token IS NULL AND attempts = 0
	    AND available_at = created_at
	    AND created_at > NOW(6) + INTERVAL 1 SECOND
	    AND partition_key NOT LIKE '!%'" 0
}

# What was enqueued before the step waits for no clock, whatever else fails.
not_from_the_future() {
	wait_until $(($(now_ms) + CLOCK_LATE * 1000)) \
	    none_waits_for_the_clock || : > "$DIR/late"
}

# Where nobody names the faults a seed has some of those of this file, of
# damage.sh and of endpoint.sh, beside the older ones.
choose_weather() {
	local name drop='' rest=''
	[ $((SEED % 3)) -eq 1 ] || drop+=' damage step_down '
	[ $((SEED % 5)) -ne 3 ] || drop+=' server_vars query_kill '
	[ $((SEED % 4)) -ne 3 ] || drop+=' api_lie '
	[ $((SEED / 3 % 2)) -eq 0 ] ||
	    drop+=' endpoint_refuse endpoint_kill endpoint_stop '
	[ $((SEED / 2 % 3)) -ne 1 ] || drop+=' ddl scheduled '
	[ $((SEED / 2 % 3)) -ne 2 ] || drop+=' clock_step '
	for name in $FAULTS; do
		[[ $drop == *" $name "* ]] || rest+="$name "
	done
	FAULTS=$rest
}

# In half of the seeds with lies the stream forgets ids soon, so that what may
# be stored has to be looked up; and with damage to old messages, whose ids it
# would not know any more.  Then nothing may send late: no process with messages,
# or a connection with some, stands still for longer.
WINDOW_SECONDS=600
choose_window() {
	local name rest=''
	! planned damage || ! is_aged || WINDOW_SECONDS=10
	! planned api_lie || [ $((SEED / 2 % 2)) -eq 0 ] || WINDOW_SECONDS=2
	[ "$WINDOW_SECONDS" -lt 600 ] || return
	for name in $FAULTS; do
		case $name in
		worker_stop|host_stop|purge|stall) ;;
		*) rest+="$name " ;;
		esac
	done
	FAULTS=$rest
}

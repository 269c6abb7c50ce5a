-- outbox-master: the tables of the pointer layout and the enqueue procedure.
--
-- Load it into the application's database, as often as you like:
--
--     mariadb app < schema.sql
--
-- It creates what is missing and changes nothing that is there.  Then load
-- grants.sql.  MariaDB 10.6 or later, MySQL 8.0.16 or later.
--
-- Every time is a TIMESTAMP, not a DATETIME, so that the time zone of a
-- producer's session cannot shift it.  Every TIMESTAMP declares its default,
-- because older servers invent one otherwise.  Text compares as bytes.
--
--
-- An application enqueues in its own transaction, beside its own changes:
--
--     START TRANSACTION;
--     UPDATE orders SET ...;
--     CALL outbox_enqueue('order-17', NULL, 'order.paid', 1, NULL,
--         '{"traceparent": "..."}', '{"order": 17}');
--     COMMIT;
--
-- and rolls back after each error that it does not know, such as 1317, a killed
-- statement; or without the procedure, where that suits a framework better:
--
--     START TRANSACTION;
--     UPDATE orders SET ...;
--     SELECT partition_count INTO @count FROM outbox_settings WHERE id = 1;
--     INSERT INTO events
--         (stream_id, stream_sequence, event_type, metadata, event_data)
--         VALUES ('order-17', 3, 'order.paid', NULL, '{"order": 17}');
--     INSERT INTO outbox (global_sequence, partition_key)
--         SELECT LAST_INSERT_ID(), CONCAT('p', IF(n < 10, '0', ''), n)
--         FROM (SELECT CRC32(CONVERT('order-17' USING utf8mb4))
--                   MOD @count AS n) AS label;
--     COMMIT;
--
-- Reading the count takes no lock, and changing it waits for no producer.  An
-- event may have the label of any declared count, partition_count or one of
-- former_counts, so an application may also keep the count that it has read for
-- a while.  Read it with a SELECT of its own: as part of another statement,
-- such as INSERT ... SELECT or SET @count = (SELECT ...), it is locked until
-- the COMMIT.
--
-- At REPEATABLE READ the first read of a transaction fixes what later reads
-- show.  The first one may be this one, the procedure's or the trigger's.  With
-- innodb_snapshot_isolation, the default from MariaDB 11.6.2 on, to change a
-- row that another transaction has changed since then is error 1020.  So
-- enqueue after your other changes, as here.
--
-- As long as partition_count is NULL the second form writes a NULL label.  If
-- one of the counts is 1, NULL means p00; otherwise the rows with a NULL label
-- are a partition of their own.  So are the rows under each label of your own,
-- which must not be a p and digits; a thousand such labels get a lease, and
-- rows under more of them get the label of their key.

--
-- The events.  Rows are never changed; the events of one stream_id are in
-- order.  The unique key ignores trailing spaces, as utf8mb4_bin does: 'a' and
-- 'a ' share one numbering, though to the daemon they are two keys.
--
CREATE TABLE IF NOT EXISTS events (
	sequence	BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
	stream_id	VARCHAR(255) COLLATE utf8mb4_bin NOT NULL,
	stream_sequence	BIGINT UNSIGNED NOT NULL,
	correlation_id	VARCHAR(64) NULL DEFAULT NULL,
	event_type	VARCHAR(255) NOT NULL,
	event_version	INT UNSIGNED NOT NULL DEFAULT 1,
	metadata	JSON NULL DEFAULT NULL,
	event_data	LONGBLOB NOT NULL,
	occurred_at	TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
	PRIMARY KEY (sequence),
	UNIQUE KEY events_stream (stream_id, stream_sequence)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

--
-- The messages to send, one row for each event.  There is no foreign key to
-- events: each insert would lock and look up the event row that the same
-- transaction has just written, and an event could not be archived while its
-- outbox row is kept.  With one, as in Pillar's tables, the daemon works as
-- well.
--
-- This one secondary index must stay the only one: waiting rows lie together at
-- its head, a claim changes none of its columns, and most of what a message
-- costs is what its indexes cost.
--
-- ack_sequence is the message's sequence in the stream, from its PubAck.  An
-- acknowledged message can still be lost with the broker's machine: the daemon
-- finds that by this column.  in_doubt_since: since then the message is in
-- doubt, which means that it may be in the stream.  replay_no: how often it was
-- sent again on purpose; it is part of the message id.  message_hash is the
-- hash in the id of the delivered message: sequences repeat when a database
-- goes back.
--
CREATE TABLE IF NOT EXISTS outbox (
	global_sequence	BIGINT UNSIGNED NOT NULL,
	attempts	INT UNSIGNED NOT NULL DEFAULT 0,
	available_at	TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
	published_at	TIMESTAMP(6) NULL DEFAULT NULL,
	ack_sequence	BIGINT UNSIGNED NULL DEFAULT NULL,
	message_hash	BIGINT UNSIGNED NULL DEFAULT NULL,
	in_doubt_since	TIMESTAMP(6) NULL DEFAULT NULL,
	replay_no	INT UNSIGNED NOT NULL DEFAULT 0,
	partition_key	VARCHAR(64) COLLATE utf8mb4_bin NULL DEFAULT NULL,
	claim_token	VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
			    NULL DEFAULT NULL,
	last_error	VARCHAR(1000) NULL DEFAULT NULL,
	created_at	TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
	PRIMARY KEY (global_sequence),
	KEY outbox_claim (published_at, partition_key, global_sequence)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

--
-- The leases: the owner of a partition may claim its rows.  The daemon fills
-- the table; a higher epoch fences the owner before.
--
-- former_label_at, in the row of p00: when a worker last noted that it had sent
-- a message with a label of a former partition count.
--
CREATE TABLE IF NOT EXISTS outbox_partitions (
	partition_key	VARCHAR(64) COLLATE utf8mb4_bin NOT NULL,
	lease_owner	VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin
			    NULL DEFAULT NULL,
	lease_until	TIMESTAMP(6) NULL DEFAULT NULL,
	lease_epoch	BIGINT UNSIGNED NOT NULL DEFAULT 0,
	former_label_at	TIMESTAMP(6) NULL DEFAULT NULL,
	created_at	TIMESTAMP(6) NULL DEFAULT CURRENT_TIMESTAMP(6),
	updated_at	TIMESTAMP(6) NULL DEFAULT CURRENT_TIMESTAMP(6),
	PRIMARY KEY (partition_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

--
-- The workers that are alive, and the last rows of hosts that vanished.  instance
-- is the master's: two hosts may have one name.  server is the database server
-- that the worker uses.  away has the names of the destinations that it has not
-- reached for a while, with commas between; a ? marks what is in doubt, and a !
-- before all that the worker stands back.  NULL: it does not say.
--
CREATE TABLE IF NOT EXISTS outbox_workers (
	id		VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin
			    NOT NULL,
	hostname	VARCHAR(255) NULL DEFAULT NULL,
	pid		INT UNSIGNED NULL DEFAULT NULL,
	instance	VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin
			    NULL DEFAULT NULL,
	server		VARCHAR(255) NULL DEFAULT NULL,
	away		VARCHAR(1000) NULL DEFAULT NULL,
	started_at	TIMESTAMP(6) NULL DEFAULT CURRENT_TIMESTAMP(6),
	updated_at	TIMESTAMP(6) NULL DEFAULT CURRENT_TIMESTAMP(6),
	heartbeat_until	TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
	PRIMARY KEY (id),
	KEY outbox_workers_heartbeat (heartbeat_until)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

--
-- The settings that producers and all hosts share, in one row.  outbox_id is
-- part of every message id, so that two databases never have the same id.  A
-- copy of a database that publishes to the same stream needs a new one.
-- partition_count NULL: the daemon fills it from its file at its first start.
--
-- reconcile_watermark: up to this event, outboxctl reconcile makes no outbox
-- rows. It is the newest event when this file is loaded, and rises when
-- delivered rows are pruned, because a pruned row looks like one that was never
-- made. NULL: not known, and reconcile makes no rows at all.
--
-- former_counts are counts that producers may still use, because they do not
-- know of the present one yet: numbers with commas between them, NULL if there
-- are none.  Rows that must stay in order may have labels of all of these
-- counts, so one worker owns all these labels.  counts_since is when the counts
-- were last changed; NULL: never.  Do not write to these columns, nor to
-- partition_count but to fill it: outboxctl partitions sync does.
--
-- partition_by: what the partition of an event is computed of, as in
-- outbox.partition_by; NULL: of its stream_id.  fan_out 1: other outboxes take
-- the same events, see outbox_registry, and outbox_put makes the rows.  types is
-- a regular expression for the event types that this outbox takes then; NULL:
-- all.  outboxctl schema install writes these three.
--
-- outbox_put makes SQL of partition_by, with the rights of whoever enqueues: so
-- neither the daemon's account nor a producer's may write it, see grants.sql,
-- and it has no other characters than those of outbox.partition_by.
--
CREATE TABLE IF NOT EXISTS outbox_settings (
	id		TINYINT UNSIGNED NOT NULL DEFAULT 1,
	schema_version	INT UNSIGNED NOT NULL,
	outbox_id	CHAR(16) CHARACTER SET ascii COLLATE ascii_bin
			    NOT NULL,
	partition_count	INT UNSIGNED NULL DEFAULT NULL,
	reconcile_watermark	BIGINT UNSIGNED NULL DEFAULT NULL,
	former_counts	VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin
			    NULL DEFAULT NULL,
	counts_since	TIMESTAMP(6) NULL DEFAULT NULL,
	partition_by	VARCHAR(255) NULL DEFAULT NULL,
	fan_out		TINYINT UNSIGNED NOT NULL DEFAULT 0,
	types		VARCHAR(4000) NULL DEFAULT NULL,
	created_at	TIMESTAMP(6) NULL DEFAULT CURRENT_TIMESTAMP(6),
	updated_at	TIMESTAMP(6) NULL DEFAULT CURRENT_TIMESTAMP(6)
			    ON UPDATE CURRENT_TIMESTAMP(6),
	PRIMARY KEY (id),
	CONSTRAINT outbox_settings_one_row CHECK (id = 1),
	CONSTRAINT outbox_settings_count CHECK (partition_count > 0),
	CONSTRAINT outbox_settings_by
			CHECK (partition_by NOT REGEXP '[^0-9A-Za-z_$.-]')
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- A table of an older version gets the columns that the procedures below read.
-- In a PREPARE, because MySQL has no ADD COLUMN IF NOT EXISTS.
SET @outbox_sql = (SELECT IF(COUNT(*) > 0, 'DO 0', CONCAT('ALTER TABLE ',
    'outbox_settings ADD COLUMN partition_by VARCHAR(255) NULL DEFAULT NULL, ',
    'ADD COLUMN fan_out TINYINT UNSIGNED NOT NULL DEFAULT 0, ',
    'ADD COLUMN types VARCHAR(4000) NULL DEFAULT NULL'))
    FROM information_schema.columns WHERE table_schema = DATABASE()
    AND table_name = REPLACE('outbox_settings', '`', '')
    AND column_name = 'fan_out');
PREPARE prepared_alter FROM @outbox_sql;
EXECUTE prepared_alter;
DEALLOCATE PREPARE prepared_alter;

-- The id is put into a variable first, so that a replica that repeats
-- statements gets the same one.  If there are rows already, their message ids
-- begin with the name of the database: a message that is sent again must keep
-- its id.
SELECT IF(COUNT(*) > 0 AND CHAR_LENGTH(DATABASE()) <= 16, DATABASE(),
    LEFT(SHA2(CONCAT_WS(' ', UUID(), RAND(), NOW(6), CONNECTION_ID(),
    @@hostname), 256), 16)) INTO @outbox_id
    FROM (SELECT 1 FROM outbox LIMIT 1) AS any_row;
SELECT COALESCE(MAX(sequence), 0) INTO @outbox_newest FROM events;
INSERT IGNORE INTO outbox_settings (id, schema_version, outbox_id,
    reconcile_watermark)
    VALUES (1, 2, @outbox_id, @outbox_newest);

--
-- Messages that were given up.  reason: 'message' (can never be sent as it is),
-- 'attempts' (too many of them), ...; created_at is the outbox row's.
--
-- Keys and types are kept as bytes, because those of an application's own
-- events table may be binary.  Longer ones are cut and end with "...".
--
-- outboxctl reconcile makes no outbox row for an event with a row in this
-- table.  So a dead letter above outbox_settings.reconcile_watermark is not
-- deleted when it is purged.  It gets the reason 'purged' and is a mark that
-- keeps its event from coming back, until reconcile_watermark has passed it and
-- prune deletes it.  'replayed' is such a mark too: trigger.sql writes it for
-- events that are written while projections are replayed, and must not be sent.
--
CREATE TABLE IF NOT EXISTS outbox_dead_letters (
	global_sequence	BIGINT UNSIGNED NOT NULL,
	partition_key	VARCHAR(64) COLLATE utf8mb4_bin NULL DEFAULT NULL,
	order_key	VARBINARY(4000) NULL DEFAULT NULL,
	event_type	VARBINARY(4000) NULL DEFAULT NULL,
	attempts	INT UNSIGNED NOT NULL DEFAULT 0,
	replay_no	INT UNSIGNED NOT NULL DEFAULT 0,
	reason		VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin
			    NOT NULL,
	last_error	VARCHAR(1000) NULL DEFAULT NULL,
	created_at	TIMESTAMP(6) NULL DEFAULT NULL,
	died_at		TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
	PRIMARY KEY (global_sequence)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

--
-- Order keys that are blocked: their first message failed and is not due soon,
-- its event type is refused while others are taken, it is in doubt, or it died
-- and retry.on_dead is halt.  The rows behind it may be parked: they
-- have the label '!' and first_sequence, so that no claim reads them until the
-- key goes on.  To release a halted key:
--
--     START TRANSACTION;
--     UPDATE outbox_blocked_keys SET reason = 'released'
--         WHERE order_key = 'order-17' AND reason = 'halted';
--     UPDATE outbox_partitions SET lease_epoch = lease_epoch + 1
--         WHERE partition_key = 'p07';     -- that of the blocked key
--     COMMIT;
--
-- Only the daemon deletes rows: the labels of parked rows refer to them.
--
CREATE TABLE IF NOT EXISTS outbox_blocked_keys (
	first_sequence	BIGINT UNSIGNED NOT NULL,
	partition_key	VARCHAR(64) COLLATE utf8mb4_bin NOT NULL,
	order_key	VARBINARY(4000) NULL DEFAULT NULL,
	reason		VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin
			    NOT NULL,
	head_sequence	BIGINT UNSIGNED NOT NULL,
	since		TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
	PRIMARY KEY (first_sequence),
	KEY outbox_blocked_keys_partition (partition_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

--
-- The state of each stream.  After a start of the broker one worker, the
-- checker, looks for messages that the broker lost, and the others wait for it.
-- created is when the broker created the stream.  Rows delivered after
-- known_since are expected in it.  servers has the ids of the broker's starts
-- that were checked, the latest first.
--
-- tail_sequence: at tail_at all messages up to this one were of events on the
-- database server of database_server, which started at database_started.  On
-- another server, or after a restart, the database may have gone back: the
-- messages after tail_sequence are compared with the events before anything is
-- published.  phantoms counts the messages that have no event for that reason;
-- phantom_first and phantom_last are their stream sequences, and phantom_at is
-- when the last were found.  lost counts the messages that the stream has lost
-- and that were only reported (nats.recover: report), since lost_at; lost_first
-- and lost_last are their stream sequences.  alarm says that the stream was
-- created again or emptied, since alarm_at, until an operator has dealt with it.
-- first_sequence is the stream's: it tells a stream that lost its beginning from
-- one that a limit has cut.
--
-- leader, gaps and damage are what the broker said of the stream when it was
-- last checked: the server that leads its replicas, the messages that it lacks
-- between its first and its last one, as many since gaps_since, and the bytes
-- that its store has lost.
-- Another leader, or more of the others, is a suspicion since suspected_at: all
-- rows that are kept are to be read, and with the suspicion lost what the
-- stream lacks is sent again; with change (only another leader, or start of the
-- server) or look it may have been removed on purpose.  After such a round the
-- next one for a look begins no sooner than look_after.
--
-- One janitor, the scrubber, reads all delivered rows in rounds.  The round was
-- begun at scrub_began, scrub_for the suspicion or as a matter of routine, and
-- has come to the rows delivered at scrub_at, scrub_rows so far; the last one
-- went from scrub_whole to scrub_ended, and the last of routine took scrub_ms.
--
-- holes has the stream sequences of delivered messages that the stream lacks
-- and that may have been removed on purpose, such as 7-9,15; missing is their
-- number, and missing_at is when the first of them was missed.  accepted has
-- those of which an operator said so: they are never expected again.
--
-- server_since is the last sequence that the stream had when that server came
-- into use: another one, or another start of it, or it was not used for a while.
-- rival is a server, not of our history, that was found to publish under our
-- outbox id, too (split brain), first at rival_at; what it published counts as
-- phantoms.
--
CREATE TABLE IF NOT EXISTS outbox_streams (
	name		VARCHAR(255) COLLATE utf8mb4_bin NOT NULL,
	created		VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
			    NOT NULL DEFAULT '',
	prefix		VARCHAR(128) COLLATE utf8mb4_bin NOT NULL DEFAULT '',
	servers		VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin
			    NOT NULL DEFAULT '',
	known_since	TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
	checked_at	TIMESTAMP(6) NULL DEFAULT NULL,
	checker		VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin
			    NULL DEFAULT NULL,
	checker_since	TIMESTAMP(6) NULL DEFAULT NULL,
	checker_until	TIMESTAMP(6) NULL DEFAULT NULL,
	database_server	VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
			    NULL DEFAULT NULL,
	database_started TIMESTAMP(6) NULL DEFAULT NULL,
	tail_sequence	BIGINT UNSIGNED NULL DEFAULT NULL,
	tail_at		TIMESTAMP(6) NULL DEFAULT NULL,
	first_sequence	BIGINT UNSIGNED NULL DEFAULT NULL,
	phantoms	BIGINT UNSIGNED NOT NULL DEFAULT 0,
	phantom_first	BIGINT UNSIGNED NULL DEFAULT NULL,
	phantom_last	BIGINT UNSIGNED NULL DEFAULT NULL,
	phantom_at	TIMESTAMP(6) NULL DEFAULT NULL,
	lost		BIGINT UNSIGNED NOT NULL DEFAULT 0,
	lost_first	BIGINT UNSIGNED NULL DEFAULT NULL,
	lost_last	BIGINT UNSIGNED NULL DEFAULT NULL,
	lost_at		TIMESTAMP(6) NULL DEFAULT NULL,
	alarm		VARCHAR(255) NULL DEFAULT NULL,
	alarm_at	TIMESTAMP(6) NULL DEFAULT NULL,
	leader		VARCHAR(64) COLLATE utf8mb4_bin NULL DEFAULT NULL,
	gaps		BIGINT UNSIGNED NULL DEFAULT NULL,
	damage		BIGINT UNSIGNED NULL DEFAULT NULL,
	gaps_since	TIMESTAMP(6) NULL DEFAULT NULL,
	suspicion	VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin
			    NULL DEFAULT NULL,
	suspected_at	TIMESTAMP(6) NULL DEFAULT NULL,
	look_after	TIMESTAMP(6) NULL DEFAULT NULL,
	scrubber	VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
			    NULL DEFAULT NULL,
	scrubber_until	TIMESTAMP(6) NULL DEFAULT NULL,
	scrub_for	VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin
			    NULL DEFAULT NULL,
	scrub_began	TIMESTAMP(6) NULL DEFAULT NULL,
	scrub_at	TIMESTAMP(6) NULL DEFAULT NULL,
	scrub_rows	BIGINT UNSIGNED NOT NULL DEFAULT 0,
	scrub_ended	TIMESTAMP(6) NULL DEFAULT NULL,
	scrub_whole	TIMESTAMP(6) NULL DEFAULT NULL,
	scrub_ms	BIGINT UNSIGNED NULL DEFAULT NULL,
	missing		BIGINT UNSIGNED NOT NULL DEFAULT 0,
	missing_at	TIMESTAMP(6) NULL DEFAULT NULL,
	holes		MEDIUMTEXT CHARACTER SET ascii COLLATE ascii_bin
			    NULL DEFAULT NULL,
	accepted	MEDIUMTEXT CHARACTER SET ascii COLLATE ascii_bin
			    NULL DEFAULT NULL,
	server_since	BIGINT UNSIGNED NULL DEFAULT NULL,
	rival		VARCHAR(255) NULL DEFAULT NULL,
	rival_at	TIMESTAMP(6) NULL DEFAULT NULL,
	PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

--
-- The outboxes of this database: name is the table of each, source that of its
-- events, settings that of its settings, and destination says for people where
-- its messages go.  Outboxes with the same source all get a row for an event
-- that is enqueued.  outboxctl schema install writes the row of the outbox that
-- its configuration describes; outbox_put makes SQL of the names.  To give up
-- an outbox, before its tables are dropped, delete its row, and set fan_out to 0 where one outbox is left:
--
--     DELETE FROM outbox_registry WHERE name = 'webhooks';
--     UPDATE outbox_settings SET fan_out = 0;
--
CREATE TABLE IF NOT EXISTS outbox_registry (
	name		VARCHAR(64) COLLATE utf8mb4_bin NOT NULL,
	source		VARCHAR(64) COLLATE utf8mb4_bin NOT NULL,
	settings	VARCHAR(64) COLLATE utf8mb4_bin NOT NULL,
	destination	VARCHAR(255) NOT NULL DEFAULT '',
	created_at	TIMESTAMP(6) NULL DEFAULT CURRENT_TIMESTAMP(6),
	PRIMARY KEY (name),
	CONSTRAINT outbox_registry_names
			CHECK (CONCAT(name, source, settings)
			NOT REGEXP '[^0-9A-Za-z_$-]')
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

--
-- The changes that were made with outboxctl, when, and how many rows.  login is
-- the database account, unix_user the login on the host of outboxctl.
--
CREATE TABLE IF NOT EXISTS outbox_audit (
	id		BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
	at		TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
	login		VARCHAR(255) NOT NULL,
	unix_user	VARCHAR(255) NOT NULL,
	command		VARCHAR(64) NOT NULL,
	arguments	VARCHAR(1000) NOT NULL,
	changed		BIGINT UNSIGNED NOT NULL DEFAULT 0,
	PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

--
-- outbox_enqueue(stream_id, stream_sequence, event_type, event_version,
--     correlation_id, metadata, event_data)
--
-- Enqueues one event; NULL is allowed for stream_sequence (the stream's
-- next), event_version (1), correlation_id and metadata.  Afterwards
-- LAST_INSERT_ID() is the event's sequence; ask for it in SQL, as client
-- libraries do not pass it on from a CALL.
--
-- It never commits, and refuses to run without an open transaction: each INSERT
-- would be committed alone, and a crash between the two would leave an event
-- that is never sent.  A failing call leaves neither row, even if the
-- application goes on and commits.
--
-- A call that is killed is no such failure (error 1317, 1969 or 3024; by an
-- operator, or by the time-out of a driver): on MySQL no handler runs then, and
-- the event may be there without its row.  So roll back, as after any error that
-- you do not know.  Nothing is committed by itself, as a transaction is open, and
-- what the call leaves in the session counts for no later event.  If you commit
-- all the same, outboxctl reconcile makes the row, or the daemon when it starts.
-- With trigger.sql event and row are one statement: both are there, or neither.
--
-- If two transactions number one stream at the same time, the later one gets
-- error 1062: roll back and begin again.  Where streams are contended, lock the
-- aggregate's own row first.
--
-- While @outbox_replaying is 1 in the session, as for a replay of projections,
-- it stores nothing at all, and LAST_INSERT_ID() is 0.
--
-- Where several outboxes take the events, each gets a row for an event whose
-- type it takes; a type that none of them takes is an error.
--
-- It runs with the rights of the caller.  On MariaDB this file replaces it
-- in place.  On MySQL only DROP and CREATE could do that, and DROP takes the
-- EXECUTE grants with it, so there an existing procedure stays as it is; for
-- a newer one, DROP PROCEDURE outbox_enqueue and outbox_put first, and load
-- grants.sql afterwards.  (MySQL before 8.0.29 needs that for every load.)
--
SET @outbox_sql_mode = @@SESSION.sql_mode;
SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION';

DELIMITER //

CREATE /*M! OR REPLACE */ PROCEDURE /*!80029 IF NOT EXISTS */ outbox_enqueue(
	IN p_stream_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	IN p_stream_sequence BIGINT UNSIGNED,
	IN p_event_type VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	IN p_event_version INT UNSIGNED,
	IN p_correlation_id VARCHAR(64) CHARACTER SET utf8mb4
	    COLLATE utf8mb4_bin,
	IN p_metadata LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	IN p_event_data LONGBLOB
)
	MODIFIES SQL DATA
	SQL SECURITY INVOKER
	COMMENT 'outbox-master, procedures 4'
enqueue: BEGIN
	DECLARE v_count, v_partition BIGINT UNSIGNED;
	DECLARE v_fan_out, v_put BOOLEAN;
	DECLARE v_stream_sequence BIGINT UNSIGNED DEFAULT p_stream_sequence;
	DECLARE v_made LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

	-- After a deadlock there is nothing left to roll back to: say 1213.
	DECLARE EXIT HANDLER FOR SQLEXCEPTION
	BEGIN
		DECLARE CONTINUE HANDLER FOR 1305 BEGIN END;
		SET @outbox_enqueuing = NULL, @outbox_filled = NULL,
		    @outbox_made = NULL;
		ROLLBACK TO SAVEPOINT outbox_enqueue;
		RELEASE SAVEPOINT outbox_enqueue;
		RESIGNAL;
	END;

	IF @outbox_replaying = 1 THEN
		DO LAST_INSERT_ID(0);
		LEAVE enqueue;
	END IF;

	-- A savepoint set where no transaction is open is gone at once.
	BEGIN
		DECLARE EXIT HANDLER FOR 1305
			SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
'outbox_enqueue needs a transaction: START TRANSACTION first, then COMMIT';
		SAVEPOINT outbox_enqueue;
		ROLLBACK TO SAVEPOINT outbox_enqueue;
	END;

	-- A SELECT of its own: in any other statement InnoDB locks the row.
	-- MAX: one row in any case.
	SELECT MAX(partition_count), MAX(fan_out),
	    MAX(fan_out = 1 OR COALESCE(partition_by, '') <> '')
	    INTO v_count, v_fan_out, v_put FROM outbox_settings WHERE id = 1;
	IF v_count IS NULL THEN
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
'outbox_settings.partition_count is not set: start outbox-master once, '
'or set it to 16';
	END IF;

	IF v_stream_sequence IS NULL THEN
		SELECT COALESCE(MAX(stream_sequence), 0) + 1
		    INTO v_stream_sequence
		    FROM events WHERE stream_id = p_stream_id;
	END IF;

	-- The triggers of trigger.sql make their rows, and name the event and
	-- their outboxes in @outbox_made.  A killed call leaves it behind, but
	-- with a sequence that no other event has.  Older triggers leave the
	-- rows to us: this outbox's, or those of all that have fan_out.
	SET @outbox_made = '', @outbox_enqueuing = 1,
	    @outbox_filled = IF(v_fan_out, '*', REPLACE('outbox', '`', ''));
	INSERT INTO events (stream_id, stream_sequence, correlation_id,
	    event_type, event_version, metadata, event_data)
	    VALUES (p_stream_id, v_stream_sequence, p_correlation_id,
	    p_event_type, COALESCE(p_event_version, 1), p_metadata,
	    p_event_data);
	SET @outbox_enqueuing = NULL, @outbox_filled = NULL,
	    v_made = COALESCE(@outbox_made, '');

	IF v_put THEN
		CALL outbox_put(LAST_INSERT_ID(), p_stream_id, p_event_type,
		    p_correlation_id, p_metadata);
	ELSEIF LOCATE(CONCAT(LAST_INSERT_ID(), ' '), v_made) <> 1 OR
	    LOCATE(CONCAT('<', REPLACE('outbox', '`', ''), '>'), v_made) = 0
	    THEN
		-- LPAD would cut what is longer: p100 must not become p10.
		SET v_partition = CRC32(p_stream_id) MOD v_count;
		INSERT INTO outbox (global_sequence, partition_key)
		    VALUES (LAST_INSERT_ID(),
		    CONCAT('p', IF(v_partition < 10, '0', ''), v_partition));
	END IF;
	SET @outbox_made = NULL;

	RELEASE SAVEPOINT outbox_enqueue;
END//

--
-- outbox_put(sequence, stream_id, event_type, correlation_id, metadata)
--
-- Makes the rows of one event that outbox_enqueue has written, in each outbox
-- that takes it, where there are several or partition_by is set; not those that
-- a trigger has made, which are in @outbox_made.  It has statements with names
-- that only the tables tell, which a trigger or a function must not run; so
-- outbox_enqueue, which they may call, does without it else.
-- Not for applications: it leaves rows behind if it fails.
--
-- It runs with the rights of the caller what others wrote into tables, so each
-- name stands in backticks, and those in it are doubled: REPLACE(..., '`', '``')
-- is the one way in which a name becomes SQL here.  No function of ours does it,
-- as callers of before would lack the right to it.  What they set in their
-- sessions (sql_mode, character sets) does not matter: a procedure, and what it
-- prepares, has those that it was created with.
--
-- The label is computed as store_put_hash() of the daemon does: a value of
-- partition_by that is NULL or missing counts as the stream_id.
--
CREATE /*M! OR REPLACE */ PROCEDURE /*!80029 IF NOT EXISTS */ outbox_put(
	IN p_sequence BIGINT UNSIGNED,
	IN p_stream_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	IN p_event_type VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	IN p_correlation_id VARCHAR(64) CHARACTER SET utf8mb4
	    COLLATE utf8mb4_bin,
	IN p_metadata LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
	MODIFIES SQL DATA
	SQL SECURITY INVOKER
	COMMENT 'outbox-master, procedures 4'
BEGIN
	DECLARE v_name, v_settings VARCHAR(64) CHARACTER SET utf8mb4
	    COLLATE utf8mb4_bin;
	DECLARE v_quoted VARCHAR(600) CHARACTER SET utf8mb4
	    COLLATE utf8mb4_bin;
	DECLARE v_by, v_path VARCHAR(600) CHARACTER SET utf8mb4
	    COLLATE utf8mb4_bin;
	DECLARE v_types, v_value LONGTEXT CHARACTER SET utf8mb4
	    COLLATE utf8mb4_bin;
	DECLARE v_made LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
	    DEFAULT @outbox_made;
	DECLARE v_text VARCHAR(128) CHARACTER SET utf8mb4;
	DECLARE v_count, v_hash BIGINT UNSIGNED;
	DECLARE v_fan_out, v_end, v_taken BOOLEAN DEFAULT FALSE;
	DECLARE all_outboxes CURSOR FOR
	    SELECT REPLACE('outbox', '`', ''),
	    REPLACE('outbox_settings', '`', '')
	    UNION ALL SELECT name, settings FROM outbox_registry WHERE v_fan_out
	    AND source = REPLACE('events', '`', '')
	    AND name <> REPLACE('outbox', '`', '');
	DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = TRUE;

	SELECT MAX(fan_out) INTO v_fan_out FROM outbox_settings WHERE id = 1;
	OPEN all_outboxes;
	rows_of: LOOP
		FETCH all_outboxes INTO v_name, v_settings;
		IF v_end THEN
			LEAVE rows_of;
		END IF;

		SET v_quoted = CONCAT('`', REPLACE(v_settings, '`', '``'), '`');
		SET @outbox_sql = CONCAT('SELECT MAX(partition_count), '
		    'MAX(partition_by), MAX(types) INTO @outbox_count, '
		    '@outbox_by, @outbox_types FROM ', v_quoted,
		    ' WHERE id = 1');
		PREPARE outbox_put FROM @outbox_sql;
		EXECUTE outbox_put;
		SET v_count = @outbox_count, v_types = @outbox_types,
		    v_by = COALESCE(@outbox_by, ''), v_value = NULL,
		    v_hash = NULL;
		IF v_fan_out AND v_types IS NOT NULL AND
		    NOT p_event_type REGEXP v_types THEN
			ITERATE rows_of;
		END IF;
		IF LOCATE(CONCAT(p_sequence, ' '), v_made) = 1 AND
		    LOCATE(CONCAT('<', v_name, '>'), v_made) > 0 THEN
			SET v_taken = TRUE;
			ITERATE rows_of;
		END IF;
		IF v_count IS NULL THEN
			SET v_text = LEFT(CONCAT(v_settings, '.partition_count '
			    'is not set: start its outbox-master once'), 128);
			SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_text;
		END IF;

		IF v_by = 'correlation_id' THEN
			SET v_value = p_correlation_id;
		ELSEIF v_by LIKE '$.%' AND JSON_VALID(p_metadata) THEN
			SET v_path = CONCAT('$."',
			    REPLACE(SUBSTRING(v_by, 3), '.', '"."'), '"');
			SET v_value = IF(JSON_TYPE(JSON_EXTRACT(p_metadata,
			    v_path)) = 'NULL', NULL,
			    JSON_UNQUOTE(JSON_EXTRACT(p_metadata, v_path)));
		ELSEIF v_by NOT IN ('', 'stream_id') AND v_by NOT LIKE '$.%' THEN
			SET v_quoted = CONCAT('`', REPLACE(v_by, '`', '``'),
			    '`');
			SET @outbox_sql = CONCAT('SELECT CRC32(IF(CHARSET(',
			    v_quoted, ') = ''binary'', ', v_quoted,
			    ', CAST(CONVERT(', v_quoted,
			    ' USING utf8mb4) AS BINARY))) '
			    'INTO @outbox_hash FROM ', 'events',
			    ' WHERE sequence = ', p_sequence);
			SET @outbox_hash = NULL;
			PREPARE outbox_put FROM @outbox_sql;
			EXECUTE outbox_put;
			SET v_hash = @outbox_hash;
		END IF;
		SET v_hash = COALESCE(v_hash, CRC32(v_value),
		    CRC32(p_stream_id)) MOD v_count;

		SET v_quoted = CONCAT('`', REPLACE(v_name, '`', '``'), '`');
		SET @outbox_sql = CONCAT('INSERT INTO ', v_quoted,
		    ' (global_sequence, partition_key) VALUES (', p_sequence,
		    ', ''p', IF(v_hash < 10, '0', ''), v_hash, ''')');
		PREPARE outbox_put FROM @outbox_sql;
		EXECUTE outbox_put;
		SET v_taken = TRUE;
	END LOOP;
	CLOSE all_outboxes;
	DO LAST_INSERT_ID(p_sequence);

	IF NOT v_taken THEN
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
'no outbox takes events of this type: see publish.types of their files';
	END IF;
END//

DELIMITER ;

SET SESSION sql_mode = @outbox_sql_mode;

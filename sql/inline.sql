-- outbox-master: the tables of outbox.mode: inline.  One row has a message and
-- its state.
--
-- This file has what differs from schema.sql.  The whole, with the tables that
-- both modes have, is printed and loaded by
--
--     outboxctl schema print | mariadb app
--
-- with outbox.mode: inline in the configuration, as often as you like: it
-- creates what is missing and changes nothing that is there.  outboxctl setup
-- does it too, with the accounts and their rights.
--
-- An application enqueues in its own transaction, beside its own changes, by
-- one plain INSERT:
--
--     START TRANSACTION;
--     UPDATE orders SET ...;
--     SELECT partition_count INTO @count FROM outbox_settings WHERE id = 1;
--     INSERT INTO outbox_messages (message_id, topic, order_key,
--         partition_key, payload)
--         SELECT UUID(), 'order.paid', 'order-17',
--             CONCAT('p', IF(n < 10, '0', ''), n), '{"order": 17}'
--         FROM (SELECT CRC32(CONVERT('order-17' USING utf8mb4))
--                   MOD @count AS n) AS label;
--     COMMIT;
--
-- or by the procedure, or with inline_trigger.sql, which fills message_id and
-- partition_key where they are NULL:
--
--     INSERT INTO outbox_messages (topic, order_key, payload)
--         VALUES ('order.paid', 'order-17', '{"order": 17}');
--
-- What schema.sql says of reading the count and of labels holds here, too.

-- of our own columns
--
-- The messages.  id is the order; it is no part of what a consumer has to know.
-- message_id names the message for good: it is the Nats-Msg-Id, and makes an
-- INSERT idempotent.  NULL: the id of the daemon is used, as it is if another
-- message has this one in the stream: see outbox-master(8).
-- topic is the type of the message.  Messages with one order_key stay in order;
-- one with NULL there waits for no other.  headers is a JSON object, of which
-- each member becomes a header.
--
-- A message is not sent before scheduled_at, if that is not NULL; the daemon
-- never writes it.  Until then its row has a label that begins with '!@', with
-- the moment and the label that it had.
--
-- The other columns are those that schema.sql describes, and the daemon's.
-- There is no index but these: each message has to pay for each of them.
--
CREATE TABLE IF NOT EXISTS outbox_messages (
	id		BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
	message_id	VARCHAR(255) NULL DEFAULT NULL,
	topic		VARCHAR(255) NOT NULL,
	order_key	VARCHAR(255) NULL DEFAULT NULL,
	partition_key	VARCHAR(64) COLLATE utf8mb4_bin NULL DEFAULT NULL,
	headers		JSON NULL DEFAULT NULL,
	payload		LONGBLOB NOT NULL,
	content_type	VARCHAR(255) NULL DEFAULT NULL,
	scheduled_at	TIMESTAMP(6) NULL DEFAULT NULL,
	attempts	INT UNSIGNED NOT NULL DEFAULT 0,
	available_at	TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
	published_at	TIMESTAMP(6) NULL DEFAULT NULL,
	ack_sequence	BIGINT UNSIGNED NULL DEFAULT NULL,
	message_hash	BIGINT UNSIGNED NULL DEFAULT NULL,
	in_doubt_since	TIMESTAMP(6) NULL DEFAULT NULL,
	replay_no	INT UNSIGNED NOT NULL DEFAULT 0,
	claim_token	VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin
			    NULL DEFAULT NULL,
	last_error	VARCHAR(1000) NULL DEFAULT NULL,
	created_at	TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
	PRIMARY KEY (id),
	UNIQUE KEY outbox_messages_message_id (message_id),
	KEY outbox_messages_claim (published_at, partition_key, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- of any columns
--
-- Messages that were given up, as in schema.sql, but with all of the message:
-- its row is gone.  outboxctl dead retry puts it back with its id.
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
	message_id	VARBINARY(4000) NULL DEFAULT NULL,
	headers		LONGBLOB NULL,
	payload		LONGBLOB NULL,
	content_type	VARBINARY(4000) NULL DEFAULT NULL,
	scheduled_at	TIMESTAMP(6) NULL DEFAULT NULL,
	PRIMARY KEY (global_sequence)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- include outbox_partitions
-- include outbox_workers
-- include outbox_settings
-- include outbox_blocked_keys
-- include outbox_streams
-- include outbox_audit

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
-- statements gets the same one.  reconcile_watermark stays NULL: no row is ever
-- missing, as the message is the row.
SELECT IF(COUNT(*) > 0 AND CHAR_LENGTH(DATABASE()) <= 16, DATABASE(),
    LEFT(SHA2(CONCAT_WS(' ', UUID(), RAND(), NOW(6), CONNECTION_ID(),
    @@hostname), 256), 16)) INTO @outbox_id
    FROM (SELECT 1 FROM outbox_messages LIMIT 1) AS any_row;
INSERT IGNORE INTO outbox_settings (id, schema_version, outbox_id)
    VALUES (1, 2, @outbox_id);

-- of our own columns
--
-- outbox_enqueue_message(message_id, topic, order_key, headers, payload,
--     content_type, scheduled_at)
--
-- Enqueues one message; NULL is allowed for all but topic and payload.  A NULL
-- message_id becomes a UUID.  Afterwards LAST_INSERT_ID() is its id; ask for it
-- in SQL, as client libraries do not pass it on from a CALL.  A message_id that
-- is there already is error 1062, and nothing is changed.
--
-- It never commits.  A single INSERT needs no open transaction, so it does not
-- ask for one: begin one, or the message is enqueued although your change is
-- not.  While @outbox_replaying is 1 in the session it stores nothing at all,
-- and LAST_INSERT_ID() is 0.
--
-- It runs with the rights of the caller.  On MariaDB this file replaces it in
-- place; on MySQL see outbox_enqueue in schema.sql.
--
SET @outbox_sql_mode = @@SESSION.sql_mode;
SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION';

DELIMITER //

CREATE /*M! OR REPLACE */ PROCEDURE /*!80029 IF NOT EXISTS */ outbox_enqueue_message(
	IN p_message_id VARCHAR(255) CHARACTER SET utf8mb4
	    COLLATE utf8mb4_bin,
	IN p_topic VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	IN p_order_key VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	IN p_headers LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	IN p_payload LONGBLOB,
	IN p_content_type VARCHAR(255) CHARACTER SET utf8mb4
	    COLLATE utf8mb4_bin,
	IN p_scheduled_at TIMESTAMP(6)
)
	MODIFIES SQL DATA
	SQL SECURITY INVOKER
	COMMENT 'outbox-master inline, procedures 2'
enqueue: BEGIN
	DECLARE v_count, v_partition BIGINT UNSIGNED;
	DECLARE v_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
	    DEFAULT p_message_id;
	DECLARE v_by, v_path VARCHAR(600) CHARACTER SET utf8mb4
	    COLLATE utf8mb4_bin;
	DECLARE v_value LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

	IF @outbox_replaying = 1 THEN
		DO LAST_INSERT_ID(0);
		LEAVE enqueue;
	END IF;

	-- A SELECT of its own: in any other statement InnoDB locks the row.
	-- MAX: one row in any case.
	SELECT MAX(partition_count), COALESCE(MAX(partition_by), '')
	    INTO v_count, v_by FROM outbox_settings WHERE id = 1;
	IF v_count IS NULL THEN
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
'outbox_settings.partition_count is not set: start outbox-master once, '
'or set it to 16';
	END IF;
	-- As a value of its own: a replica that repeats statements gets it.
	IF v_id IS NULL THEN
		SET v_id = UUID();
	END IF;

	-- As outbox_put in schema.sql, and partition_put_hash() of the daemon.
	IF v_by LIKE '$.%' THEN
		SET v_path = CONCAT('$."',
		    REPLACE(SUBSTRING(v_by, 3), '.', '"."'), '"');
		IF JSON_VALID(p_headers) THEN
			SET v_value = IF(JSON_TYPE(JSON_EXTRACT(p_headers,
			    v_path)) = 'NULL', NULL,
			    JSON_UNQUOTE(JSON_EXTRACT(p_headers, v_path)));
		END IF;
	ELSEIF v_by = 'topic' THEN
		SET v_value = p_topic;
	ELSEIF v_by NOT IN ('', 'order_key') THEN
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
'outbox.partition_by is no argument of this procedure: use a plain INSERT';
	END IF;

	-- One without a key goes where its own id says.
	SET v_partition = COALESCE(CRC32(v_value),
	    CRC32(COALESCE(p_order_key, v_id))) MOD v_count;
	INSERT INTO outbox_messages (message_id, topic, order_key,
	    partition_key, headers, payload, content_type, scheduled_at)
	    VALUES (v_id, p_topic, p_order_key,
	    CONCAT('p', IF(v_partition < 10, '0', ''), v_partition),
	    p_headers, p_payload, p_content_type, p_scheduled_at);
END//

DELIMITER ;

SET SESSION sql_mode = @outbox_sql_mode;

--
-- The messages that wait, are delivered or are dead, with the names and states
-- of the Open Outbox specification.  It is for tools that read such tables; a
-- row of it is never changed.
--
CREATE OR REPLACE SQL SECURITY INVOKER VIEW outbox_open_events AS
SELECT COALESCE(o.message_id, CONCAT(s.outbox_id, '-', o.id)) AS event_id,
	o.topic AS event_type,
	o.order_key AS partition_key,
	o.payload AS payload,
	o.headers AS headers,
	CASE WHEN o.published_at IS NOT NULL THEN 'DELIVERED'
	    WHEN o.claim_token IS NOT NULL AND o.available_at > NOW(6)
	    THEN 'DELIVERING' ELSE 'PENDING' END AS status,
	o.attempts AS attempts,
	o.last_error AS last_error,
	IF(o.claim_token IS NULL, GREATEST(o.available_at,
	    COALESCE(o.scheduled_at, o.available_at)), o.available_at)
	    AS available_at,
	o.claim_token AS locked_by,
	IF(o.claim_token IS NULL, NULL, o.available_at - INTERVAL 1000 *
	    SUBSTRING_INDEX(o.claim_token, '-', -1) MICROSECOND) AS locked_at,
	o.published_at AS delivered_at,
	o.created_at AS created_at,
	COALESCE(o.published_at, o.created_at) AS updated_at
FROM outbox_messages AS o LEFT JOIN outbox_settings AS s ON s.id = 1
UNION ALL
SELECT COALESCE(CONVERT(d.message_id USING utf8mb4),
	    CONCAT(s.outbox_id, '-', d.global_sequence)),
	CONVERT(d.event_type USING utf8mb4),
	CONVERT(d.order_key USING utf8mb4),
	d.payload, CONVERT(d.headers USING utf8mb4), 'DEAD', d.attempts,
	d.last_error, d.died_at, NULL, NULL, NULL, d.created_at, d.died_at
FROM outbox_dead_letters AS d LEFT JOIN outbox_settings AS s ON s.id = 1
WHERE d.reason NOT IN ('purged', 'replayed');

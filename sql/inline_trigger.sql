-- outbox-master: a trigger that completes what is written to outbox_messages.
--
-- Optional, for an application that writes rows by a plain INSERT: a NULL
-- message_id becomes a UUID, a NULL partition_key the key's label.  Load it
-- after the tables, as often as you like; outboxctl schema install --trigger
-- does that.  While there is none a NULL message_id stays NULL, and the message
-- goes out under the id of the daemon.
--
-- This file has our own names of tables and columns, and the partition is that
-- of the key.  With outbox.columns, outbox.partition_by or other names of
-- tables, load it with outboxctl, which adapts it.
--
-- It refuses every INSERT without a label until the partition count is set: by
-- the first start of the daemon, by outboxctl setup, or by hand.
--
-- It takes no lock to read the partition count, but with a binlog and
-- binlog_format MIXED or STATEMENT, and at isolation SERIALIZABLE, the server
-- does until the transaction ends: see trigger.sql, also for what the account
-- that loads it needs.
--
SET @outbox_sql_mode = @@SESSION.sql_mode;
SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION';

-- No message is written while there is no trigger.
LOCK TABLES outbox_messages WRITE;

-- Try a harmless one first: if it is refused, the old one is still there.
DROP TRIGGER IF EXISTS outbox_messages_probe;
CREATE TRIGGER outbox_messages_probe BEFORE INSERT ON outbox_messages
    FOR EACH ROW SET @outbox_probe = 1;
DROP TRIGGER outbox_messages_probe;
DROP TRIGGER IF EXISTS outbox_messages_before;

DELIMITER //

-- The count by a SELECT of its own: in any other statement InnoDB locks it.
CREATE TRIGGER outbox_messages_before BEFORE INSERT ON outbox_messages
FOR EACH ROW
message: BEGIN
	DECLARE v_count, v_partition BIGINT UNSIGNED;

	IF NEW.message_id IS NULL THEN
		SET NEW.message_id = UUID();
	END IF;
	IF NEW.partition_key IS NOT NULL THEN
		LEAVE message;
	END IF;

	SELECT MAX(partition_count) INTO v_count
	    FROM outbox_settings WHERE id = 1;
	IF v_count IS NULL THEN
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
'outbox_settings.partition_count is not set: start outbox-master once, '
'or set it to 16';
	END IF;
	SET v_partition = CRC32(CONVERT(COALESCE(NEW.order_key,
	    NEW.message_id) USING utf8mb4)) MOD v_count;
	SET NEW.partition_key = CONCAT('p', IF(v_partition < 10, '0', ''),
	    v_partition);
END//

DELIMITER ;

UNLOCK TABLES;

SET SESSION sql_mode = @outbox_sql_mode;

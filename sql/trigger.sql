-- outbox-master: a trigger that enqueues what is written to events.
--
-- Optional, for an application that only writes events: each event of a type
-- that is published gets its outbox row in the same transaction.  Load it
-- after schema.sql, as often as you like; outboxctl schema install --trigger
-- does that with the types of publish.types, this file takes all.
--
-- The event and its row are one statement: if it is killed (error 1317) neither
-- is there.  outbox_enqueue makes the rows that this leaves out.  Of several
-- outboxes over the same events each may have its trigger.  An application that
-- inserts rows itself has to stop doing so: error 1062.
--
-- While @outbox_replaying is 1 in the session an event gets no row but a mark
-- among the dead letters, so that outboxctl reconcile never makes one.
--
-- The trigger itself takes no lock to read the partition count.  But with a
-- binlog and binlog_format MIXED or STATEMENT, and at isolation SERIALIZABLE,
-- the server locks all that a trigger reads until the transaction ends, and a
-- change of the count waits for that.  With ROW it does not.
--
-- It runs with the rights of the account that loads this, the DEFINER.  That
-- account needs TRIGGER and LOCK TABLES on events, SELECT on outbox_settings,
-- INSERT on outbox and outbox_dead_letters.  If it is removed, or a dump is
-- restored where it is missing, each INSERT into events fails with error 1449.
-- On a server with a binlog, CREATE TRIGGER needs SUPER or
-- log_bin_trust_function_creators = 1; otherwise it fails with error 1419.
--
SET @outbox_sql_mode = @@SESSION.sql_mode;
SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION';

-- No event is written while there is no trigger.
LOCK TABLES events WRITE;

-- Try a harmless one first: if it is refused, the old one is still there.
DROP TRIGGER IF EXISTS outbox_probe_event;
CREATE TRIGGER outbox_probe_event BEFORE INSERT ON events
    FOR EACH ROW SET @outbox_probe = 1;
DROP TRIGGER outbox_probe_event;
DROP TRIGGER IF EXISTS outbox_after_event;

-- Older versions had this second trigger, which locked the count.
DROP TRIGGER IF EXISTS outbox_before_event;

DELIMITER //

-- The count by a SELECT of its own: in any other statement InnoDB locks it.
-- outbox_enqueue waits to be told in @outbox_made of the rows that it need not
-- make.  An older one does not; it names the outboxes whose rows it makes: one,
-- or '*' for all with fan_out.  The oldest names none, and makes ours.
CREATE TRIGGER outbox_after_event AFTER INSERT ON events FOR EACH ROW
event: BEGIN
	DECLARE v_count, v_partition BIGINT UNSIGNED;
	DECLARE v_fan_out BOOLEAN;

	IF @outbox_replaying = 1 THEN
		INSERT INTO outbox_dead_letters (global_sequence, event_type,
		    reason) VALUES (NEW.sequence, NEW.event_type, 'replayed');
		LEAVE event;
	END IF;
	IF NOT (NEW.event_type LIKE '%') THEN
		LEAVE event;
	END IF;

	SELECT MAX(partition_count), MAX(fan_out) INTO v_count, v_fan_out
	    FROM outbox_settings WHERE id = 1;
	IF @outbox_enqueuing = 1 AND @outbox_made IS NULL AND
	    (@outbox_filled IS NULL OR
	    @outbox_filled = REPLACE('outbox', '`', '') OR
	    (@outbox_filled = '*' AND v_fan_out)) THEN
		LEAVE event;
	END IF;
	IF v_count IS NULL THEN
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
'outbox_settings.partition_count is not set: start outbox-master once, '
'or set it to 16';
	END IF;
	SET v_partition = CRC32(CONVERT(NEW.stream_id USING utf8mb4))
	    MOD v_count;
	INSERT INTO outbox (global_sequence, partition_key)
	    VALUES (NEW.sequence, CONCAT('p',
	    IF(v_partition < 10, '0', ''), v_partition));
	IF @outbox_made IS NOT NULL THEN
		SET @outbox_made = CONCAT(IF(
		    LOCATE(CONCAT(NEW.sequence, ' '), @outbox_made) = 1,
		    @outbox_made, CONCAT(NEW.sequence, ' ')),
		    '<', REPLACE('outbox', '`', ''), '>');
	END IF;
END//

DELIMITER ;

UNLOCK TABLES;

SET SESSION sql_mode = @outbox_sql_mode;

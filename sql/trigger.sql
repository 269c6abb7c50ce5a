-- outbox-master: a trigger that enqueues what is written to events.
--
-- Optional, for an application that only writes events: each event of a type
-- that is published gets its outbox row in the same transaction.  Load it
-- after schema.sql, as often as you like; outboxctl schema install --trigger
-- does that with the types of publish.types, this file takes all.
--
-- outbox_enqueue makes its rows itself and none twice.  An application that
-- makes rows by an INSERT of its own has to stop doing so: it gets error 1062.
--
-- While @outbox_replaying is 1 in the session an event gets no row, but a mark
-- among the dead letters, so that outboxctl reconcile never makes one.
--
-- It reads the partition count without a lock, but for what the server does by
-- itself: with a binlog and binlog_format MIXED or STATEMENT, and at isolation
-- SERIALIZABLE, whatever a trigger reads is locked until the transaction ends,
-- and a change of the count waits for that.  With ROW nobody waits.
--
-- It runs with the rights of the account that loads this, the DEFINER, which
-- needs TRIGGER and LOCK TABLES on events, SELECT on outbox_settings, INSERT
-- on outbox and outbox_dead_letters: if that account goes, or a dump is
-- restored where it is not, each INSERT into events fails with error 1449.
-- Where the server has a binlog, CREATE TRIGGER takes SUPER or
-- log_bin_trust_function_creators = 1: error 1419.
--
SET @outbox_sql_mode = @@SESSION.sql_mode;
SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION';

-- Nobody writes an event while there is no trigger.
LOCK TABLES events WRITE;

-- One that does no harm: if it is refused, the other is still there.
DROP TRIGGER IF EXISTS outbox_probe_event;
CREATE TRIGGER outbox_probe_event BEFORE INSERT ON events
    FOR EACH ROW SET @outbox_probe = 1;
DROP TRIGGER outbox_probe_event;
DROP TRIGGER IF EXISTS outbox_after_event;

-- Once there were two, of which this one locked the count.
DROP TRIGGER IF EXISTS outbox_before_event;

DELIMITER //

-- The count by a SELECT of its own: in any other statement InnoDB locks it.
CREATE TRIGGER outbox_after_event AFTER INSERT ON events FOR EACH ROW
event: BEGIN
	DECLARE v_count, v_partition BIGINT UNSIGNED;

	IF @outbox_replaying = 1 THEN
		INSERT INTO outbox_dead_letters (global_sequence, event_type,
		    reason) VALUES (NEW.sequence, NEW.event_type, 'replayed');
		LEAVE event;
	END IF;
	IF @outbox_enqueuing = 1 OR NOT (NEW.event_type LIKE '%') THEN
		LEAVE event;
	END IF;

	SELECT MAX(partition_count) INTO v_count
	    FROM outbox_settings WHERE id = 1;
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
END//

DELIMITER ;

UNLOCK TABLES;

SET SESSION sql_mode = @outbox_sql_mode;

-- outbox-master: what the two accounts may do, and nothing more.
--
-- Load it into the application's database after schema.sql, as an account
-- that may grant, as often as you like.  It only grants; create the accounts
-- first, with passwords of your own, which then stand in no file:
--
--     CREATE USER 'outbox'@'localhost' IDENTIFIED BY '...';
--     CREATE USER 'outbox_producer'@'localhost' IDENTIFIED BY '...';
--
-- For other names or hosts:
--
--     sed -e "s/'outbox'@'localhost'/'relay'@'10.0.0.%'/" \
--         -e "s/'outbox_producer'@'localhost'/'app'@'%'/" grants.sql |
--         mariadb app
--
-- Where the application already has rights on the whole database the second
-- half changes nothing for it.

--
-- The daemon.  UPDATE on outbox and SELECT on outbox_partitions are the
-- claim, DELETE on outbox is for rows that become dead letters or are
-- purged, or are older than retention.days.  It never writes to events.
--
GRANT SELECT ON events TO 'outbox'@'localhost';
GRANT SELECT, UPDATE, DELETE ON outbox TO 'outbox'@'localhost';
GRANT SELECT, INSERT, UPDATE ON outbox_partitions TO 'outbox'@'localhost';
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox_workers
    TO 'outbox'@'localhost';
GRANT SELECT, INSERT, UPDATE ON outbox_settings TO 'outbox'@'localhost';
GRANT SELECT, INSERT, UPDATE ON outbox_dead_letters TO 'outbox'@'localhost';
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox_blocked_keys
    TO 'outbox'@'localhost';
GRANT SELECT, INSERT, UPDATE ON outbox_streams TO 'outbox'@'localhost';

--
-- For reconcile.at_start, which makes the rows of events that have none, and
-- for retention.dead_days.
--
GRANT INSERT ON outbox TO 'outbox'@'localhost';
GRANT DELETE ON outbox_dead_letters TO 'outbox'@'localhost';

--
-- With this one the retention waits when the server is behind with removing
-- old versions of rows.  It shows the daemon everybody's statements, too.
--
-- GRANT PROCESS ON *.* TO 'outbox'@'localhost';

--
-- outboxctl logs in as the daemon, if its configuration says nothing else.
--
GRANT SELECT, INSERT, UPDATE (changed) ON outbox_audit
    TO 'outbox'@'localhost';

--
-- For wake.binlog: true, the daemon reads the binlog as a replica does, with
-- the changes of all databases of the server in it.  MySQL, not MariaDB,
-- wants the second right as well, to be asked where its binlog ends; only a
-- daemon built with Oracle's client can do without where gtid_mode is ON.
--
-- GRANT REPLICATION SLAVE ON *.* TO 'outbox'@'localhost';
-- GRANT REPLICATION CLIENT ON *.* TO 'outbox'@'localhost';

--
-- The producer: CALL outbox_enqueue, or the two INSERTs.  The procedure runs
-- with the caller's rights, hence the tables; the two columns are what it
-- reads to find the next stream_sequence.
--
GRANT INSERT, SELECT (stream_id, stream_sequence) ON events
    TO 'outbox_producer'@'localhost';
GRANT INSERT ON outbox TO 'outbox_producer'@'localhost';
GRANT SELECT ON outbox_settings TO 'outbox_producer'@'localhost';
GRANT EXECUTE ON PROCEDURE outbox_enqueue TO 'outbox_producer'@'localhost';

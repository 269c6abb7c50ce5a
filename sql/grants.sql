-- outbox-master: what the two accounts may do, and nothing more.
--
-- Load it into the application's database after schema.sql, as an account
-- that may grant, as often as you like.  It only grants; create the accounts
-- first.  "outboxctl setup" does so for the daemon's, and sends no password.
-- By hand:
--
--     CREATE USER 'outbox'@'localhost' IDENTIFIED BY '...';
--     CREATE USER 'outbox_producer'@'localhost' IDENTIFIED BY '...';
--
-- The binlog of MariaDB, its general log and the list of processes of both
-- servers keep such a statement with the password, and who follows the binlog
-- reads it.  A hash in its place gives that away less easily:
--
--     SELECT PASSWORD('...');           -- on a server of your own
--     CREATE USER ... IDENTIFIED VIA mysql_native_password USING '*...';
--
-- An account of other hosts ('app'@'%') needs REQUIRE SSL behind that.
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
-- The daemon.  A claim needs UPDATE on outbox and SELECT on outbox_partitions.
-- DELETE on outbox is for rows that become dead letters, are purged, or are
-- older than retention.days.  The daemon never writes to events.
--
GRANT SELECT ON events TO 'outbox'@'localhost';
GRANT SELECT, UPDATE, DELETE ON outbox TO 'outbox'@'localhost';
GRANT SELECT, INSERT, UPDATE ON outbox_partitions TO 'outbox'@'localhost';
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox_workers
    TO 'outbox'@'localhost';
GRANT SELECT ON outbox_settings TO 'outbox'@'localhost';
GRANT SELECT, INSERT, UPDATE ON outbox_dead_letters TO 'outbox'@'localhost';
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox_blocked_keys
    TO 'outbox'@'localhost';
GRANT SELECT, INSERT, UPDATE ON outbox_streams TO 'outbox'@'localhost';

--
-- Of the settings it writes the counts and what was pruned.  By the others
-- outbox_enqueue does its work, with the rights of the application: those are
-- the administrator's.  Versions before granted all of them, and a grant stays
-- until it is revoked:
--
--     REVOKE INSERT, UPDATE ON outbox_settings FROM 'outbox'@'localhost';
--
-- and then load this file again.
--
GRANT UPDATE (partition_count, former_counts, counts_since,
    reconcile_watermark, updated_at) ON outbox_settings
    TO 'outbox'@'localhost';

--
-- For reconcile.at_start, which makes the rows of events that have none, and
-- for retention.dead_days.
--
GRANT INSERT ON outbox TO 'outbox'@'localhost';
GRANT DELETE ON outbox_dead_letters TO 'outbox'@'localhost';

--
-- With this privilege the retention waits while the server is behind with
-- removing old versions of rows.  It also lets the daemon see all statements.
--
-- GRANT PROCESS ON *.* TO 'outbox'@'localhost';

--
-- The daemon may read the audit, not write it.  For changes outboxctl logs in
-- with mysql.operator, an account with the rights of operator.sql.
--
GRANT SELECT ON outbox_audit TO 'outbox'@'localhost';

--
-- For outboxctl status, which names other outboxes over the same events.
--
GRANT SELECT ON outbox_registry TO 'outbox'@'localhost';

--
-- Optional, for wake.binlog (auto or true): a commit wakes the workers, where
-- they poll without it.  The daemon reads the binlog as a replica does.  So
-- whoever has the password of this account can read all changes of all tables
-- of all databases of the server; it cannot change anything by that.
--
-- MySQL, unlike MariaDB, needs the second privilege as well, to tell where its
-- binlog ends.  A daemon built with Oracle's client can do without it if
-- gtid_mode is ON.  outboxctl setup --follow-binlog grants what it takes.
--
-- GRANT REPLICATION SLAVE ON *.* TO 'outbox'@'localhost';
-- GRANT REPLICATION CLIENT ON *.* TO 'outbox'@'localhost';

--
-- The producer: CALL outbox_enqueue, or the two INSERTs.  The procedure runs
-- with the caller's rights, so the producer needs these tables; the procedure
-- reads the two columns to find the next stream_sequence.  An event's number is
-- the server's.  Of an outbox row it may only write the sequence and the label:
-- claims, times and deliveries are the daemon's.
--
-- Producers trust each other.  One that does not mean well can write a row with
-- the number of a later event of another, whose enqueuing then fails with error
-- 1062, or with that of an event whose row was pruned, which is then sent again.
-- Where they do not trust each other, load trigger.sql, which makes the rows
-- with the rights of its definer, and leave out the INSERT on outbox: then
-- outbox_enqueue, or an INSERT into events, needs it no more for the types of
-- publish.types.  What is left, see SECURITY.md: whoever may write events can
-- use up their numbers, and those of a stream.
--
GRANT INSERT (stream_id, stream_sequence, correlation_id, event_type,
    event_version, metadata, event_data, occurred_at),
    SELECT (stream_id, stream_sequence) ON events
    TO 'outbox_producer'@'localhost';
GRANT INSERT (global_sequence, partition_key) ON outbox
    TO 'outbox_producer'@'localhost';
GRANT SELECT (id, partition_count, former_counts, partition_by, fan_out, types)
    ON outbox_settings TO 'outbox_producer'@'localhost';
GRANT EXECUTE ON PROCEDURE outbox_enqueue TO 'outbox_producer'@'localhost';

--
-- Where several outboxes take the same events, outbox_enqueue makes the rows of
-- all.  So the producer needs the grants above for the tables of each.
--
GRANT SELECT (name, source, settings) ON outbox_registry
    TO 'outbox_producer'@'localhost';
GRANT EXECUTE ON PROCEDURE outbox_put TO 'outbox_producer'@'localhost';

-- outbox-master: the privileges of an operator's account, for changes with
-- outboxctl.
--
-- The daemon's account is enough to inspect.  It may not write events, nor the
-- audit, so that a compromised daemon cannot forge it.  Load this into the
-- application's database after schema.sql, as an account that may grant, as
-- often as you like.  It only grants; create the account first (as "outboxctl
-- setup" does; what a password in this statement means: see grants.sql):
--
--     CREATE USER 'outbox_operator'@'localhost' IDENTIFIED BY '...';
--
-- and name it in the configuration: mysql.operator.  Let only operators read
-- the file with its password.  For another name or host, or other tables:
--
--     sed -e "s/'outbox_operator'@'localhost'/'alice'@'10.0.0.%'/" \
--         operator.sql | mariadb app

GRANT SELECT, INSERT ON events TO 'outbox_operator'@'localhost';
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox
    TO 'outbox_operator'@'localhost';
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox_partitions
    TO 'outbox_operator'@'localhost';
GRANT SELECT, DELETE ON outbox_workers TO 'outbox_operator'@'localhost';
GRANT SELECT, UPDATE (partition_count, former_counts, counts_since,
    reconcile_watermark, updated_at) ON outbox_settings
    TO 'outbox_operator'@'localhost';
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox_dead_letters
    TO 'outbox_operator'@'localhost';
GRANT SELECT, UPDATE ON outbox_blocked_keys
    TO 'outbox_operator'@'localhost';
GRANT SELECT, UPDATE ON outbox_streams TO 'outbox_operator'@'localhost';
GRANT SELECT, INSERT, UPDATE (changed) ON outbox_audit
    TO 'outbox_operator'@'localhost';
GRANT SELECT ON outbox_registry TO 'outbox_operator'@'localhost';
GRANT EXECUTE ON PROCEDURE outbox_enqueue TO 'outbox_operator'@'localhost';
GRANT EXECUTE ON PROCEDURE outbox_put TO 'outbox_operator'@'localhost';

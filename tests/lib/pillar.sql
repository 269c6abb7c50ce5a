-- The tables of the PHP package Pillar, as its migrations make them
CREATE TABLE events (
	sequence BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
	stream_id VARCHAR(191) NOT NULL,
	stream_sequence BIGINT UNSIGNED NOT NULL,
	correlation_id CHAR(36) NULL,
	event_type VARCHAR(255) NOT NULL,
	event_version INT UNSIGNED NOT NULL DEFAULT 1,
	metadata JSON NULL, event_data JSON NOT NULL,
	occurred_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
	UNIQUE (stream_id, stream_sequence));
CREATE TABLE outbox (
	global_sequence BIGINT UNSIGNED PRIMARY KEY,
	attempts INT UNSIGNED NOT NULL DEFAULT 0,
	available_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
	published_at TIMESTAMP NULL, partition_key VARCHAR(64) NULL,
	claim_token VARCHAR(64) NULL, last_error TEXT NULL,
	INDEX (published_at, available_at),
	INDEX (partition_key, published_at, available_at),
	INDEX (claim_token),
	FOREIGN KEY (global_sequence) REFERENCES events (sequence));
CREATE TABLE outbox_partitions (
	partition_key VARCHAR(64) PRIMARY KEY, lease_owner VARCHAR(36) NULL,
	lease_until TIMESTAMP NULL,
	lease_epoch BIGINT UNSIGNED NOT NULL DEFAULT 0,
	created_at TIMESTAMP NULL, updated_at TIMESTAMP NULL);
CREATE TABLE outbox_workers (
	id VARCHAR(36) PRIMARY KEY, hostname VARCHAR(128) NOT NULL,
	pid INT UNSIGNED NOT NULL,
	started_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
	updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
	heartbeat_until TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
	INDEX (heartbeat_until));

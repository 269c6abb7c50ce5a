-- laravel: the outbox of a tutorial for the framework
CREATE TABLE outbox_messages (
	id CHAR(36) NOT NULL,
	topic VARCHAR(255) NOT NULL,
	payload JSON NOT NULL,
	status VARCHAR(255) NOT NULL DEFAULT 'pending',
	attempts INT UNSIGNED NOT NULL DEFAULT 0,
	available_at TIMESTAMP NULL DEFAULT NULL,
	sent_at TIMESTAMP NULL DEFAULT NULL,
	idempotency_key VARCHAR(255) NULL DEFAULT NULL,
	created_at TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP,
	updated_at TIMESTAMP NULL DEFAULT NULL,
	PRIMARY KEY (id),
	UNIQUE KEY outbox_messages_idempotency_key_unique (idempotency_key)
) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- debezium: the outbox of its event router
CREATE TABLE outboxevent (
	id CHAR(36) NOT NULL PRIMARY KEY,
	aggregatetype VARCHAR(255) NOT NULL,
	aggregateid VARCHAR(255) NOT NULL,
	type VARCHAR(255) NOT NULL,
	payload JSON
) DEFAULT CHARSET=utf8mb4;

-- The tables of the consumer examples, in the consumer's own database.
--
-- processed_messages has the ids of the messages that were processed.  Its
-- primary key makes a consumer idempotent: the id is inserted in the transaction
-- that processes the message.  Delete old rows from time to time, but none that
-- is younger than the longest time after which a message can come again: for
-- JetStream the max_age of the stream, for Kafka retention.ms of the topic, for
-- HTTP the longest outage.
--
-- order_history stands for the tables of your application.

CREATE TABLE IF NOT EXISTS processed_messages (
	message_id	VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin
			    NOT NULL,
	processed_at	TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
	PRIMARY KEY (message_id),
	KEY processed_messages_at (processed_at)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS order_history (
	entry		BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
	order_key	VARCHAR(255) COLLATE utf8mb4_bin NOT NULL,
	sequence	BIGINT UNSIGNED NOT NULL,
	event_type	VARCHAR(255) NOT NULL,
	event_data	LONGBLOB NOT NULL,
	PRIMARY KEY (entry),
	KEY order_history_key (order_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

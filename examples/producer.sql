-- The table of the producer examples, beside those of schema.sql.
--
-- orders stands for the tables of your application.

CREATE TABLE IF NOT EXISTS orders (
	id	INT UNSIGNED NOT NULL,
	total	INT UNSIGNED NOT NULL,
	paid	INT UNSIGNED NOT NULL DEFAULT 0,
	PRIMARY KEY (id)
) ENGINE=InnoDB;

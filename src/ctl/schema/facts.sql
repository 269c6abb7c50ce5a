-- What a server says of the tables of a database.  outboxctl asks it for the
-- live ones, sql/make_wanted.sh for the wanted ones.

-- table, engine, rows
SELECT table_name, COALESCE(engine, 'view'), COALESCE(table_rows, 0)
    FROM information_schema.tables WHERE table_schema = DATABASE();

-- table, column, type, its length in characters or fractional digits, collation
-- ('': no text), may it be NULL, may an INSERT leave it out, ON UPDATE
SELECT table_name, column_name, LOWER(data_type),
    COALESCE(character_maximum_length, datetime_precision, 0),
    COALESCE(collation_name, ''), is_nullable = 'YES',
    is_nullable = 'YES' OR column_default IS NOT NULL OR extra <> '',
    LOWER(extra) LIKE '%on update%'
    FROM information_schema.columns WHERE table_schema = DATABASE()
    ORDER BY table_name, ordinal_position;

-- table, index, column ('?': not a column alone), is it not unique
SELECT table_name, index_name, CONCAT(COALESCE(column_name, '?'),
    IF(sub_part IS NULL, '', '?')), non_unique
    FROM information_schema.statistics WHERE table_schema = DATABASE()
    ORDER BY table_name, index_name, seq_in_index;

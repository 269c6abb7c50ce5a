/* store_registry.c - outboxes that are not in the registry */

#include "store/store_impl.h"

int
store_unregistered(struct store *s, char name[DB_NAME_SIZE], struct err *e)
{
	store_sql(s, "SELECT MIN(table_name) FROM information_schema.columns "
	    "WHERE table_schema = DATABASE() "
	    "AND column_name = 'reconcile_watermark' "
	    "AND table_name <> :settings "
	    "AND table_name NOT IN (SELECT settings FROM {registry})",
	    SQL_TEXT("settings", s->tables[T_SETTINGS]));
	return store_query_text(s, "registry", name, DB_NAME_SIZE, e);
}

liboutbox_a_SOURCES += \
	src/mysql/binlog.c src/mysql/binlog.h \
	src/mysql/binlog_event.c src/mysql/binlog_event.h \
	src/mysql/db.c src/mysql/db.h \
	src/mysql/db_abandoned.c \
	src/mysql/db_impl.h \
	src/mysql/db_open.c \
	src/mysql/db_session.c \
	src/mysql/db_tls.c \
	src/mysql/gtid.c src/mysql/gtid.h \
	src/mysql/password_hash.c src/mysql/password_hash.h \
	src/mysql/server.c src/mysql/server.h \
	src/mysql/vanish.c src/mysql/vanish.h
EXTRA_DIST += src/mysql/README.md

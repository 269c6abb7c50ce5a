outboxctl_SOURCES += \
	src/ctl/setup/setup.c src/ctl/setup/setup.h \
	src/ctl/setup/setup_account.c \
	src/ctl/setup/setup_binlog.c \
	src/ctl/setup/setup_database.c \
	src/ctl/setup/setup_event.c \
	src/ctl/setup/setup_operator.c \
	src/ctl/setup/setup_sql.c \
	src/ctl/setup/setup_step.c \
	src/ctl/setup/setup_stream.c \
	src/ctl/setup/setup_topic.c
EXTRA_DIST += src/ctl/setup/README.md

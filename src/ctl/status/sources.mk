outboxctl_SOURCES += \
	src/ctl/status/status.c src/ctl/status/status.h \
	src/ctl/status/status_counts.c \
	src/ctl/status/status_say.c
EXTRA_DIST += src/ctl/status/README.md

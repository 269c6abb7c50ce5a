outboxctl_SOURCES += \
	src/ctl/topic/topic.c
EXTRA_DIST += src/ctl/topic/README.md

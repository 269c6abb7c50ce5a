outboxctl_SOURCES += \
	src/ctl/topic/topic_info.c
EXTRA_DIST += src/ctl/topic/README.md

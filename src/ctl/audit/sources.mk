outboxctl_SOURCES += \
	src/ctl/audit/audit_list.c
EXTRA_DIST += src/ctl/audit/README.md

outboxctl_SOURCES += \
	src/ctl/partitions/finish.c src/ctl/partitions/finish.h \
	src/ctl/partitions/finish_check.c \
	src/ctl/partitions/leases.c src/ctl/partitions/leases.h \
	src/ctl/partitions/partitions_list.c \
	src/ctl/partitions/pause.c \
	src/ctl/partitions/sync.c src/ctl/partitions/sync.h \
	src/ctl/partitions/sync_say.c \
	src/ctl/partitions/workers_forget.c
EXTRA_DIST += src/ctl/partitions/README.md

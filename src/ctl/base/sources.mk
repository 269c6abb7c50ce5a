outboxctl_SOURCES += \
	src/ctl/base/admin.c \
	src/ctl/base/args.c src/ctl/base/args.h \
	src/ctl/base/audit.c \
	src/ctl/base/batch.c \
	src/ctl/base/change.c src/ctl/base/change.h \
	src/ctl/base/command.c src/ctl/base/command.h \
	src/ctl/base/ctl.c src/ctl/base/ctl.h \
	src/ctl/base/cursor.c src/ctl/base/cursor.h \
	src/ctl/base/filter.c src/ctl/base/filter.h \
	src/ctl/base/kway_merge.c src/ctl/base/kway_merge.h \
	src/ctl/base/listing.c src/ctl/base/listing.h \
	src/ctl/base/load.c \
	src/ctl/base/outcome.c src/ctl/base/outcome.h \
	src/ctl/base/print.c \
	src/ctl/base/rows.c \
	src/ctl/base/screen.c src/ctl/base/screen.h \
	src/ctl/base/version.c
EXTRA_DIST += src/ctl/base/README.md

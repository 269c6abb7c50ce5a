outboxctl_SOURCES += \
	src/ctl/daemon/logs.c \
	src/ctl/daemon/master.c src/ctl/daemon/master.h \
	src/ctl/daemon/probe.c \
	src/ctl/daemon/reload.c \
	src/ctl/daemon/stop.c \
	src/ctl/daemon/tail.c src/ctl/daemon/tail.h
EXTRA_DIST += src/ctl/daemon/README.md

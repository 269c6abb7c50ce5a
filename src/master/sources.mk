liboutbox_a_SOURCES += \
	src/master/agents.c src/master/agents.h \
	src/master/children.c \
	src/master/descriptors.c src/master/descriptors.h \
	src/master/doors.c \
	src/master/log_head.c src/master/log_head.h \
	src/master/master.c src/master/master.h \
	src/master/master_impl.h \
	src/master/notify.c src/master/notify.h \
	src/master/refused.c src/master/refused.h \
	src/master/reload.c \
	src/master/slot.c src/master/slot.h \
	src/master/succession.c \
	src/master/view.c src/master/view.h
EXTRA_DIST += src/master/README.md

outbox_master_SOURCES = src/master/main.c

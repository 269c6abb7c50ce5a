liboutbox_a_SOURCES += \
	src/common/advice.c src/common/advice.h \
	src/common/away.c src/common/away.h \
	src/common/command_file.c src/common/command_file.h \
	src/common/exits.h \
	src/common/figures.c src/common/figures.h \
	src/common/ident.c src/common/ident.h \
	src/common/label_set.c src/common/label_set.h \
	src/common/lane.c src/common/lane.h \
	src/common/message_id.c src/common/message_id.h \
	src/common/msg.c src/common/msg.h \
	src/common/suspect.c src/common/suspect.h
EXTRA_DIST += src/common/README.md

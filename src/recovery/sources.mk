liboutbox_a_SOURCES += \
	src/recovery/in_doubt.c src/recovery/in_doubt.h \
	src/recovery/scrub.c src/recovery/scrub.h \
	src/recovery/search.c src/recovery/search.h \
	src/recovery/stream_audit.c src/recovery/stream_audit.h \
	src/recovery/stream_audit_ask.c \
	src/recovery/stream_audit_database.c \
	src/recovery/stream_audit_impl.h \
	src/recovery/stream_audit_moved.c \
	src/recovery/stream_audit_rival.c \
	src/recovery/stream_audit_rows.c \
	src/recovery/stream_audit_suspect.c \
	src/recovery/stream_audit_tail.c \
	src/recovery/topic_audit.c src/recovery/topic_audit.h
EXTRA_DIST += src/recovery/README.md

liboutbox_a_SOURCES += \
	src/util/backoff.c src/util/backoff.h \
	src/util/buf.c src/util/buf.h \
	src/util/clock.c src/util/clock.h \
	src/util/display.c src/util/display.h \
	src/util/duration.c src/util/duration.h \
	src/util/environment.c src/util/environment.h \
	src/util/err.c src/util/err.h \
	src/util/fault.h \
	src/util/file_stamp.c src/util/file_stamp.h \
	src/util/histogram.c src/util/histogram.h \
	src/util/isolate.c src/util/isolate.h \
	src/util/json_text.c src/util/json_text.h \
	src/util/line_output.c src/util/line_output.h \
	src/util/log.c src/util/log.h \
	src/util/log_throttle.c src/util/log_throttle.h \
	src/util/outage.c src/util/outage.h \
	src/util/printable.c src/util/printable.h \
	src/util/reconnect.c src/util/reconnect.h \
	src/util/sandbox.c src/util/sandbox.h \
	src/util/secret.c src/util/secret.h \
	src/util/sequence_set.c src/util/sequence_set.h \
	src/util/sig.c src/util/sig.h \
	src/util/syslog_socket.c src/util/syslog_socket.h \
	src/util/type_words.c src/util/type_words.h \
	src/util/utf8.c src/util/utf8.h \
	src/util/xalloc.c src/util/xalloc.h
EXTRA_DIST += src/util/README.md

# For tests/system/run_faults.sh only: see src/util/fault.h.

if FAULT_POINTS
liboutbox_a_SOURCES += src/util/fault.c
endif

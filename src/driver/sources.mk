liboutbox_a_SOURCES += \
	src/driver/answer_queue.c src/driver/answer_queue.h \
	src/driver/cloudevents.c \
	src/driver/envelope.c src/driver/envelope.h \
	src/driver/envelope_impl.h \
	src/driver/envelope_json.c \
	src/driver/envelope_metadata.c \
	src/driver/pub.c src/driver/pub.h \
	src/driver/pub_lacks.c src/driver/pub_lacks.h \
	src/driver/route.c src/driver/route.h \
	src/driver/stored.c src/driver/stored.h \
	src/driver/stream_report.h \
	src/driver/type_tokens.c src/driver/type_tokens.h \
	src/driver/verdict.c src/driver/verdict.h
EXTRA_DIST += src/driver/README.md

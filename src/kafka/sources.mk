liboutbox_a_SOURCES += \
	src/kafka/kafka.c src/kafka/kafka.h \
	src/kafka/kafka_client.c \
	src/kafka/kafka_find.c \
	src/kafka/kafka_impl.h \
	src/kafka/kafka_place.c \
	src/kafka/kafka_read.c \
	src/kafka/kafka_record.c \
	src/kafka/kafka_topic.c src/kafka/kafka_topic.h \
	src/kafka/kafka_verdict.c \
	src/kafka/kafka_watch.c
EXTRA_DIST += src/kafka/README.md

liboutbox_a_SOURCES += \
	src/conf/conf.c src/conf/conf.h \
	src/conf/conf_ask.c \
	src/conf/conf_check.c \
	src/conf/conf_check_publish.c \
	src/conf/conf_edit.c \
	src/conf/conf_file.c \
	src/conf/conf_form.c \
	src/conf/conf_form_http.c \
	src/conf/conf_form_kafka.c \
	src/conf/conf_form_monitor.c \
	src/conf/conf_impl.h \
	src/conf/conf_keys.c \
	src/conf/conf_names.c \
	src/conf/conf_secrets.c \
	src/conf/conf_text.c \
	src/conf/conf_value.c \
	src/conf/conf_warn.c \
	src/conf/conf_yaml.c \
	src/conf/counts.c src/conf/counts.h
EXTRA_DIST += src/conf/README.md

liboutbox_a_SOURCES += \
	src/monitor/actions.c \
	src/monitor/answer.c \
	src/monitor/ask.c \
	src/monitor/client.c src/monitor/client.h \
	src/monitor/confine.c \
	src/monitor/door.c src/monitor/door.h \
	src/monitor/events.c \
	src/monitor/exposition.c src/monitor/exposition.h \
	src/monitor/framing.c \
	src/monitor/guard.c \
	src/monitor/metrics.c src/monitor/metrics.h \
	src/monitor/metrics_impl.h \
	src/monitor/metrics_process.c \
	src/monitor/metrics_state.c \
	src/monitor/metrics_totals.c \
	src/monitor/monitor.c src/monitor/monitor.h \
	src/monitor/monitor_impl.h \
	src/monitor/page.h \
	src/monitor/paths.c \
	src/monitor/probes.c \
	src/monitor/question.c src/monitor/question.h \
	src/monitor/request.h \
	src/monitor/server.c \
	src/monitor/shared_text.c src/monitor/shared_text.h \
	src/monitor/throughput.c src/monitor/throughput.h \
	src/monitor/wait.c
EXTRA_DIST += src/monitor/README.md

# The dashboard is compiled in, and what describes the paths.

page_files = index.html style.css app.js actions.js api.js audit.js chart.js \
	data.js dead.js detail.js dom.js json.js keyboard.js keys.js live.js \
	messages.js overview.js partitions.js parts.js route.js text.js \
	theme.js workers.js
EXTRA_DIST += $(page_files:%=src/monitor/page/%)
nodist_liboutbox_a_SOURCES += page_files.c
CLEANFILES += page_files.c
page_files.c: $(page_files:%=$(srcdir)/src/monitor/page/%) \
    $(srcdir)/doc/openapi.json $(srcdir)/tools/embed Makefile
	$(AM_V_GEN)cd $(srcdir)/src/monitor/page && \
	    $(abs_srcdir)/tools/embed $(page_files) ../../../doc/openapi.json \
	    > $(abs_builddir)/$@.tmp && \
	    mv $(abs_builddir)/$@.tmp $(abs_builddir)/$@

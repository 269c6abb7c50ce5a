# The benchmark's programs; bench/README says what for.

bench_programs = bench/floor bench/steady bench/cpu
check_PROGRAMS += $(bench_programs)
bench_cpu_SOURCES = bench/cpu.c
bench_cpu_LDADD =
bench_floor_SOURCES = bench/floor.c
bench_floor_LDADD = $(MYSQL_LIBS)
bench_steady_SOURCES = bench/steady.c tools/lab.h tools/lab_conn.c \
	tools/lab_read.c
bench_steady_LDADD = $(MYSQL_LIBS) $(NATS_LIBS) $(DEFLATE_LIBS) -lpthread

bench_results = bench/results/table.txt bench/results/age.png \
	bench/results/backlog.png bench/results/batch.png \
	bench/results/latency_listener.png bench/results/latency_polls.png \
	bench/results/payload.png bench/results/workers.png
EXTRA_DIST += bench/README bench/run bench/lib.sh bench/machine.sh \
	bench/drain.sh bench/floor.sh bench/steady.sh bench/idle.sh bench/scrub.sh \
	bench/age.sh bench/http.sh bench/kafka.sh bench/monitor.sh bench/cost.sh \
	bench/sparse.sh \
	bench/pauses.sh bench/plot.sh bench/json.awk bench/table.awk \
	$(bench_results)

.PHONY: bench
bench: outbox-master lab $(bench_programs)
	$(srcdir)/bench/run $(BENCH)

# Tests: what runs, in which order, and what it is made of
#
# Everything speaks TAP; tests start real servers themselves and skip where
# there is none.  They run in this order, several at a time: the longest come
# first.

contract_tests = check_plan check_claim check_store check_db check_hostile \
	check_block check_class check_fleet check_galera \
	check_candidates check_bus \
	check_verdict check_stream_audit check_driver check_find
system_tests = \
	tests/system/run_health.sh \
	tests/system/run_readers.sh \
	tests/system/run_wake.sh \
	tests/system/run_faults.sh \
	tests/system/run_field.sh \
	tests/system/run_kafka.sh \
	tests/system/run_keys.sh \
	tests/system/run_durable.sh \
	tests/system/run_scheduled.sh \
	tests/system/run_retention.sh \
	tests/system/run_listener.sh \
	tests/system/run_log.sh \
	tests/ctl/ctl_signal.sh \
	tests/ctl/ctl_messages.sh \
	tests/fuzz/replay_test.sh \
	tests/tools/bench_test.sh \
	tests/model/run.sh \
	tests/tools/sandbox_test.sh \
	tests/tools/pool_test.sh \
	tests/system/sql_test.sh \
	tests/tools/lab_test.sh \
	tests/tools/quickstart_test.sh \
	tests/tools/check_test.sh \
	tests/tools/manual_test.sh \
	tests/tools/html_test.sh \
	tests/tools/hardening_test.sh \
	tests/compat/compat_test.sh \
	tests/tools/readme_test.sh \
	tests/tools/prometheus_test.sh \
	tests/tools/replica_test.sh \
	tests/system/run_relay.sh \
	tests/system/run_kill.sh \
	tests/system/run_master.sh \
	tests/system/run_trouble.sh \
	tests/system/run_monitor.sh \
	tests/system/run_api.sh \
	tests/system/run_monitor_faults.sh \
	tests/system/run_confined.sh \
	tests/system/run_dashboard.sh \
	tests/system/run_destinations.sh \
	tests/system/run_http.sh \
	tests/system/run_http_tls.sh \
	tests/system/run_verdicts.sh \
	tests/system/run_metrics.sh \
	tests/system/run_prometheus.sh \
	tests/system/run_database.sh \
	tests/system/run_settings.sh \
	tests/system/run_refused.sh \
	tests/system/run_routes.sh \
	tests/system/run_scoreboard.sh \
	tests/system/run_secrets.sh \
	tests/system/run_secure.sh \
	tests/system/run_streams.sh tests/system/run_stream_edits.sh \
	tests/system/run_two_outboxes.sh \
	tests/system/run_partition_by.sh \
	tests/system/run_order.sh \
	tests/system/run_blocked.sh \
	tests/system/run_repartition.sh \
	tests/system/run_repartition_file.sh \
	tests/system/run_pause.sh \
	tests/system/run_tls.sh \
	tests/system/run_wake_auto.sh \
	tests/system/run_large.sh \
	tests/system/run_metadata.sh \
	tests/system/run_pillar.sh \
	tests/system/run_inline.sh \
	tests/system/run_shapes.sh \
	tests/system/run_cluster.sh \
	tests/system/run_broker_pause.sh \
	tests/system/run_content.sh \
	tests/system/run_poison.sh \
	tests/system/run_wide.sh \
	tests/system/run_scrub.sh \
	tests/system/run_stream_audit.sh \
	tests/system/run_in_doubt.sh \
	tests/system/run_domain.sh \
	tests/system/run_kafka_audit.sh \
	tests/system/run_kafka_audit_ends.sh \
	tests/system/run_kafka_disk.sh \
	tests/system/run_kafka_in_doubt.sh \
	tests/system/run_kafka_operator.sh \
	tests/system/run_kafka_routes.sh \
	tests/system/run_back.sh \
	tests/system/run_exits.sh \
	tests/system/run_failover.sh \
	tests/system/run_server.sh \
	tests/system/run_split_brain.sh \
	tests/system/run_galera.sh \
	tests/system/run_group.sh \
	tests/system/run_pauses.sh \
	tests/system/run_haproxy.sh \
	tests/system/run_one_name.sh \
	tests/system/run_hosts.sh \
	tests/system/run_vitess.sh \
	tests/system/run_linger.sh \
	tests/system/run_notify.sh \
	tests/system/init_test.sh \
	tests/system/run_two_versions.sh \
	tests/system/run_upgrade.sh \
	tests/system/run_view.sh \
	tests/layers.sh \
	tests/ctl/ctl_base.sh \
	tests/ctl/ctl_json.sh \
	tests/ctl/ctl_status.sh \
	tests/ctl/ctl_top.sh \
	tests/ctl/ctl_display.sh \
	tests/ctl/ctl_cluster.sh \
	tests/ctl/ctl_doctor.sh \
	tests/ctl/ctl_completion.sh \
	tests/ctl/ctl_daemon.sh \
	tests/ctl/ctl_serve.sh \
	tests/ctl/ctl_groups.sh \
	tests/ctl/ctl_history.sh \
	tests/ctl/ctl_partitions.sh \
	tests/ctl/ctl_finish.sh \
	tests/ctl/ctl_reads.sh \
	tests/ctl/ctl_lost.sh \
	tests/ctl/ctl_audit.sh \
	tests/ctl/ctl_replay.sh \
	tests/ctl/ctl_stream.sh \
	tests/ctl/ctl_foreign.sh \
	tests/ctl/ctl_inline.sh \
	tests/ctl/ctl_dead.sh \
	tests/ctl/ctl_schema.sh \
	tests/ctl/ctl_setup.sh \
	tests/ctl/ctl_trigger.sh \
	tests/ctl/ctl_enqueue.sh \
	tests/ctl/ctl_prune.sh \
	tests/ctl/ctl_reconcile.sh
unit_tests = check_conf check_util check_common check_ipc \
	check_absence check_poll_interval check_report check_wakeups check_slot check_relay \
	check_envelope check_forms check_inflight check_lanes check_route \
	check_stream check_binlog check_counts check_health check_metrics \
	check_monitor check_log check_display check_top check_http check_kafka

if HAVE_CHECK
check_LIBRARIES += libtests.a
check_PROGRAMS += $(unit_tests) $(contract_tests)
TESTS = $(contract_tests) $(system_tests) $(unit_tests)
else
TESTS = $(system_tests)
endif

# All tests, "unit", "contract" or "script" first, whether they can be built or not.
.PHONY: tests-list
tests-list:
	@printf 'contract %s\n' $(contract_tests)
	@printf 'script %s\n' $(system_tests)
	@printf 'unit %s\n' $(unit_tests)

AM_TESTS_ENVIRONMENT = export srcdir=$(srcdir); \
	export CK_TAP_LOG_FILE_NAME=-; export CK_VERBOSITY=silent; \
	export CK_DEFAULT_TIMEOUT=60; \
	export SSL_CERT_FILE=/dev/null SSL_CERT_DIR=/nonexistent; \
	test "$$OUTBOX_CHECK" != short || export CK_EXCLUDE_TAGS=long;
LOG_DRIVER = $(top_srcdir)/tests/lib/timed.sh env AM_TAP_AWK='$(AWK)' $(SHELL) \
	$(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
TEST_EXTENSIONS = .sh

# The test programs.  A program below that needs no more than this library and
# the program's has no LDADD.

LDADD = libtests.a $(outbox_libs) $(CHECK_LIBS)
libtests_a_SOURCES = tests/lib/check.h tests/lib/fake_mysql.c \
	tests/lib/fake_mysql.h tests/lib/frame.c tests/lib/frame.h \
	tests/lib/servers.c tests/lib/servers.h \
	tests/lib/stages.c tests/lib/stages.h tests/lib/todo.h

check_binlog_SOURCES = tests/unit/check_binlog.c tests/unit/binlog_events.h
check_common_SOURCES = tests/unit/check_common.c
check_conf_SOURCES = tests/unit/check_conf.c tests/unit/conf_files.c \
	tests/unit/conf_keys.c tests/unit/conf_test.h src/ctl/config_json.c
check_counts_SOURCES = tests/unit/check_counts.c
check_display_SOURCES = tests/unit/check_display.c
check_envelope_SOURCES = tests/unit/check_envelope.c
check_forms_SOURCES = tests/unit/check_forms.c
check_health_SOURCES = tests/unit/check_health.c
check_http_SOURCES = tests/http/check_http.c
check_inflight_SOURCES = tests/unit/check_inflight.c tests/unit/batch.c \
	tests/unit/batch.h
check_ipc_SOURCES = tests/unit/check_ipc.c
check_kafka_SOURCES = tests/kafka/check_kafka.c
check_lanes_SOURCES = tests/unit/check_lanes.c tests/unit/lanes_model.c \
	tests/unit/lanes_parked.c tests/unit/lanes_rows.c tests/unit/lanes_slot.c \
	tests/unit/lanes_test.h
check_log_SOURCES = tests/unit/check_log.c
check_metrics_SOURCES = tests/unit/check_metrics.c
check_monitor_SOURCES = tests/unit/check_monitor.c \
	tests/unit/monitor_requests.c tests/unit/monitor_test.h
check_absence_SOURCES = tests/unit/check_absence.c
check_poll_interval_SOURCES = tests/unit/check_poll_interval.c
check_relay_SOURCES = tests/unit/check_relay.c tests/unit/batch.c \
	tests/unit/batch.h tests/unit/relay_answers.c tests/unit/relay_drivers.c \
	tests/unit/relay_looks.c tests/unit/relay_routes.c tests/unit/relay_trial.c \
	tests/unit/relay_outcome.c tests/unit/relay_test.h tests/unit/relay_types.c
check_report_SOURCES = tests/unit/check_report.c
check_route_SOURCES = tests/unit/check_route.c
check_slot_SOURCES = tests/unit/check_slot.c
check_stream_SOURCES = tests/unit/check_stream.c
check_top_SOURCES = tests/unit/check_top.c src/ctl/top/canvas.c \
	src/ctl/top/grid.c src/ctl/top/layout.c src/ctl/top/ui.c \
	src/ctl/base/screen.c
check_util_SOURCES = tests/unit/check_util.c
check_wakeups_SOURCES = tests/unit/check_wakeups.c
check_metrics_LDADD = $(LDADD) -lm

check_block_SOURCES = tests/store/check_block.c tests/store/block_halt.c \
	tests/store/block_glance.c tests/store/block_node.c \
	tests/store/block_park.c tests/store/block_scan.c \
	tests/store/block_statements.c tests/store/block_story.c \
	tests/store/block_strays.c tests/store/block_test.h \
	tests/store/block_tick.c
check_bus_SOURCES = tests/nats/check_bus.c tests/nats/bus_hostile.c \
	tests/nats/bus_login.c tests/nats/bus_stream_info.c tests/nats/bus_loss.c \
	tests/nats/bus_publish.c tests/nats/bus_refuse.c tests/nats/bus_test.h \
	tests/nats/bus_tls.c tests/nats/bus_wake.c
check_candidates_SOURCES = tests/store/check_candidates.c
check_claim_SOURCES = tests/store/check_claim.c tests/store/claim_test.h \
	tests/store/store_fetch.c tests/store/store_settle.c
check_class_SOURCES = tests/store/check_class.c
check_db_SOURCES = tests/mysql/check_db.c tests/mysql/server.c \
	tests/mysql/server_test.h tests/mysql/session.c \
	tests/mysql/session_test.h
check_driver_SOURCES = tests/driver/check_driver.c \
	tests/driver/driver_http.c tests/driver/driver_kafka.c \
	tests/driver/driver_local.c \
	tests/driver/driver_nats.c tests/driver/driver_test.h tests/unit/batch.c \
	tests/unit/batch.h
check_find_SOURCES = tests/kafka/check_find.c
check_fleet_SOURCES = tests/store/check_fleet.c
check_galera_SOURCES = tests/store/check_galera.c
check_hostile_SOURCES = tests/mysql/check_hostile.c
check_plan_SOURCES = tests/store/check_plan.c
check_store_SOURCES = tests/store/check_store.c tests/store/store_back.c \
	tests/store/store_candidates.c tests/store/store_lease.c \
	tests/store/store_schema.c tests/store/store_statements.c \
	tests/store/store_test.h
check_stream_audit_SOURCES = tests/recovery/check_stream_audit.c \
	tests/recovery/stream_audit_in_doubt.c tests/recovery/stream_audit_stream.c \
	tests/recovery/stream_audit_rival.c tests/recovery/stream_audit_scrub.c \
	tests/recovery/stream_audit_tail.c \
	tests/recovery/stream_audit_test.h
check_verdict_SOURCES = tests/nats/check_verdict.c

# An HTTP server that does as it is told, a server of HTTP/2 that goes away,
# HTTP clients that behave badly, a proxy before a broker, which lies, and what
# users rely on.

check_PROGRAMS += receiver goaway clients liar names
receiver_SOURCES = tests/lib/receiver.c
receiver_LDADD =
goaway_SOURCES = tests/lib/goaway.c
goaway_LDADD = -lssl $(CRYPTO_LIBS)
clients_SOURCES = tests/lib/clients.c
clients_LDADD =
liar_SOURCES = tests/lib/liar.c
liar_LDADD =
names_SOURCES = tests/compat/names.c sql/wanted.c
names_LDADD = $(outbox_libs)

EXTRA_DIST += $(system_tests) tests/compat/api.jq \
	$(foreach k,api columns commands exits json keys messages metrics \
	    procedures, \
	    tests/compat/1.0/$(k)) tests/chaos/README tests/chaos/back.sh \
	tests/chaos/cluster.sh tests/chaos/damage.sh \
	tests/chaos/endpoint.sh tests/chaos/faults.sh \
	tests/chaos/kafka.sh tests/chaos/load.sh tests/chaos/masters.sh tests/chaos/outage.sh \
	tests/chaos/plan.sh tests/chaos/run.sh tests/chaos/seeds.sh \
	tests/chaos/servers.sh tests/examples/nats.php \
	tests/examples/run_examples.sh tests/examples/run_receiver.sh \
	tests/examples/production.sh tests/examples/switch.php \
	tests/examples/switch.sh \
	tests/lib/browser.sh tests/lib/cluster.sh tests/lib/cppcheck.cfg \
	tests/lib/ctl.sh tests/lib/gcov_exit.c tests/lib/http.sh tests/lib/kafka.sh \
	tests/lib/inline.sh tests/lib/lib.sh tests/lib/manual.sh tests/lib/nodes.sh \
	tests/lib/page.sh \
	tests/lib/pauses.sh tests/lib/pillar.sh \
	tests/lib/pillar.sql tests/lib/pool.sh tests/lib/prune.sh \
	tests/lib/replica.sh tests/lib/result.sh tests/lib/schema.jq \
	tests/lib/shapes.sh tests/lib/shapes.sql tests/lib/timed.sh \
	tests/lib/tmux.sh tests/lib/vitess.sh tests/model/relay.pml \
	tests/package/bare.sh tests/package/debian.sh tests/package/dist.sh \
	tests/package/distribution.sh tests/package/examples.py \
	tests/package/examples.sh tests/package/image.sh tests/package/in_root.sh \
	tests/package/inside.sh tests/package/reproducible.sh tests/package/root.sh \
	tests/package/rpm.sh tests/package/rpm_inside.sh \
	tests/package/systemd.sh tests/package/upgrade.sh \
	tests/prometheus/messages.yml tests/prometheus/missing.yml

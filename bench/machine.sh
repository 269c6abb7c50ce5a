# machine.sh - hardware and versions of a measurement, one fact a line

# shellcheck shell=bash

fact() { printf '%s\t%s\n' "$1" "$2"; }

fact date "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
fact form "$([ -n "$full" ] && echo full || echo quick)"
fact outbox-master "$("$OUTBOX_MASTER" --version | head -n 1)"
fact database "$KIND $(. "$DIR/db/env" && echo "$VERSION")"
fact broker "nats-server $(. "$DIR/nats/env" && echo "$VERSION")"
fact durability "$(sql "SELECT CONCAT('innodb_flush_log_at_trx_commit=',
    @@innodb_flush_log_at_trx_commit, ' sync_binlog=', @@sync_binlog,
    ' log_bin=', @@log_bin)")"
fact database_memory "$(sql 'SELECT CONCAT(
    @@innodb_buffer_pool_size DIV 1048576, " MiB of buffer pool")')"
fact cpu "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
fact cpus "$(nproc)"
fact memory "$(awk '$1 == "MemTotal:" { printf "%d MiB", $2 / 1024 }' \
    /proc/meminfo)"
fact kernel "$(uname -sr)"
fact files "$(stat -f -c %T "$DIR") at ${DIR%/*}"
fact load "$(cut -d' ' -f1-3 /proc/loadavg) before it began"

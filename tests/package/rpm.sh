#!/usr/bin/env bash
# rpm.sh - files, configuration and scripts of the RPM (TAP)
#
#   RPM=FILE.rpm tests/package/rpm.sh
#
# Needs no machine with RPM packages: it is installed below a scratch directory.

# shellcheck source=tests/lib/result.sh
. "${srcdir:-.}/tests/lib/result.sh"
srcdir=${srcdir:-.}
for command in rpm shellcheck; do
	command -v "$command" > /dev/null || {
		echo "1..0 # SKIP no $command"
		exit 0
	}
done
dir=$(mktemp -d "${TMPDIR:-/tmp}/outbox-rpm.XXXXXX") || exit 1
dir=$(realpath "$dir")
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM

query() { rpm -qp --nosignature "$@" "$RPM"; }
put() { printf '%s\n' "$@"; }

mapfile -t examples < <(cd "$srcdir/examples" && find . -mindepth 1 |
    sed 's,^\.,/usr/share/doc/outbox-master/examples,')
is 'the files' "$(query -l | grep -v build-id |
    sed 's|/outbox-master-[0-9.]*$|/outbox-master-VERSION|;
	s|/outbox-master-[0-9.]*/|/outbox-master-VERSION/|' | sort)" "$(put \
    /etc/logrotate.d/outbox-master /etc/outbox /etc/outbox.yml \
    /usr/bin/outboxctl /usr/lib/systemd/system/outbox-master.service \
    /usr/lib/systemd/system/outbox-master@.service \
    /usr/lib/sysusers.d/outbox-master.conf \
    /usr/lib/tmpfiles.d/outbox-master.conf /usr/sbin/outbox-master \
    /usr/share/bash-completion/completions/{outbox-master,outboxctl} \
    /usr/share/doc/outbox-master-VERSION{,/ChangeLog,/README.md} \
    /usr/share/doc/outbox-master/examples{,/outbox.yml} \
    "${examples[@]}" \
    /usr/share/doc/outbox-master/examples/outbox-master.openrc \
    /usr/share/licenses/outbox-master-VERSION{,/COPYING} \
    /usr/share/man/man1/outboxctl.1 /usr/share/man/man5/outbox.yml.5 \
    /usr/share/man/man7/outbox-{clusters,metrics,tables}.7 \
    /usr/share/man/man8/outbox-master.8 \
    /usr/share/outbox-master{,/grafana,/prometheus,/sql} \
    /usr/share/outbox-master/grafana/outbox-master.json \
    /usr/share/outbox-master/openapi.json \
    /usr/share/outbox-master/prometheus/outbox-master.rules.yml \
    /usr/share/outbox-master/sql/{grants,inline,inline_trigger}.sql \
    /usr/share/outbox-master/sql/{operator,schema,trigger}.sql \
    /var/log/outbox | sort)"
is 'configuration is kept' "$(query --qf \
    '[%{FILENAMES} %{FILEFLAGS:fflags}\n]' | grep '^/etc/.* cn$')" "$(put \
    '/etc/logrotate.d/outbox-master cn' '/etc/outbox.yml cn')"
is 'directories of the daemon' "$(query --qf '[%{FILENAMES} '\
'%{FILEMODES:perms} %{FILEUSERNAME} %{FILEGROUPNAME}\n]' |
    grep -E '^/(etc|var/log)/outbox ')" "$(put \
    '/etc/outbox drwxr-x--- root outbox' \
    '/var/log/outbox drwxr-x--- outbox outbox')"

for script in prein postin preun postun posttrans; do
	query --qf "#!/bin/sh\n%{$script}\n" > "$dir/$script"
	[ "$(wc -l < "$dir/$script")" -gt 1 ]
	result "there is a script: $script" $?
	shellcheck -S warning -e SC1090 "$dir/$script" > "$dir/out"
	result "shellcheck of $script" $? "$(cat "$dir/out")"
done
grep -q 'useradd -r -g outbox' "$dir/prein"
result 'the user is made before the files' $?
! grep -qE 'systemctl (restart|start|stop)' "$dir/prein" "$dir/postin" \
    "$dir/postun"
result 'an upgrade stops nothing before it restarts' $?

mkdir "$dir/root"
rpm --root "$dir/root" -i --nosignature --nodeps --noscripts "$RPM" \
    > "$dir/out" 2>&1
result 'it can be installed' $? "$(cat "$dir/out")"
said=$("$dir/root/usr/sbin/outbox-master" -c "$dir/root/etc/outbox.yml" -t 2>&1)
is 'nothing starts before a database is named' "$?" 78
grep -q 'mysql.database: must not be empty' <<< "$said"
result 'and the text says so' $? "$said"
is 'the socket is that of RPM distributions' \
    "$(grep -c '^  socket: /var/lib/mysql/mysql.sock ' \
	"$dir/root/etc/outbox.yml")" 1
results

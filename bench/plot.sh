# plot.sh - plots of bench.tsv, if gnuplot is installed

# shellcheck shell=bash

# points SECTION FILTER KEY FIGURE: "KEY's value, mean of FIGURE", sorted
points() {
	awk -F '\t' -v section="$1" -v filter="$2" -v key="$3" -v figure="$4" '
	    $1 == section && $3 == figure && index(" " $2 " ", " " filter " ") {
		n = split($2, params, " ")
		for (i = 1; i <= n; i++)
			if (index(params[i], key "=") == 1) {
				x = substr(params[i], length(key) + 2)
				sum[x] += $4
				times[x]++
			}
	    }
	    END { for (x in sum) print x, sum[x] / times[x] }' \
	    "$OUT/bench.tsv" | sort -n
}

# draw FILE TITLE X-LABEL Y-LABEL LOG-AXES LABEL=DATA...: plot, if there is data
draw() {
	local file=$OUT/$1 axes=$5 line plots=''
	printf "set terminal pngcairo size 800,500\nset output '%s'\n%s\n%s\n" \
	    "$file" "set title '$2'; set xlabel '$3'; set ylabel '$4'" \
	    "set grid; set key outside; set yrange [0:*]" > "$DIR/plot"
	[ "$axes" != xy ] || echo 'set yrange [*:*]' >> "$DIR/plot"
	[ -z "$axes" ] || echo "set logscale $axes" >> "$DIR/plot"
	for line in "${@:6}"; do
		[ -s "$DIR/points.${line#*=}" ] || continue
		plots="$plots${plots:+, }'$DIR/points.${line#*=}' \
title '${line%%=*}' with linespoints"
	done
	[ -n "$plots" ] || return 0
	echo "plot $plots" >> "$DIR/plot"
	gnuplot "$DIR/plot" 2>> "$DIR/gnuplot.log" || note "no picture: $1"
}

# rate_plot NAME TITLE X-LABEL LOG-AXES: of points.NAME
rate_plot() {
	draw "$1.png" "$2" "$3" 'messages a second' "$4" "rate=$1"
}

# latency_plot HOW TITLE
latency_plot() {
	local p
	for p in p50 p90 p99 p99.9; do
		points steady "relay=$1" load "latency_$p" |
		    awk '{ print $1, $2 / 1000 }' > "$DIR/points.$p"
	done
	draw "latency_$1.png" "$2" 'commits a second' ms xy \
	    p50=p50 p90=p90 p99=p99 p99.9=p99.9
}

# cost_plot NAME FIGURE TITLE Y-LABEL: a line for each relay and linger
cost_plot() {
	local relay linger n lines=()
	for relay in listener polls floor; do
		n=${COST_FLEETS##* }
		[ "$relay" != floor ] || n=1
		for linger in $LINGERS; do
			points cost "relay=$relay linger=$linger workers=$n" \
			    load "$2" > "$DIR/points.$1.$relay.$linger"
			lines+=("$relay, $linger ms=$1.$relay.$linger")
		done
	done
	draw "$1.png" "$3" 'commits a second' "$4" xy "${lines[@]}"
}

plot_all() {
	command -v gnuplot > /dev/null || {
		note 'no gnuplot (Debian: gnuplot-nox): no plots'
		return 0
	}
	points drain vary=backlog rows rate > "$DIR/points.backlog"
	points drain vary=workers workers rate > "$DIR/points.workers"
	points drain vary=batch batch rate > "$DIR/points.batch"
	points drain vary=payload payload rate > "$DIR/points.payload"
	{
		points age effect=none rows rate | sed 's/.* /0 /'
		points age effect=aged delivered rate
	} > "$DIR/points.age"
	rate_plot backlog 'Throughput and backlog' 'waiting rows' x
	rate_plot workers 'Throughput and workers' workers ''
	rate_plot batch 'Throughput and batch size' 'rows of a claim' x
	rate_plot payload 'Throughput and payload' bytes x
	rate_plot age 'Throughput and age' 'delivered rows in the table' ''
	latency_plot listener 'Latency, woken by the binlog'
	latency_plot polls 'Latency, without a listener'
	cost_plot cost_db db_net 'Database, net of the producers' \
	    'us of CPU a message'
	cost_plot cost_relay relay_cpu 'Relay' 'us of CPU a message'
	cost_plot cost_p50 p50 'Median latency' ms
	cost_plot cost_p99 p99 'Latency of 99 %' ms
}

# table.awk - bench.tsv as a table: a line per run, a column per figure with its
# unit below the name
#
# It leaves out the faults that the checker counted (0, or the bench ends before
# this table) and rarely needed figures; all are in bench.json.

function flush_block(    i, j, w)
{
	if (!nruns)
		return
	printf "\n%s\n", section
	for (j = 1; j <= ncols; j++)
		for (i = -1; i <= nruns; i++)
			if (length(cell[i, j]) > width[j])
				width[j] = length(cell[i, j])
	for (i = -1; i <= nruns; i++) {
		for (j = 1; j <= ncols; j++)
			printf "%*s%s", width[j], cell[i, j],
			    j < ncols ? "  " : "\n"
	}
	nruns = ncols = 0
	delete cell; delete width; delete column; delete run_of
}

# The column of a name; a new one is the rightmost.
function column_of(name)
{
	if (!(name in column)) {
		column[name] = ++ncols
		cell[-1, ncols] = name
	}
	return column[name]
}

BEGIN {
	FS = "\t"
	n = split("lost duplicated out_of_order rate_first_quarter " \
	    "rate_last_quarter master_peak", list, " ")
	for (i = 1; i <= n; i++)
		hidden[list[i]] = 1
}

$3 in hidden { next }

$1 != section {
	flush_block()
	section = $1
}

!(($2) in run_of) {
	run_of[$2] = ++nruns
	np = split($2, params, " ")
	for (i = 1; i <= np; i++) {
		eq = index(params[i], "=")
		cell[nruns, column_of(substr(params[i], 1, eq - 1))] = \
		    substr(params[i], eq + 1)
	}
}

{
	cell[run_of[$2], column_of($3)] = $4
	cell[0, column[$3]] = $5
}

END { flush_block() }

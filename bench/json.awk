# json.awk - machine.tsv and bench.tsv as one JSON object

function text(s)
{
	gsub(/[\\"]/, "\\\\&", s)
	gsub(/[[:cntrl:]]/, " ", s)
	return "\"" s "\""
}

function value(s)
{
	return s ~ /^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/ ? s : text(s)
}

BEGIN { FS = "\t"; printf "{\n" }

NR == FNR {
	printf "%s: %s,\n", text($1), $1 == "ok" ? $2 : text($2)
	next
}

{
	printf "%s\n{\"section\": %s", n++ ? "," : "\"records\": [", text($1)
	np = split($2, params, " ")
	for (i = 1; i <= np; i++) {
		eq = index(params[i], "=")
		printf ", %s: %s", text(substr(params[i], 1, eq - 1)),
		    value(substr(params[i], eq + 1))
	}
	printf ", \"figure\": %s, \"value\": %s, \"unit\": %s}", text($3),
	    value($4), text($5)
}

END { print (n ? "\n" : "\"records\": [") "]\n}" }

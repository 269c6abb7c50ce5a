# api.jq - what users of the HTTP API rely on, a line for each fact
#
# jq -r -f api.jq doc/openapi.json.  A line that begins with "!" is a demand.

def resolved($root):
	if has("$ref") then
		(.["$ref"] | ltrimstr("#/") | split("/")) as $path |
		$root | getpath($path) | resolved($root)
	else . end;

# Of a value that a request gives (asked), or that an answer has
def facts($root; $at; $asked):
	resolved($root) |
	(select(.type) | "\($at) \([.type] | flatten | sort | join("|"))"),
	(select($asked) | .enum // [] | .[] | "\($at) may be \(.)"),
	(.required // [] | .[] | if $asked then "! \($at).\(.) needed"
	    else "\($at).\(.) is there" end),
	(.properties // {} | to_entries[] | .key as $name |
	    .value | facts($root; "\($at).\($name)"; $asked)),
	(.items // empty | facts($root; "\($at)[]"; $asked)),
	(.anyOf // [] | .[] | facts($root; $at; $asked));

def answer($root; $at): .content // {} | to_entries[] |
	"\($at) \(.key)", (.value.schema // {} | facts($root; $at; false));

. as $root |
# Errors are alike wherever they come from.
(.components.responses | to_entries[] | .key as $name |
    .value | answer($root; "error \($name)")),
(.paths | to_entries[] | .key as $path | .value | to_entries[] |
"\(.key | ascii_upcase) \($path)" as $at | .value |
(.parameters // [] | .[] | resolved($root) | "\($at) ?\(.name)" as $name |
    (select(.required and .in == "query") | "! \($name) needed"),
    (.schema | facts($root; $name; true))),
(.requestBody // {} | (select(.required) | "! \($at) a body needed"),
    (.content // {} | to_entries[] | .key as $type | .value.schema |
    facts($root; "\($at) \($type)"; true))),
(.responses | to_entries[] | "\($at) \(.key)" as $answer | .value |
    if has("$ref") then "\($answer) \(.["$ref"] | sub(".*/"; "error "))"
    else answer($root; $answer) end))

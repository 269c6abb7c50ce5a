# schema.jq - is a JSON value as its schema of OpenAPI 3.1 says?
#
# jq -r --argjson schema S --slurpfile root FILE -f schema.jq: a line for each
# thing that is wrong.  Stricter than the standard: a member that is not described
# is wrong, unless additionalProperties is true.

def known: ["$ref", "additionalProperties", "anyOf", "description", "enum",
    "items", "maximum", "maxLength", "minimum", "pattern", "properties",
    "required", "type"];

def resolved:
	if has("$ref") then
		(.["$ref"] | ltrimstr("#/") | split("/")) as $path |
		$root[0] | getpath($path) | resolved
	else . end;

# "integer" is also a number.
def types:
	if type == "number" and . == floor then ["integer", "number"]
	else [type] end;

def wrong($schema; $at):
	. as $value | ($schema | resolved) as $s |
	(($s | keys) - known | select(length > 0) |
	    "\($at): the schema has \(join(", ")), which is not checked here"),
	(select($s.type) | ([$s.type] | flatten) as $wanted |
	    select(($value | types) - $wanted == ($value | types)) |
	    "\($at): \(tojson) is no \($wanted | join(" or "))"),
	(select($s.enum and ([$s.enum[] | . == $value] | any | not)) |
	    "\($at): \(tojson) is none of \($s.enum | tojson)"),
	(select(type == "string" and $s.pattern) |
	    select(test($s.pattern) | not) |
	    "\($at): \(tojson) does not match \($s.pattern)"),
	(select(type == "number" and $s.minimum and . < $s.minimum) |
	    "\($at): \(.) is too small"),
	(select(type == "object") | ($s.required // [])[] as $name |
	    select(has($name) | not) | "\($at): no \($name)"),
	(select(type == "object" and $s.properties) | to_entries[] |
	    .key as $name | $s.properties[$name] as $inner |
	    if $inner then .value | wrong($inner; "\($at).\($name)")
	    elif $s.additionalProperties == true then empty
	    else "\($at): \($name) is not described" end),
	(select(type == "array" and $s.items) | to_entries[] |
	    .key as $i | .value | wrong($s.items; "\($at)[\($i)]")),
	(select($s.anyOf) |
	    [$s.anyOf[] as $one | [wrong($one; $at)]] |
	    select(map(length > 0) | all) |
	    "\($at): " + (map(.[0]) | join(", and ")));

wrong($schema; "answer")

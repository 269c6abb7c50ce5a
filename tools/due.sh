# due.sh - which parts of the tests are due, and when each has passed; sourced
#
# By tools/check.  The table of doc/tested.md has a row for each part: the commit
# at which it has passed, the date, and the seconds that it took, divided by the
# slowness of the machine.  A run by name writes it (pass_row), and whoever made
# the run commits it.

# shellcheck shell=bash disable=SC2154

rows=$top/doc/tested.md
max_age=100			# commits

# in_git ARG...; is_clone: a tarball may lie in another project's clone
in_git() { git -C "$top" "$@" 2>/dev/null; }
is_clone() { [ -e "$top/.git" ] && command -v git >/dev/null; }
is_shallow() { [ "$(in_git rev-parse --is-shallow-repository)" = true ]; }

# row PART FIELD: 2 is the commit, 3 the date, 4 the seconds
row() { awk -F ' *[|] *' -v part="$1" -v n="$(($2 + 1))" \
    '$2 == part && NF == 6 { print $n; exit }' "$rows"; }

# base_of PART: the commit at which it has passed.  After a rebase that commit
# is none of ours: then the commit that has written the row.  Nothing if nobody
# knows.
base_of() {
	local commit
	commit=$(row "$1" 2)
	[ -n "$commit" ] || return 0
	if in_git merge-base --is-ancestor "$commit" HEAD; then
		echo "$commit"
	elif ! is_shallow; then
		in_git blame -s --abbrev=39 -L "/^| $1 /,+1" -- doc/tested.md |
		    sed -n '1s/^\^\{0,1\}\([0-9a-f]*\).*/\1/p' |
		    sed 's/^0*$/HEAD/'
	fi
}

# age_of PART: in commits; nothing if nobody knows
age_of() {
	local base
	base=$(base_of "$1")
	[ -z "$base" ] || in_git rev-list --count "$base..HEAD"
}

# cost_of PART: seconds that it takes on this machine
cost_of() {
	local seconds
	seconds=$(row "$1" 4)
	echo $((${seconds:-120} * slow / 10))
}

# changed_since BASE: files; all if nobody knows
changed_since() {
	if [ -n "$1" ]; then
		in_git diff --name-only "$1" --
	else
		in_git ls-files
	fi
}

# changed_sources PART: .c files of src/ since it has passed, the latest change
# first, and those that include a header that has changed
changed_sources() {
	local base files headers
	base=$(base_of "$1")
	files=$(changed_since "$base" | grep '^src/.*\.[ch]$')
	headers=$(grep '\.h$' <<< "$files")
	{
		[ -z "$base" ] || in_git log --name-only --format= "$base..HEAD" \
		    -- src
		echo "$files"
		[ -z "$headers" ] || (cd "$top" && grep -rlF --include='*.c' \
		    -e "$(sed 's|.*/|/|; s|$|"|' <<< "$headers")" \
		    -e "$(sed 's|.*/|"|; s|$|"|' <<< "$headers")" src)
	} | awk '/\.c$/ && !seen[$0]++' | while read -r file; do
		[ ! -e "$top/$file" ] || echo "$file"
	done
}

# is_changed PART: anything below its paths, or one of its tests
is_changed() {
	local file path files
	files=$(changed_since "$(base_of "$1")")
	for path in $(field "$1" 3); do
		! grep -qE "^$path(/|\$)" <<< "$files" || return 0
	done
	for file in $(grep -E '^tests/(system|ctl)/.*\.sh$' <<< "$files"); do
		[ "$(group_of "$file")" != "$1" ] || return 0
	done
	return 1
}

# oldest_first PART...: "AGE PART" by age; of the same age, another one is first
# after each commit, because CI cannot write down what it has run
oldest_first() {
	local part age n=0 turn
	turn=$(in_git rev-list --count HEAD)
	for part; do
		age=$(age_of "$part")
		printf '%s %s %s\n' "${age:-999}" \
		    $(((n - ${turn:-0} % $# + $#) % $#)) "$part"
		n=$((n + 1))
	done | sort -k1,1nr -k2,2n | cut -d' ' -f1,3
}

# plan_due: what CI runs.  Sets always, and maybe: parts of which something has
# changed, the oldest first, and one other.
plan_due() {
	local part rest=() changed=()
	always=()
	for part in $(names); do
		if [ "$(field "$part" 3)" = always ]; then
			always+=("$part")
		elif is_clone && ! is_changed "$part"; then
			rest+=("$part")
		else
			changed+=("$part")
		fi
	done
	mapfile -t maybe < <({
		[ ${#changed[@]} -eq 0 ] || oldest_first "${changed[@]}"
		[ ${#rest[@]} -eq 0 ] || oldest_first "${rest[@]}" | sed 1q
	} | cut -d' ' -f2)
}

# is_too_old PART: then it runs, if it has changed, whatever time it takes
is_too_old() {
	local age
	age=$(age_of "$1")
	[ -n "$age" ] && [ "$age" -gt "$max_age" ]
}

# fits PART ELAPSED: is there time for it, ELAPSED seconds after the start?
fits() { is_too_old "$1" || [ $(($2 + $(cost_of "$1"))) -le "$budget" ]; }

# has_packages PART: are they installed?  Where there is no dpkg, nobody knows.
has_packages() {
	local package
	command -v dpkg-query >/dev/null || return 0
	for package in $(field "$1" 4); do
		case $package in */*) continue ;; esac
		dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null |
		    grep -qx installed || return 1
	done
}

# plan_fitting: those of maybe for which there may be time, by what all took
# before; what is always due may take a third less
plan_fitting() {
	local part t=0
	for part in "${always[@]}"; do
		t=$((t + $(cost_of "$part")))
	done
	t=$((SECONDS + t * 2 / 3))
	for part in "${maybe[@]}"; do
		fits "$part" "$t" || continue
		echo "$part"
		t=$((t + $(cost_of "$part")))
	done
}

# list_rows: each part, its age, its seconds, and what it is
list_rows() {
	local part age seconds
	for part in $(names); do
		age=$(age_of "$part")
		seconds=$(row "$part" 4)
		printf '%-11s %4s commits %5s s  %s\n' "$part" "${age:-?}" \
		    "${seconds:-?}" "$(field "$part" 2)"
	done
}

# is_clean: is what is tested HEAD?  Other rows may be new.
is_clean() {
	is_clone && [ -z "$(in_git status --porcelain --untracked-files=no -- . \
	    ':!doc/tested.md')" ]
}

# pass_row PART SECONDS
pass_row() {
	local commit line
	commit=$(in_git rev-parse --short=12 HEAD) || return 0
	line="| $1 | $commit | $(date -u +%F) | $(($2 * 10 / slow)) |"
	if [ -n "$(row "$1" 2)" ]; then
		# Another table may have a row of this name.
		sed -i "s/^| $1 | [0-9a-f]* | .*/$line/" "$rows"
		say "doc/tested.md: $1 passed at $commit"
	fi
}

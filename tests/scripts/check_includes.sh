#!/bin/sh
# Includes point one way: check_includes.sh SOURCE. One row of the table says what a folder may include besides itself;
# the longest folder that fits a file counts.
set -eu
source=$1
cd "$source"

allowed() {
    case $1 in
    src/core/*) echo "core llm.h" ;;
    src/quant/*) echo "core quant" ;;
    src/gguf/*) echo "core quant gguf" ;;
    src/graph/*) echo "core quant graph" ;;
    src/text/*) echo "core gguf text" ;;
    # A backend reads a finished plan, never a model. The table of all backends is backend.cpp's alone.
    src/backend/backend.cpp) echo "core quant graph backend" ;;
    src/backend/cpu/*) echo "core quant graph backend/backend.h backend/packed.h backend/cpu" ;;
    src/backend/ref/*) echo "core quant graph backend/backend.h backend/ref" ;;
    src/backend/*) echo "core quant graph" ;;
    # A family describes a graph and never names a backend; the loader packs weights through backend.h.
    src/model/families/*) echo "core quant gguf graph model" ;;
    src/model/*) echo "core quant gguf graph backend/backend.h backend/packed.h text model" ;;
    src/run/*) echo "core quant gguf graph backend/backend.h text model run" ;;
    src/api/*) echo "core quant gguf graph backend/backend.h text model run api llm.h" ;;
    # The tool is a program like others: the public header and its own files.
    tools/*) echo "llm.h tools" ;;
    include/*) echo "" ;;
    *) echo "NO RULE" ;;
    esac
}

# Includes of our own are in quotes; those of tools have no folder.
found=$(grep -rnE '^ *# *include *"' src tools include --include='*.h' --include='*.cpp' --include='*.inl' |
    sed -E 's/^([^:]*):([0-9]*):.*"([^"]*)".*/\1 \2 \3/' |
    while read -r file line included; do
        case $file in tools/*) [ "$included" = llm.h ] || included=tools/$included ;; esac
        ok=no
        for prefix in $(allowed "$file"); do
            case $included in "$prefix" | "$prefix"/*) ok=yes ;; esac
        done
        [ $ok = yes ] || echo "$file:$line includes $included"
    done)
names=$(grep -rnE 'backend_(find|table|ref|cpu|avx|neon)|->cpu\b' src/model/families || true)
if [ -n "$found$names" ]; then
    echo "check_includes: against the direction of includes:" >&2
    [ -z "$found" ] || echo "$found" >&2
    [ -z "$names" ] || echo "$names" >&2
    exit 1
fi

#!/bin/sh
# An installed tree works, also after it was moved: check_install.sh BUILD_FOLDER SOURCE. The C example is built against
# the shared and the static library with nothing but what was installed, and the tool finds the bundled model there.
set -eu
build=$(cd "$1" && pwd) source=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/first" >"$work/log" || { cat "$work/log" >&2; exit 1; }
mv "$work/first" "$work/prefix"
lib=$(dirname "$(find "$work/prefix" -name libllm.a)")
question="Hello, who are you?"
model=$work/prefix/share/llm/libllm-chat-3m.gguf

cc=${CC:-cc}
strict="-std=c11 -Wall -Wextra -Wpedantic -Werror"
# shellcheck disable=SC2086 # lists of words
"$cc" $strict -I "$work/prefix/include" "$source/examples/chat.c" -o "$work/shared" -L "$lib" -lllm
static="-lpcre2-8 -lutf8proc -lstdc++ -lm -pthread"
# shellcheck disable=SC2086
"$cc" $strict -I "$work/prefix/include" "$source/examples/chat.c" -o "$work/static" "$lib/libllm.a" $static
if command -v pkg-config >/dev/null; then
    # shellcheck disable=SC2046
    "$cc" $(PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --cflags libllm) "$source/examples/chat.c" -o "$work/shared" \
        $(PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --libs libllm)
fi

LD_LIBRARY_PATH=$lib "$work/shared" "$model" "$question" >"$work/1"
"$work/static" "$model" "$question" >"$work/2"
env -u LLM_MODEL LLM_MODELS="$work/none" "$work/prefix/bin/llm" chat -q --temp 0 -p "$question" >"$work/3"
[ -s "$work/1" ] || { echo "check_install: the example answered nothing" >&2; exit 1; }
cmp "$work/1" "$work/2"
[ -s "$work/3" ] || { echo "check_install: the installed tool answered nothing" >&2; exit 1; }

# The README shows the example that was built here.
sed -n '/^```c$/,/^```$/p' "$source/README.md" | sed '1d;$d' | cmp - "$source/examples/chat.c"

# Another CMake project finds both libraries.
mkdir "$work/other"
cat >"$work/other/CMakeLists.txt" <<PROJECT
cmake_minimum_required(VERSION 3.22)
project(other LANGUAGES C CXX)
find_package(libllm 0.1 REQUIRED)
foreach(kind llm static)
    add_executable(chat_\${kind} $source/examples/chat.c)
    target_link_libraries(chat_\${kind} PRIVATE libllm::\${kind})
endforeach()
PROJECT
{ cmake -S "$work/other" -B "$work/other/build" -DCMAKE_PREFIX_PATH="$work/prefix" && cmake --build "$work/other/build"; } \
    >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
"$work/other/build/chat_static" "$model" "$question" >"$work/4"
LD_LIBRARY_PATH=$lib "$work/other/build/chat_llm" "$model" "$question" >"$work/5"
cmp "$work/1" "$work/4"
cmp "$work/1" "$work/5"

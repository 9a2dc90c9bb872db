#!/bin/sh
# What the library's objects may use and show: check_objects.sh OBJECT_FOLDER LIBRARY.a [LIBRARY.so]
#  - no call that prints, ends the process, reads the environment or takes its numbers from the C library's mathematics
#    (logits must not depend on it; fused multiply-add, rounding and square roots are exact everywhere);
#  - outside of namespace llm only llm_* is defined; the shared library shows only llm_*;
#  - no wide registers outside of the files of a CPU tier: they would crash smaller machines.
set -u
objects=$1 static=$2 shared=${3:-}
nm=${NM:-nm} objdump=${OBJDUMP:-objdump}
failed=0
complain() {
    echo "check_objects: $1" >&2
    echo "$2" | sed 's/^/    /' >&2
    failed=1
}

forbidden='abort|exit|_exit|_Exit|quick_exit|atexit|printf|vprintf|fprintf|vfprintf|puts|fputs|putchar|fwrite|perror'
forbidden="$forbidden|__printf_chk|__fprintf_chk|__vfprintf_chk|__assert_fail|getenv|secure_getenv|setenv|signal|rand|srand"
libm='a?(sin|cos|tan)h?|sincos|atan2|exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|cbrt|hypot|erfc?|[lt]gamma|fmod|remainder'
found=$("$nm" -A -u "$static" 2>/dev/null | awk '{print $1, $NF}' | sed 's/@.*//' | grep -E " (($forbidden)|($libm)[fl]?)\$")
[ -z "$found" ] || complain "calls that the library may not make" "$found"
found=$("$nm" -A -C -u "$static" 2>/dev/null | grep -E 'std::(cout|cerr|clog|terminate)')
[ -z "$found" ] || complain "streams of the process, or its end" "$found"

# Weak definitions are inline functions and templates of the standard library, which every program shares.
found=$("$nm" -g --defined-only "$static" 2>/dev/null | awk 'NF == 3 && $2 !~ /[VWvwu]/ {print $3}' | sort -u |
    grep -Ev '^(llm_|_ZN?K?[A-Z]*3llm|_ZTV?I?S?N3llm|_ZGVN?3llm|_ZZN3llm)')
[ -z "$found" ] || complain "names outside of llm_* and namespace llm" "$found"
if [ -n "$shared" ]; then
    found=$("$nm" -D --defined-only "$shared" | awk '{print $NF}' | grep -v '^llm_')
    [ -z "$found" ] || complain "the shared library shows more than llm_*" "$found"
    [ "$("$nm" -D --defined-only "$shared" | grep -c ' llm_')" -gt 50 ] || complain "the shared library does not show llm_*" ""
fi

n=0
for object in $(find "$objects" -name '*.o' ! -name 'tier_*'); do
    n=$((n + 1))
    wide=$("$objdump" -d --no-show-raw-insn "$object" | grep -E '%[yz]mm[0-9]|%k[0-7]\b' | head -3)
    [ -z "$wide" ] || complain "wide registers in $object" "$wide"
done
[ "$n" -gt 20 ] || complain "only $n objects in $objects" ""
exit $failed

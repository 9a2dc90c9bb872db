#!/bin/sh
# What the library's objects may use and show: check_objects.sh OBJECT_FOLDER LIBRARY.a [LIBRARY.so]
#  - no call that prints, ends the process, reads the environment or takes its numbers from the C library's mathematics
#    (logits must not depend on it; fused multiply-add, rounding and square roots are exact everywhere);
#  - outside of namespace llm only llm_* is defined; the shared library shows only llm_*;
#  - no instruction beyond x86-64 or armv8-a outside of the files of a CPU tier, and in these none of a larger tier: they
#    would crash smaller machines;
#  - the shared library for arm64, where phones are, has at most 2 MiB without its symbols.
set -u
objects=$1 static=$2 shared=${3:-}
nm=${NM:-nm} objdump=${OBJDUMP:-objdump} strip=${STRIP:-strip}
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

# What came after armv8.0, by mnemonic or operand: dot products and matrices (smmla apart: one tier may have the first
# only), atomics of 8.1, arithmetic on halves (armv8.0 only converts them), and what compilers might choose by themselves.
matrices='[su]{1,2}mmla|bf(dot|mmla|mlal[bt]|cvtn?2?)'
later="[su]{1,2}dot|$matrices|sqrdml[as]h|fml[as]l2?|fcmla|fcadd|fjcvtzs|frint(32|64)[xz]|eor3|bcax|xar|rax1|sm[34][a-z0-9]+"
later="$later|(cas|swp|ld(add|clr|eor|set|[su]m(ax|in))|st(add|clr|eor|set|[su]m(ax|in)))[a-z]*|ldapu?r[a-z]*|crc32[a-z]*"
later="$later|aes[a-z]+|sha[0-9]+[a-z0-9]*|reta[ab]|bl?ra[ab]z?|ldra[ab]|rmif|setf(8|16)|cfinv|irg|addg|subg|st2?z?g"
arm_mnemonic() { printf '^ *[0-9a-f]+:\t(%s)(\t|$)' "$1"; }
halves='^ *[0-9a-f]+:\tf(add|sub|n?mul|div|sqrt|m?abs|neg|n?m(add|sub)|ml[as]|max|min|cmp|rint|rec|rsq|ccmp|csel|mov|cvt[anmpz]|ac|abd)[a-z0-9]*\t.*\b(h[0-9]|v[0-9]+\.[48]?h)'
scalable='\b(z[0-9]+\.[bhsdq]|p[0-9]+(\.[bhsd]|/[mz]))\b|\t(ptrue|whilelo|[su]?mopa|smstart)\b'

# What came after SSE2, and after SSE4.1.
sse41='addsubp[sd]|h(add|sub)p[sd]|lddqu|movs[hl]dup|movddup|pabs[bwd]|palignr|ph(add|sub)(w|d|sw)|pmaddubsw|pmulhrsw'
sse41="$sse41|pshufb|psign[bwd]|p?blendv?(b|w|p[sd])|dpp[sd]|extractps|insertps|mpsadbw|packusdw|pcmpeqq|p(extr|insr)[bdq]"
sse41="$sse41|phminposuw|p(max|min)(sb|sd|u[wd])|pmov[sz]x[a-z]+|pmuldq|pmulld|ptest|rounds?[ps][sd]|movntdqa"
later_x86='v[a-z0-9]+|pcmpgtq|pcmp[ei]str[im]|crc32[bwlq]?|popcnt[wlq]?|movbe[wlq]?|aes[a-z]+|pclmul[a-z]+|sha[0-9]+[a-z0-9]+'
x86_mnemonic() { printf '^ *[0-9a-f]+:\t(%s)( |$)' "$1"; }
wide='%[yz]mm[0-9]|%k[0-7]\b|%tmm'

# The pattern of what an object may not hold: check_instructions OBJECT PATTERN
check_instructions() {
    found=$("$objdump" -d --no-show-raw-insn "$1" | grep -E "$2" | head -3)
    [ -z "$found" ] || complain "instructions of larger processors in $1" "$found"
}

n=0
machine=
for object in $(find "$objects" -name '*.o'); do
    [ -n "$machine" ] || machine=$("$objdump" -f "$object" | sed -n 's/^architecture: \([^,:]*\).*/\1/p')
    case $machine in
    aarch64) all="$(arm_mnemonic "$later")|$halves|$scalable" ;;
    *) all="$wide|$(x86_mnemonic "$sse41|$later_x86")" ;;
    esac
    case $object in
    *tier_neon.cpp.o) check_instructions "$object" "$all" ;;
    *tier_neon_dotprod.cpp.o) check_instructions "$object" "$(arm_mnemonic "$matrices")|$halves|$scalable" ;;
    *tier_sse41.cpp.o) check_instructions "$object" "$wide|$(x86_mnemonic "$later_x86")" ;;
    *tier_*) continue ;;
    *) check_instructions "$object" "$all" ;;
    esac
    n=$((n + 1))
done
[ "$n" -gt 20 ] || complain "only $n objects in $objects" ""

if [ "$machine" = aarch64 ] && [ -n "$shared" ]; then
    stripped=$(mktemp)
    "$strip" -o "$stripped" "$shared"
    bytes=$(wc -c <"$stripped")
    rm -f "$stripped"
    [ "$bytes" -le 2097152 ] || complain "the shared library has $bytes bytes, more than 2 MiB" ""
fi
exit $failed

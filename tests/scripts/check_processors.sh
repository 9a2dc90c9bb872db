#!/bin/sh
# Old x86-64 processors, emulated: check_processors.sh EMULATOR LLM MODEL
# Each takes the best tier that it can run, meets no instruction that it does not know, and computes the same bits.
set -u
emulator=$1 llm=$2 model=$3
tokens=1,5,9,3,7,8,11,2,4
failed=0
logits() { "$@" "$llm" logits -m "$model" --tokens $tokens --hash --json -t 2 2>/dev/null; }
field() { printf %s "$1" | sed -n "s/.*\"$2\":\"\([^\"]*\)\".*/\1/p"; }

hash=$(field "$(logits env)" hash)
[ -n "$hash" ] || { echo "check_processors: $llm cannot compute logits of $model" >&2; exit 1; }
# The first x86-64 has SSE2 alone, Conroe everything below SSE4.1; SandyBridge has AVX, but neither AVX2 nor FMA.
for expected in Opteron_G1:ref Conroe:ref Penryn:sse41 SandyBridge:sse41 Haswell:avx2; do
    processor=${expected%:*} tier=${expected#*:}
    found=$(logits "$emulator" -cpu "$processor")
    if [ "$(field "$found" tier)" != "$tier" ] || [ "$(field "$found" hash)" != "$hash" ]; then
        echo "check_processors: $processor: expected tier $tier and hash $hash, found: ${found:-no answer}" >&2
        failed=1
    fi
done
exit $failed

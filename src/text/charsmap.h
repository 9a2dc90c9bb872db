// The normaliser of SentencePiece: a table of prefixes and what replaces them, as a Darts double array (Aoe 1989, in
// the packed form of darts-clone) and a block of NUL-terminated strings. tokenizer.ggml.precompiled_charsmap is: bytes
// of the array as u32, the array, the strings; all little-endian.
#pragma once
#include "core/status.h"
#include <stdint.h>
#include <string>
#include <string_view>
#include <vector>

namespace llm {

struct charsmap {
    std::vector<uint32_t> units; // empty: every character stays as it is
    std::string replacements;    // ends with a NUL
};
// Longer replacements than this are refused: a text could grow without bound. Unicode's longest is 33 bytes.
constexpr size_t charsmap_longest_replacement = 256;
// note: a search looks at this many bytes at most, so that an array that runs in circles costs no more than that.
constexpr size_t charsmap_longest_prefix = 256;

llm_status charsmap_load(charsmap *map, std::string_view bytes, llm_error *err);

struct charsmap_match {
    size_t n; // bytes of the text that are replaced; 0: none
    std::string_view replacement;
};
charsmap_match charsmap_find(const charsmap &map, std::string_view text); // the longest prefix

} // namespace llm

// Unicode normalisation forms C and D (UAX #15).
#pragma once
#include <stdint.h>
#include <string>
#include <string_view>
#include <vector>

namespace llm {

// True when *out holds the normal form of well-formed `text`; false when the text is its own normal form by a quick
// look, and *out is untouched. `codes` is scratch memory. Linear but for the sorting of long runs of marks.
bool normalize_nfc(std::string_view text, std::vector<int32_t> *codes, std::string *out);

// The canonical decomposition of one character, and the canonical order of the marks of a text so decomposed.
void append_decomposed(uint32_t code, std::vector<int32_t> *codes);
void sort_marks(std::vector<int32_t> *codes);

} // namespace llm

// Pre-tokenizers: how byte-level BPE vocabularies cut a text into words before merging. Each is a row of data
// (pretokenizer_table.cpp) run by PCRE2's interpreter with limits; nothing recurses on the stack.
#pragma once
#include "core/status.h"
#include <string_view>
#include <vector>

namespace llm {

// Facts that GGUF does not record and that the original tokenizers of a `tokenizer.ggml.pre` name have.
enum : uint8_t {
    PRE_ADD_BOS = 1,           // BOS goes first unless tokenizer.ggml.add_bos_token says otherwise
    PRE_WHOLE_WORDS = 2,       // "ignore_merges": a word that is a token is that token
    PRE_RAW = 4,               // characters instead of byte letters, U+2581 for a space
    PRE_NFC = 8,               // the text is normalised to NFC first
    PRE_NFC_OF_FAMILY = 16,    // the same, but see normalizes_nfc
    PRE_NFC_OF_NAMESAKE = 128, // the same
    PRE_ADD_SEP = 32,          // the separator goes last unless tokenizer.ggml.add_sep_token says otherwise
    PRE_MASK_EATS_SPACE = 64,  // white space before the mask token belongs to it
};

// A step cuts every piece that the steps before it left: what it matches becomes pieces, and so does what lies between.
enum class split_op : uint8_t {
    regex,       // matches of a PCRE2 pattern
    digits_by_3, // before every third decimal digit, counted from the right end of a run; pieces of numbers only
};
struct split_step {
    split_op op;
    const char *pattern; // regex only
};
struct split_family {
    const split_step *steps;
    size_t n_steps;
};
struct pre_row {
    const char *name; // tokenizer.ggml.pre
    split_family family;
    uint8_t flags;
};
const pre_row *pre_find(std::string_view name);                    // NULL: unknown
const pre_row *pre_at(size_t i);                                   // NULL past the last
const pre_row *pre_of_architecture(std::string_view architecture); // for files without a name; NULL: not known
bool normalizes_nfc(const pre_row *row, std::string_view architecture);

struct pre_tokenizer; // compiled patterns of one row; immutable
llm_status pre_tokenizer_create(const pre_row *row, pre_tokenizer **out, llm_error *err);
void pre_tokenizer_free(pre_tokenizer *p);

// Per-call memory, reused from text to text.
struct pre_scratch;
pre_scratch *pre_scratch_create();
void pre_scratch_free(pre_scratch *s);
// `text` must be well-formed UTF-8 of less than 2 GiB. *ends: where each word ends.
llm_status pre_tokenize(const pre_tokenizer *p, std::string_view text, pre_scratch *scratch,
                        std::vector<uint32_t> *ends, llm_error *err);

} // namespace llm

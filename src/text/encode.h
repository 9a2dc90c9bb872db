// Encoding of plain stretches of text, without added tokens. Internal to src/text.
#pragma once
#include "text/merge.h"
#include "text/vocab.h"

namespace llm {

// A word seen before in the same call: its ids are copied from where they stand in the output.
struct seen_word {
    const char *text = nullptr;
    uint32_t n = 0, first_id = 0, n_ids = 0;
    uint32_t generation = 0; // of encode_scratch, when it was put in
};

// Unigram: the best way to reach a byte of the text.
struct best_path {
    float score;
    int32_t id; // of the last piece; -1: unknown
    uint32_t n; // bytes of it; 0: not reached yet
};

// Memory of one call of tokenize().
struct encode_scratch {
    merge_scratch merge;
    std::vector<seen_word> seen; // by hash; empty for short texts, where it does not pay
    uint32_t generation = 1;     // raised when text that words were seen in is overwritten
    std::vector<uint32_t> ends;
    std::unique_ptr<pre_scratch, void (*)(pre_scratch *)> pre{nullptr, pre_scratch_free};
    std::string normalized, marked, word;
    std::vector<int32_t> codes, letters;
    std::vector<best_path> paths;
};
void encode_scratch_prepare(encode_scratch *s, size_t text_size);
// Copies the ids of a word seen before; else *slot is where to remember it (NULL: nowhere).
bool encode_seen_word(std::string_view word, encode_scratch *s, std::vector<int32_t> *ids, seen_word **slot);
void encode_remember_word(std::string_view word, size_t first_id, const std::vector<int32_t> &ids, encode_scratch *s,
                          seen_word *slot);
std::string_view with_space_marks(std::string_view text, bool prefix, std::string *out); // ' ' -> U+2581

// `text` stays where it is to the end of the call of tokenize(): words are remembered by address.
// `after_special`: the stretch begins the text or follows an added token.
llm_status encode_spm(const tokenizer *t, std::string_view text, bool after_special, encode_scratch *s,
                      std::vector<int32_t> *ids, llm_error *err);
llm_status encode_unigram(const tokenizer *t, std::string_view text, bool after_special, encode_scratch *s,
                          std::vector<int32_t> *ids, llm_error *err);
void encode_wordpiece(const tokenizer *t, std::string_view text, encode_scratch *s, std::vector<int32_t> *ids);
llm_status encode_bpe(const tokenizer *t, std::string_view text, encode_scratch *s, std::vector<int32_t> *ids,
                      llm_error *err);

} // namespace llm

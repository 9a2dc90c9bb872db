// The vocabulary behind a tokenizer: what tokenizer.ggml.* of a file says, in the shape that encoding and decoding
// need. Internal to src/text; everyone else uses tokenizer.h.
#pragma once
#include "text/added_tokens.h"
#include "text/charsmap.h"
#include "text/pretokenizer.h"
#include "text/tokenizer.h"
#include <array>
#include <memory>

namespace llm {

enum class vocab_kind : uint8_t {
    spm,       // SentencePiece BPE: tokens are text with U+2581 for a space, pairs merge by the score of their union
    bpe,       // byte-level BPE (GPT-2): tokens are bytes written as printable characters, pairs merge by rank
    raw,       // BPE by rank on characters, with U+2581 for a space
    unigram,   // SentencePiece Unigram (T5): the segmentation with the best sum of scores
    wordpiece, // BERT: words of a normalised text cut greedily; U+2581 begins the tokens that begin words
};

enum class token_type : uint8_t { undefined, normal, unknown, control, user_defined, unused, byte }; // as in the file

enum : uint8_t {
    TOKEN_ENDS_GENERATION = 1,
    TOKEN_EATS_SPACE_AFTER = 2,  // white space that follows it in a text belongs to it ("rstrip" of the original)
    TOKEN_EATS_SPACE_BEFORE = 4, // the same before it ("lstrip")
};

constexpr std::string_view space_mark = "\xE2\x96\x81"; // U+2581

// Strings of all tokens in one block.
struct string_block {
    std::string bytes;
    std::vector<uint32_t> end;
    size_t size() const { return end.size(); }
    std::string_view operator[](size_t i) const {
        uint32_t begin = i ? end[i - 1] : 0;
        return {bytes.data() + begin, end[i] - begin};
    }
    void push_back(std::string_view s) {
        bytes.append(s);
        end.push_back(uint32_t(bytes.size()));
    }
};

// Text -> id by open addressing. The texts stay in the block they came from; of equal texts the last id counts.
struct text_index {
    std::vector<uint64_t> slots; // hash tag << 32 | id + 1; 0: empty. Power of two, at most half full
};
void text_index_build(text_index *index, const string_block &texts);
int32_t text_index_find(const text_index &index, const string_block &texts, std::string_view text);

// (left id, right id) -> rank and merged id, by open addressing.
struct merge_rule {
    uint64_t pair = UINT64_MAX; // left << 32 | right; UINT64_MAX: empty slot
    uint32_t rank = 0;
    int32_t merged = -1;
};
struct merge_table {
    std::vector<merge_rule> slots; // at most two thirds full
};
inline size_t merge_slot(uint64_t pair, size_t n_slots) {
    uint64_t mixed = pair * 0x9E3779B97F4A7C15u;
    return size_t((mixed >> 32) * n_slots >> 32);
}
inline const merge_rule *merge_find(const merge_table &table, int32_t left, int32_t right) {
    if ((left | right) < 0 || table.slots.empty()) return nullptr;
    uint64_t pair = uint64_t(uint32_t(left)) << 32 | uint32_t(right);
    for (size_t at = merge_slot(pair, table.slots.size());;) {
        const merge_rule &rule = table.slots[at];
        if (rule.pair == pair) return &rule;
        if (rule.pair == UINT64_MAX) return nullptr;
        if (++at == table.slots.size()) at = 0;
    }
}

struct unigram_model {
    byte_trie trie;
    std::vector<float> scores;
    float unknown = 0; // score of a character that is no piece
    float best = 0;    // the best score of a normal token
    charsmap normalizer;
    bool remove_extra_spaces = false;
};
struct wordpiece_model {
    byte_trie starts, rests; // of words
    bool lowercase = true, strip_accents = true;
};

struct tokenizer {
    vocab_kind kind = vocab_kind::spm;
    string_block texts;  // as stored
    string_block pieces; // the bytes each token stands for
    std::vector<token_type> types;
    std::vector<uint8_t> flags;
    std::vector<uint32_t> score_keys; // spm: ascending with descending score
    std::vector<int32_t> ascii_ids;   // spm: pieces of one or two ASCII characters, see ascii_index; -1: none
    text_index by_text;
    size_t longest_text = 0;
    std::array<int32_t, 256> byte_ids; // token of a single byte; -1: none
    merge_table merges;                // bpe, raw
    added_tokens added;
    std::unique_ptr<pre_tokenizer, void (*)(pre_tokenizer *)> pre{nullptr, pre_tokenizer_free};
    tokenizer_ids special;
    bool add_bos = false, add_eos = false, add_sep = false;
    bool add_space_prefix = false; // spm, unigram
    bool whole_words = false;      // a word that is a token is that token, whatever the merges say
    bool normalize_nfc = false;
    // spm, raw: last bytes of characters that stand before a U+2581 inside some token. After any other character a
    // U+2581 begins a word: no merge can cross it.
    std::array<bool, 256> joins_space{};
    unigram_model unigram;
    wordpiece_model wordpiece;
};

// Pieces of the model proper: merging makes neither control tokens nor bytes.
inline bool is_piece(const tokenizer *t, int32_t id) {
    token_type type = t->types[size_t(id)];
    return type != token_type::control && type != token_type::unknown && type != token_type::byte;
}

// Place in ascii_ids of a text of one or two ASCII characters; SIZE_MAX: it is another.
inline size_t ascii_index(std::string_view text) {
    if (text.size() == 1 && !(text[0] & 0x80)) return 128 << 7 | size_t(text[0]);
    if (text.size() == 2 && !((text[0] | text[1]) & 0x80)) return size_t(text[0]) << 7 | size_t(text[1]);
    return SIZE_MAX;
}

// Where the word that begins at `begin` ends: before a space mark that no merge can cross.
inline size_t space_word_end(const tokenizer *t, std::string_view text, size_t begin) {
    for (size_t at = begin;;) {
        at = text.find(space_mark, at + 1);
        if (at == std::string_view::npos) return text.size();
        if (!t->joins_space[uint8_t(text[at - 1])]) return at;
    }
}

// A literal U+2581 in a text is a space: these kinds cannot tell the two apart.
inline bool marks_are_spaces(const tokenizer *t) { return t->kind == vocab_kind::spm || t->kind == vocab_kind::raw; }

} // namespace llm

#include "text/encode.h"
#include "text/utf8.h"

namespace llm {

// note: half of all look-ups are for the characters of a word and their pairs. A table answers those of ASCII: prose
// with Gemma 3's 262 thousand tokens takes a quarter less time.
static int32_t find_piece(const tokenizer *t, std::string_view text) {
    if (size_t at = ascii_index(text); at != SIZE_MAX) return t->ascii_ids[at];
    int32_t id = text.size() <= t->longest_text ? text_index_find(t->by_text, t->texts, text) : -1;
    return id >= 0 && is_piece(t, id) ? id : -1;
}

// Bytes of a symbol that is no piece. Without byte tokens it is the unknown token, once for unknown neighbours, as in
// the original; without that too it is left out.
static bool push_bytes(const tokenizer *t, std::string_view bytes, bool after_unknown, std::vector<int32_t> *ids) {
    bool has_bytes = true;
    for (char c : bytes) has_bytes &= t->byte_ids[uint8_t(c)] >= 0;
    if (has_bytes)
        for (char c : bytes) ids->push_back(t->byte_ids[uint8_t(c)]);
    else if (t->special.unk >= 0 && !after_unknown)
        ids->push_back(t->special.unk);
    return !has_bytes;
}

static void encode_word(const tokenizer *t, std::string_view word, encode_scratch *s, std::vector<int32_t> *ids) {
    std::vector<merge_symbol> &symbols = s->merge.symbols;
    symbols.clear();
    for (uint32_t at = 0; at < word.size(); at += symbols.back().n) {
        uint32_t n = utf8_next(word.data() + at, word.data() + word.size()).n;
        symbols.push_back({at, n, find_piece(t, word.substr(at, n)), -1, -1});
    }
    merge_all(&s->merge, [t, word](const merge_symbol &left, const merge_symbol &right) {
        int32_t id = find_piece(t, word.substr(left.at, left.n + right.n));
        return id >= 0 ? merge_pair{t->score_keys[size_t(id)], id} : merge_pair{0, -1};
    });
    bool unknown = false;
    for (const merge_symbol &symbol : symbols) {
        if (symbol.n == 0) continue;
        if (symbol.id >= 0) ids->push_back(symbol.id);
        unknown = symbol.id < 0 && push_bytes(t, word.substr(symbol.at, symbol.n), unknown, ids);
    }
}

llm_status encode_spm(const tokenizer *t, std::string_view text, bool after_special, encode_scratch *s,
                      std::vector<int32_t> *ids, llm_error *) {
    std::string_view all = with_space_marks(text, t->add_space_prefix && after_special, &s->marked);
    s->generation++;
    for (size_t begin = 0, end; begin < all.size(); begin = end) {
        end = space_word_end(t, all, begin);
        std::string_view word = all.substr(begin, end - begin);
        seen_word *slot;
        if (encode_seen_word(word, s, ids, &slot)) continue;
        size_t first_id = ids->size();
        encode_word(t, word, s, ids);
        encode_remember_word(word, first_id, *ids, s, slot);
    }
    return LLM_OK;
}

} // namespace llm

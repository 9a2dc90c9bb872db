#include "text/byte_letters.h"
#include "text/encode.h"
#include "text/nfc.h"
#include "text/utf8.h"

namespace llm {

// A byte that the vocabulary cannot express is left out. Byte-level vocabularies lack at most bytes that well-formed
// text never has.
static void push_bytes(const tokenizer *t, std::string_view bytes, std::vector<int32_t> *ids) {
    for (char c : bytes)
        if (t->byte_ids[uint8_t(c)] >= 0) ids->push_back(t->byte_ids[uint8_t(c)]);
}

static int32_t find_whole_word(const tokenizer *t, std::string_view word, encode_scratch *s) {
    if (word.size() > t->longest_text) return -1;
    s->word.clear();
    for (char c : word) utf8_append(&s->word, letters.letter_of[uint8_t(c)]);
    int32_t id = text_index_find(t->by_text, t->texts, s->word);
    return id >= 0 && t->types[size_t(id)] == token_type::normal ? id : -1;
}

static void make_symbols(const tokenizer *t, std::string_view word, std::vector<merge_symbol> *symbols) {
    symbols->clear();
    for (uint32_t at = 0, n = 1; at < word.size(); at += n) {
        int32_t id = t->byte_ids[uint8_t(word[at])];
        if (t->kind == vocab_kind::raw) {
            n = utf8_next(word.data() + at, word.data() + word.size()).n;
            id = text_index_find(t->by_text, t->texts, word.substr(at, n));
            if (tokenizer_is_control(t, id)) id = -1;
        }
        symbols->push_back({at, n, id, -1, -1});
    }
}

static void encode_word(const tokenizer *t, std::string_view word, encode_scratch *s, std::vector<int32_t> *ids) {
    if (t->whole_words) {
        int32_t id = find_whole_word(t, word, s);
        if (id >= 0) return ids->push_back(id);
    }
    make_symbols(t, word, &s->merge.symbols);
    merge_all(&s->merge, [t](const merge_symbol &left, const merge_symbol &right) {
        const merge_rule *rule = merge_find(t->merges, left.id, right.id);
        return rule ? merge_pair{rule->rank, rule->merged} : merge_pair{0, -1};
    });
    for (const merge_symbol &symbol : s->merge.symbols) {
        if (symbol.n == 0) continue;
        if (symbol.id >= 0)
            ids->push_back(symbol.id);
        else
            push_bytes(t, word.substr(symbol.at, symbol.n), ids);
    }
}

static void encode_word_once(const tokenizer *t, std::string_view word, encode_scratch *s, std::vector<int32_t> *ids) {
    seen_word *slot;
    if (encode_seen_word(word, s, ids, &slot)) return;
    size_t first_id = ids->size();
    encode_word(t, word, s, ids);
    encode_remember_word(word, first_id, *ids, s, slot);
}

static llm_status encode_well_formed(const tokenizer *t, std::string_view text, encode_scratch *s,
                                     std::vector<int32_t> *ids, llm_error *err) {
    if (t->normalize_nfc && normalize_nfc(text, &s->codes, &s->normalized)) {
        text = s->normalized;
        s->generation++;
    }
    LLM_TRY(pre_tokenize(t->pre.get(), text, s->pre.get(), &s->ends, err));
    size_t begin = 0;
    for (uint32_t end : s->ends) {
        std::string_view line = text.substr(begin, end - begin);
        begin = end;
        if (t->kind == vocab_kind::bpe) {
            encode_word_once(t, line, s, ids);
            continue;
        }
        for (size_t at = 0, word_end; at < line.size(); at = word_end) {
            word_end = space_word_end(t, line, at);
            encode_word_once(t, line.substr(at, word_end - at), s, ids);
        }
    }
    return LLM_OK;
}

llm_status encode_bpe(const tokenizer *t, std::string_view text, encode_scratch *s, std::vector<int32_t> *ids,
                      llm_error *err) {
    if (t->kind == vocab_kind::raw) {
        text = with_space_marks(text, false, &s->marked);
        s->generation++;
    }
    while (!text.empty()) {
        size_t n = utf8_well_formed_prefix(text);
        if (n > 0) LLM_TRY(encode_well_formed(t, text.substr(0, n), s, ids, err));
        text.remove_prefix(n);
        for (n = 0; n < text.size();) { // ill-formed bytes up to the next character are a word of their own
            utf8_char c = utf8_next(text.data() + n, text.data() + text.size());
            if (c.well_formed) break;
            n += c.n;
        }
        if (n > 0) encode_word(t, text.substr(0, n), s, ids);
        text.remove_prefix(n);
    }
    return LLM_OK;
}

} // namespace llm

// Loading of a vocabulary: vocab.cpp reads tokens, scores and merges, vocab_special.cpp what is special among the
// tokens.
#pragma once
#include "text/vocab.h"

namespace llm {

// tokenizer.ggml.model, and the ids that a file need not name.
struct kind_row {
    const char *model;
    vocab_kind kind;
    int32_t bos, eos, unk, sep, pad;
    bool add_bos, add_eos, add_sep;
};

struct vocab_loader {
    const gguf_file *file;
    const char *pre_override;
    const log_sink *log;
    llm_error *err;
    std::string_view architecture;
    const kind_row *kind = nullptr;
    const pre_row *row = nullptr;
    tokenizer *t;
};

inline int32_t find_text(const tokenizer *t, std::string_view text) {
    return text_index_find(t->by_text, t->texts, text);
}
inline bool is_type(const tokenizer *t, int32_t id, token_type type) { return id >= 0 && t->types[size_t(id)] == type; }
inline bool is_special_type(const tokenizer *t, int32_t id) {
    return is_type(t, id, token_type::control) || is_type(t, id, token_type::unknown);
}
void append_with_spaces(std::string_view text, std::string *out); // U+2581 -> ' '

// Also settles which tokens are control tokens: everything that is built of the others comes after it.
void vocab_read_special(vocab_loader *l);
void vocab_read_additions(vocab_loader *l); // what tokenize() adds to a text
void vocab_mark_space_eaters(vocab_loader *l);
void vocab_collect_added(tokenizer *t);
int32_t vocab_find_line_end(const tokenizer *t); // when all else is loaded

} // namespace llm

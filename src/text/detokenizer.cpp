#include "text/utf8.h"
#include "text/vocab.h"
#include <string.h>

namespace llm {

// The piece as it stands in a text: the first one that says anything loses the space that the vocabulary put before it.
static std::string_view next_piece(const tokenizer *t, int32_t id, bool show_control, bool *at_start) {
    std::string_view piece = tokenizer_piece(t, id, show_control);
    if (piece.empty() || !*at_start) return piece;
    *at_start = false;
    if (t->add_space_prefix && piece[0] == ' ') piece.remove_prefix(1);
    return piece;
}

void detokenize(const tokenizer *t, const int32_t *ids, size_t n, bool show_control, std::string *out) {
    bool at_start = true;
    for (size_t i = 0; i < n; i++) out->append(next_piece(t, ids[i], show_control, &at_start));
}

// Gives out what of the held bytes is decided.
static void release(detok_stream *s, std::string *out) {
    char *held = reinterpret_cast<char *>(s->held);
    while (s->n_held > 0) {
        utf8_char c = utf8_next(held, held + s->n_held);
        if (c.incomplete) return;
        if (c.well_formed)
            out->append(held, c.n);
        else
            utf8_append(out, replacement_character);
        s->n_held = uint8_t(s->n_held - c.n);
        memmove(held, held + c.n, s->n_held);
    }
}

void detok_stream_add(detok_stream *s, int32_t id, std::string *out) {
    std::string_view piece = next_piece(s->vocab, id, s->show_control, &s->at_start);
    while (!piece.empty()) {
        if (s->n_held == 0) {
            size_t whole = utf8_well_formed_prefix(piece);
            out->append(piece.substr(0, whole));
            piece.remove_prefix(whole);
            if (piece.empty()) break;
        }
        s->held[s->n_held++] = uint8_t(piece[0]);
        piece.remove_prefix(1);
        release(s, out);
    }
}

void detok_stream_finish(detok_stream *s, std::string *out) {
    if (s->n_held > 0) utf8_append(out, replacement_character);
    s->n_held = 0;
}

} // namespace llm

// Text to token ids and back. A tokenizer is immutable after loading and shared by all threads.
#pragma once
#include "core/status.h"
#include "gguf/gguf.h"
#include <string>
#include <string_view>
#include <vector>

namespace llm {

struct tokenizer; // opaque: src/text/tokenizer.cpp

struct tokenizer_ids { // -1: the vocabulary has none
    int32_t bos = -1, eos = -1, unk = -1, sep = -1, pad = -1, nl = -1, eot = -1;
};

// Reads tokenizer.ggml.* of a model or vocab-only file. An unknown tokenizer.ggml.pre is LLM_ERR_UNSUPPORTED with the
// name in the sentence, unless `pre_override` (may be NULL) names a known one.
llm_status tokenizer_load(const gguf_file *file, const char *pre_override, const log_sink *log, tokenizer **out,
                          llm_error *err);
void tokenizer_free(tokenizer *t);

size_t tokenizer_n_tokens(const tokenizer *t);
const tokenizer_ids *tokenizer_special(const tokenizer *t);
bool tokenizer_adds_bos(const tokenizer *t);
bool tokenizer_adds_eos(const tokenizer *t);
bool tokenizer_adds_sep(const tokenizer *t);
bool tokenizer_is_eog(const tokenizer *t, int32_t id);     // ends a generation
bool tokenizer_is_control(const tokenizer *t, int32_t id); // not shown to users
// Id whose stored text is exactly `text` (control and user-defined tokens included); -1 when there is none.
int32_t tokenizer_find(const tokenizer *t, std::string_view text);

struct tokenize_options {
    bool add_special = false;   // BOS, EOS and separator as the vocabulary asks
    bool parse_special = false; // control tokens written in the text become control ids; else they are plain text
    // User-defined tokens are recognised either way.
    bool continues = false; // the text goes on a text before it: no space prefix at its start
};

// Appends the ids of `text` (any bytes, NUL and invalid UTF-8 included). Total, and linear in the length times a log.
// note: byte-level vocabularies encode ill-formed UTF-8 as the bytes it is, cut off from the text around it;
// SentencePiece vocabularies as byte tokens. So decoding gives the same bytes back wherever the vocabulary has tokens
// for all bytes; a byte it cannot express is left out (byte-level) or becomes the unknown token. On failure *ids is as
// before.
llm_status tokenize(const tokenizer *t, std::string_view text, const tokenize_options *options,
                    std::vector<int32_t> *ids, llm_error *err);

// Bytes of one token as they stream: control tokens give nothing unless `show_control`; ids out of range give nothing.
// note: the single leading space that SentencePiece vocabularies with add_space_prefix put before a text is not removed
// here but by detokenize() and detok_stream, from the first token that says anything. So for a text without control
// tokens, which add the space once more each, detokenize(tokenize(text)) is the text.
std::string_view tokenizer_piece(const tokenizer *t, int32_t id, bool show_control);

// Whole texts, as bytes. Where `ids` make well-formed UTF-8, the pieces of detok_stream joined are the same; elsewhere
// they are the same with U+FFFD for each ill-formed subpart.
void detokenize(const tokenizer *t, const int32_t *ids, size_t n, bool show_control, std::string *out);

// Emits only whole UTF-8 characters: bytes that may still become one are held back (at most three), bytes that never
// can pass through at once as U+FFFD. Raw bytes are available from tokenizer_piece.
struct detok_stream {
    const tokenizer *vocab = nullptr;
    bool show_control = false;
    bool at_start = true; // the space prefix may still have to be removed; false where ids continue a text
    uint8_t held[4] = {0, 0, 0, 0};
    uint8_t n_held = 0;
};
void detok_stream_add(detok_stream *s, int32_t id, std::string *out);
void detok_stream_finish(detok_stream *s, std::string *out); // an unfinished tail becomes one U+FFFD

} // namespace llm

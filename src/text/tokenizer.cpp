#include "text/tokenizer.h"
#include "text/encode.h"
#include "text/unicode.h"
#include "text/utf8.h"
#include <limits.h>

namespace llm {

size_t tokenizer_n_tokens(const tokenizer *t) { return t->texts.size(); }
const tokenizer_ids *tokenizer_special(const tokenizer *t) { return &t->special; }
bool tokenizer_adds_bos(const tokenizer *t) { return t->add_bos; }
bool tokenizer_adds_eos(const tokenizer *t) { return t->add_eos; }
bool tokenizer_adds_sep(const tokenizer *t) { return t->add_sep; }

static bool in_range(const tokenizer *t, int32_t id) { return id >= 0 && size_t(id) < t->texts.size(); }

bool tokenizer_is_eog(const tokenizer *t, int32_t id) {
    return in_range(t, id) && t->flags[size_t(id)] & TOKEN_ENDS_GENERATION;
}

bool tokenizer_is_control(const tokenizer *t, int32_t id) {
    return in_range(t, id) &&
           (t->types[size_t(id)] == token_type::control || t->types[size_t(id)] == token_type::unknown);
}

int32_t tokenizer_find(const tokenizer *t, std::string_view text) {
    return text_index_find(t->by_text, t->texts, text);
}

std::string_view tokenizer_piece(const tokenizer *t, int32_t id, bool show_control) {
    if (!in_range(t, id) || (!show_control && tokenizer_is_control(t, id))) return {};
    return t->pieces[size_t(id)];
}

static size_t skip_white_space(std::string_view text, size_t at) {
    for (utf8_char c; at < text.size(); at += c.n) {
        c = utf8_next(text.data() + at, text.data() + text.size());
        if (!c.well_formed || !is_white_space(c.code)) break;
    }
    return at;
}

static std::string_view without_white_space_at_end(std::string_view text) {
    while (!text.empty()) {
        size_t at = text.size() - 1;
        while (at > 0 && text.size() - at < 4 && (uint8_t(text[at]) & 0xC0) == 0x80) at--;
        utf8_char c = utf8_next(text.data() + at, text.data() + text.size());
        if (!c.well_formed || c.n != text.size() - at || !is_white_space(c.code)) break;
        text.remove_suffix(c.n);
    }
    return text;
}

static std::string_view marks_to_spaces(std::string_view text, std::string *out) {
    if (text.find(space_mark) == std::string_view::npos) return text;
    for (size_t at = 0, mark; at < text.size(); at = mark + space_mark.size()) {
        mark = text.find(space_mark, at);
        out->append(text.substr(at, mark - at));
        if (mark == std::string_view::npos) break;
        out->push_back(' ');
    }
    return *out;
}

static llm_status encode_plain(const tokenizer *t, std::string_view text, bool after_special, encode_scratch *s,
                               std::vector<int32_t> *ids, llm_error *err) {
    switch (t->kind) {
    case vocab_kind::spm: return encode_spm(t, text, after_special, s, ids, err);
    case vocab_kind::unigram: return encode_unigram(t, text, after_special, s, ids, err);
    case vocab_kind::wordpiece: encode_wordpiece(t, text, s, ids); return LLM_OK;
    default: return encode_bpe(t, text, s, ids, err);
    }
}

static llm_status encode_all(const tokenizer *t, std::string_view text, const tokenize_options *options,
                             std::vector<int32_t> *ids, llm_error *err) {
    encode_scratch s;
    encode_scratch_prepare(&s, text.size());
    s.pre.reset(pre_scratch_create());
    if (!s.pre) return fail(err, LLM_ERR_NOMEM, "tokenizing %zu bytes: no memory", text.size());
    std::string spaced;
    if (marks_are_spaces(t)) text = marks_to_spaces(text, &spaced);
    bool after_special = !options->continues;
    for (size_t at = 0; at < text.size();) {
        added_match match = added_tokens_find(t->added, text, at, options->parse_special);
        std::string_view plain = text.substr(at, match.at - at);
        if (match.id >= 0 && t->flags[size_t(match.id)] & TOKEN_EATS_SPACE_BEFORE)
            plain = without_white_space_at_end(plain);
        if (!plain.empty()) LLM_TRY(encode_plain(t, plain, after_special, &s, ids, err));
        if (match.id < 0) break;
        ids->push_back(match.id);
        after_special = true;
        at = match.at + match.n;
        if (t->flags[size_t(match.id)] & TOKEN_EATS_SPACE_AFTER) at = skip_white_space(text, at);
    }
    return LLM_OK;
}

// EOS and separator are one and the same token in some vocabularies: it comes once.
static void push_end(const tokenizer *t, std::vector<int32_t> *ids) {
    bool eos = t->add_eos && t->special.eos >= 0;
    if (eos) ids->push_back(t->special.eos);
    if (t->add_sep && t->special.sep >= 0 && !(eos && t->special.sep == t->special.eos)) ids->push_back(t->special.sep);
}

llm_status tokenize(const tokenizer *t, std::string_view text, const tokenize_options *options,
                    std::vector<int32_t> *ids, llm_error *err) {
    if (text.size() > INT32_MAX / 4)
        return fail(err, LLM_ERR_ARGUMENT, "text of %zu bytes: at most %d can be tokenized at once", text.size(),
                    INT32_MAX / 4);
    size_t n_before = ids->size();
    if (options->add_special && t->add_bos && t->special.bos >= 0) ids->push_back(t->special.bos);
    llm_status status = encode_all(t, text, options, ids, err);
    if (status != LLM_OK) {
        ids->resize(n_before);
        return status;
    }
    if (options->add_special) push_end(t, ids);
    return LLM_OK;
}

} // namespace llm

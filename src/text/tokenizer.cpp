#include "text/tokenizer.h"
#include "text/encode.h"
#include <limits.h>

namespace llm {

size_t tokenizer_n_tokens(const tokenizer *t) { return t->texts.size(); }
const tokenizer_ids *tokenizer_special(const tokenizer *t) { return &t->special; }
bool tokenizer_adds_bos(const tokenizer *t) { return t->add_bos; }
bool tokenizer_adds_eos(const tokenizer *t) { return t->add_eos; }

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
    while (at < text.size() && (text[at] == ' ' || (text[at] >= '\t' && text[at] <= '\r'))) at++;
    return at;
}

// Vocabularies that write a space as U+2581 cannot tell the two apart.
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

static llm_status encode_all(const tokenizer *t, std::string_view text, const tokenize_options *options,
                             std::vector<int32_t> *ids, llm_error *err) {
    encode_scratch s;
    encode_scratch_prepare(&s, text.size());
    s.pre.reset(pre_scratch_create());
    if (!s.pre) return fail(err, LLM_ERR_NOMEM, "tokenizing %zu bytes: no memory", text.size());
    std::string spaced;
    if (t->kind != vocab_kind::bpe) text = marks_to_spaces(text, &spaced);
    bool after_special = !options->continues;
    for (size_t at = 0; at < text.size();) {
        added_match match = added_tokens_find(t->added, text, at, options->parse_special);
        std::string_view plain = text.substr(at, match.at - at);
        if (t->kind == vocab_kind::spm) {
            if (!plain.empty()) LLM_TRY(encode_spm(t, plain, after_special, &s, ids, err));
        } else {
            LLM_TRY(encode_bpe(t, plain, &s, ids, err));
        }
        if (match.id < 0) break;
        ids->push_back(match.id);
        after_special = true;
        at = match.at + match.n;
        if (t->flags[size_t(match.id)] & TOKEN_EATS_SPACE_AFTER) at = skip_white_space(text, at);
    }
    return LLM_OK;
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
    if (options->add_special && t->add_eos && t->special.eos >= 0) ids->push_back(t->special.eos);
    return LLM_OK;
}

} // namespace llm

#include "api/objects.h"

namespace llm {

namespace {

llm_status vocab_of(const llm_model *model, const tokenizer **out, llm_error *err) {
    if (!model) return fail(err, LLM_ERR_ARGUMENT, "the model is NULL");
    *out = model->m->vocab;
    if (*out) return LLM_OK;
    if (err) *err = model->m->vocab_error;
    return model->m->vocab_error.code;
}

} // namespace

} // namespace llm

using namespace llm;

llm_status llm_tokenize(const llm_model *model, const char *text, size_t length, uint32_t flags, llm_token *ids,
                        size_t capacity, size_t *n_ids, llm_error *err) {
    return api_run(err, [&] {
        const tokenizer *vocab;
        LLM_TRY(vocab_of(model, &vocab, err));
        if ((!text && length) || (!ids && capacity)) return fail(err, LLM_ERR_ARGUMENT, "text or ids is NULL");
        tokenize_options options;
        options.add_special = flags & LLM_TOKENIZE_ADD_SPECIAL;
        options.parse_special = flags & LLM_TOKENIZE_PARSE_SPECIAL;
        std::vector<int32_t> found;
        LLM_TRY(tokenize(vocab, std::string_view(text ? text : "", length), &options, &found, err));
        return api_give(found.data(), found.size(), ids, capacity, n_ids, err);
    });
}

llm_status llm_detokenize(const llm_model *model, const llm_token *ids, size_t n_ids, bool show_control, char *text,
                          size_t capacity, size_t *length, llm_error *err) {
    return api_run(err, [&] {
        const tokenizer *vocab;
        LLM_TRY(vocab_of(model, &vocab, err));
        if ((!ids && n_ids) || (!text && capacity)) return fail(err, LLM_ERR_ARGUMENT, "text or ids is NULL");
        std::string out;
        detokenize(vocab, ids, n_ids, show_control, &out);
        return api_give(out.data(), out.size(), text, capacity, length, err);
    });
}

const char *llm_token_piece(const llm_model *model, llm_token id, bool show_control, size_t *length) {
    std::string_view piece;
    if (model && model->m->vocab) piece = tokenizer_piece(model->m->vocab, id, show_control);
    if (length) *length = piece.size();
    return piece.data() ? piece.data() : "";
}

llm_token llm_token_special(const llm_model *model, llm_special which) {
    if (!model || !model->m->vocab) return -1;
    const tokenizer_ids *ids = tokenizer_special(model->m->vocab);
    switch (which) {
    case LLM_SPECIAL_BOS: return ids->bos;
    case LLM_SPECIAL_EOS: return ids->eos;
    case LLM_SPECIAL_EOT: return ids->eot;
    case LLM_SPECIAL_UNK: return ids->unk;
    case LLM_SPECIAL_PAD: return ids->pad;
    case LLM_SPECIAL_NL: return ids->nl;
    case LLM_SPECIAL_SEP: return ids->sep;
    }
    return -1;
}

bool llm_token_is_eog(const llm_model *model, llm_token id) {
    return model && model->m->vocab && tokenizer_is_eog(model->m->vocab, id);
}
bool llm_token_is_control(const llm_model *model, llm_token id) {
    return model && model->m->vocab && tokenizer_is_control(model->m->vocab, id);
}
bool llm_adds_bos(const llm_model *model) { return model && model->m->vocab && tokenizer_adds_bos(model->m->vocab); }

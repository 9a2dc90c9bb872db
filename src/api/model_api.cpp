#include "api/objects.h"
#include "api/model_api.h"
#include "api/pool_api.h"
#include "model/family.h"
#include <string.h>

namespace llm {

namespace {

bool forward_progress(void *user, float fraction) {
    auto *o = (const llm_model_options *)user;
    return o->progress(o->progress_user, fraction);
}

llm_status load(gguf_file *file, const llm_model_options *o, llm_model **out, llm_error *err) {
    std::unique_ptr<gguf_file, void (*)(gguf_file *)> close(file, gguf_close);
    model_load_options inner;
    LLM_TRY(model_options_read(o, &inner, err));
    std::unique_ptr<llm_model> made(new llm_model);
    close.release();
    LLM_TRY(model_load(file, &inner, &made->m, err));
    *out = made.release();
    return LLM_OK;
}

// Every way to load: `open` fills the gguf_file.
template <class Open>
llm_status load_by(Open open, const llm_model_options *options, llm_model **out, llm_error *err) {
    return api_run(err, [&] {
        if (!out) return fail(err, LLM_ERR_ARGUMENT, "out is NULL");
        llm_model_options o;
        LLM_TRY(read_options(options, "llm_model_options", &o, err));
        gguf_file file;
        LLM_TRY(open(&file));
        return load(&file, &o, out, err);
    });
}

} // namespace

llm_status tier_find(const char *name, const backend **out, llm_error *err) {
    *out = nullptr;
    if (!name) return LLM_OK;
    const backend *b = backend_find(name);
    if (!b) return fail(err, LLM_ERR_UNSUPPORTED, "CPU tier \"%s\" is not part of this build", name);
    if (!b->available()) return fail(err, LLM_ERR_UNSUPPORTED, "this machine cannot run CPU tier \"%s\"", name);
    *out = b;
    return LLM_OK;
}

llm_status model_options_read(const llm_model_options *o, model_load_options *out, llm_error *err) {
    LLM_TRY(tier_find(o->cpu_tier, &out->cpu, err));
    out->threads = o->pool ? o->pool->p : nullptr;
    out->n_threads = o->n_threads;
    out->mem_limit = o->mem_limit;
    out->vocab_only = o->vocab_only;
    out->no_map = o->no_map;
    out->tokenizer_pre = o->tokenizer_pre;
    if (o->progress) out->steps = {forward_progress, (void *)o};
    out->log = {o->log, o->log_user};
    out->allocator = o->allocator;
    return LLM_OK;
}

} // namespace llm

using namespace llm;

llm_status llm_model_load(const char *path, const llm_model_options *options, llm_model **out, llm_error *err) {
    return load_by(
        [&](gguf_file *file) {
            if (!path) return fail(err, LLM_ERR_ARGUMENT, "path is NULL");
            return gguf_open(path, file, err);
        },
        options, out, err);
}

llm_status llm_model_load_fd(int fd, uint64_t offset, uint64_t length, const llm_model_options *options,
                             llm_model **out, llm_error *err) {
    return load_by(
        [&](gguf_file *file) {
            file_source source;
            LLM_TRY(file_from_descriptor(fd, offset, length, &source, err));
            return gguf_open_source(source, file, err);
        },
        options, out, err);
}

llm_status llm_model_load_buffer(const void *data, size_t size, const llm_model_options *options, llm_model **out,
                                 llm_error *err) {
    return load_by(
        [&](gguf_file *file) {
            if (!data && size) return fail(err, LLM_ERR_ARGUMENT, "data is NULL");
            return gguf_open_source(file_from_memory(data, size), file, err);
        },
        options, out, err);
}

void llm_model_free(llm_model *model) {
    if (!model) return;
    model_release(model->m);
    delete model;
}

llm_status llm_model_get_info(const llm_model *model, llm_model_info *out, llm_error *err) {
    return api_run(err, [&] {
        if (!model || !out) return fail(err, LLM_ERR_ARGUMENT, "model or out is NULL");
        const llm::model *m = model->m;
        llm_model_info info = {};
        info.size = out->size;
        info.architecture = m->architecture.c_str();
        info.name = m->name.c_str();
        info.cpu_tier = m->cpu ? m->cpu->name : "";
        info.chat_template = m->has_template ? m->chat_template.c_str() : nullptr;
        info.n_params = m->n_params;
        info.weight_bytes = m->vocab_only ? 0 : model_weight_bytes(m);
        info.hash = m->hash;
        info.n_layer = (uint32_t)m->h.n_layer;
        info.n_embd = (uint32_t)m->h.n_embd;
        info.n_vocab = (uint32_t)(m->vocab_only && m->vocab ? tokenizer_n_tokens(m->vocab) : m->h.n_vocab);
        info.n_ctx_train = (uint32_t)m->h.n_ctx_train;
        info.n_head = (uint32_t)m->h.n_head;
        info.n_head_kv = (uint32_t)m->h.n_head_kv;
        size_t size = out->size && out->size < sizeof info ? out->size : sizeof info;
        memcpy((void *)out, &info, size);
        return LLM_OK;
    });
}

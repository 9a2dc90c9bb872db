// Loading, stage by stage: what the model is, its vocabulary, its weights.
#include "model/loading.h"

namespace llm {

namespace {

uint64_t fnv1a(uint64_t hash, const void *data, size_t n) {
    for (size_t i = 0; i < n; i++) hash = (hash ^ ((const uint8_t *)data)[i]) * 1099511628211ull;
    return hash;
}

// Keys that say how a file is laid out and not what the model is: packed or joined, it stays the same model.
bool key_is_about_storage(const std::string &key) {
    return key == "general.alignment" || key.compare(0, 6, "split.") == 0 || key.compare(0, 14, "libllm.packed.") == 0;
}

uint64_t header_memory(const gguf_file *file) {
    uint64_t bytes = file->tensors.size() * sizeof(gguf_tensor);
    for (const auto &entry : file->metadata)
        bytes += sizeof entry + entry.second.data.capacity() + entry.second.text.capacity() +
                 entry.second.strings.capacity() * sizeof(std::string_view);
    return bytes;
}

uint64_t hash_headers(const gguf_file *file) {
    uint64_t hash = 1469598103934665603ull;
    for (const auto &entry : file->metadata) {
        if (key_is_about_storage(entry.first)) continue;
        hash = fnv1a(hash, entry.first.data(), entry.first.size());
        hash = fnv1a(hash, entry.second.data.data(), entry.second.data.size());
        hash = fnv1a(hash, entry.second.text.data(), entry.second.text.size());
    }
    for (const gguf_tensor &t : file->tensors) {
        hash = fnv1a(hash, t.name.data(), t.name.size());
        hash = fnv1a(hash, t.shape, sizeof t.shape);
        hash = fnv1a(hash, &t.format, sizeof t.format);
    }
    return hash;
}

llm_status load_vocab(loader *l, llm_error *err) {
    model *m = l->m;
    llm_status status = tokenizer_load(l->file, l->options->tokenizer_pre, &m->log, &m->vocab, &m->vocab_error);
    // A model whose text side is unknown can still be run on ids; calls that need text give this error then.
    if (status == LLM_OK) return LLM_OK;
    if (status == LLM_ERR_UNSUPPORTED && !m->vocab_only) {
        log_line(&m->log, LLM_LOG_WARNING, "%s", m->vocab_error.message);
        return LLM_OK;
    }
    if (err) *err = m->vocab_error;
    return status;
}

llm_status read_identity(loader *l, llm_error *err) {
    model *m = l->m;
    std::string_view architecture;
    LLM_TRY(gguf_get_string(l->file, "general.architecture", &architecture, err));
    m->architecture = std::string(architecture);
    m->name = std::string(gguf_string_or(l->file, "general.name", ""));
    m->has_template = gguf_find(l->file, "tokenizer.chat_template") != nullptr;
    m->chat_template = std::string(gguf_string_or(l->file, "tokenizer.chat_template", ""));
    m->hash = hash_headers(l->file);
    m->metadata_bytes = header_memory(l->file);
    return LLM_OK;
}

llm_status read_shape(loader *l, llm_error *err) {
    model *m = l->m;
    m->kind = family_find(m->architecture);
    if (!m->kind)
        return fail(err, LLM_ERR_UNSUPPORTED, "architecture \"%s\" is not supported by this build",
                    m->architecture.c_str());
    LLM_TRY(hparams_read(l->file, m->architecture, family_eps(m->kind), &m->kind->rules, &m->h, err));
    if (m->kind->parameters) LLM_TRY(m->kind->parameters(l->file, &m->h, err));
    // A layer count that the file cannot hold would size tables: each layer has at least one tensor.
    if (m->h.n_layer > l->file->tensors.size())
        return fail(err, LLM_ERR_DAMAGED, "%s.block_count is %llu, but the file has only %zu tensors",
                    m->architecture.c_str(), (unsigned long long)m->h.n_layer, l->file->tensors.size());
    const gguf_tensor *embedding = gguf_find_tensor(l->file, role_find(ROLE_TOKEN_EMBD)->name);
    if (!embedding)
        return fail(err, LLM_ERR_DAMAGED, "tensor \"token_embd.weight\" is missing%s",
                    l->file->tensors.empty() ? ": the file holds a vocabulary only" : "");
    m->h.n_vocab = embedding->shape[1];
    if (m->h.n_vocab == 0 || m->h.n_vocab > (1u << 30))
        return fail(err, LLM_ERR_DAMAGED, "token_embd.weight has %llu rows; expected 1 to 2^30",
                    (unsigned long long)m->h.n_vocab);
    return LLM_OK;
}

} // namespace

llm_status load_description(loader *l, llm_error *err) {
    LLM_TRY(read_identity(l, err));
    if (l->m->vocab_only) return LLM_OK;
    LLM_TRY(read_shape(l, err));
    return resolve_weights(l, err);
}

model *new_model(const model_load_options *options) {
    model *m = new model;
    m->vocab_only = options->vocab_only;
    m->log = options->log;
    m->allocator = memory_allocator(options->allocator);
    m->cpu = options->cpu ? options->cpu : backend_best();
    return m;
}

namespace {

using step_list = llm_status (*const *)(loader *, llm_error *);

llm_status run_steps(gguf_file *file, const model_load_options *options, step_list steps, size_t n, model **out,
                     llm_error *err) {
    std::unique_ptr<gguf_file, void (*)(gguf_file *)> close(file, gguf_close);
    std::unique_ptr<model, void (*)(model *)> m(new_model(options), model_release);
    loader l = {file, options, m.get(), {}, {}};
    for (const std::string &warning : file->warnings) log_line(&m->log, LLM_LOG_WARNING, "%s", warning.c_str());
    for (size_t i = 0; i < n; i++) LLM_TRY(steps[i](&l, err));
    *out = m.release();
    return LLM_OK;
}

} // namespace

llm_status model_load(gguf_file *file, const model_load_options *options, model **out, llm_error *err) {
    llm_status (*const all[])(loader *, llm_error *) = {load_description, load_vocab, stream_weights};
    return run_steps(file, options, all, options->vocab_only ? 2 : 3, out, err);
}

llm_status model_describe(gguf_file *file, const model_load_options *options, model **out, llm_error *err) {
    llm_status (*const only[])(loader *, llm_error *) = {load_description};
    return run_steps(file, options, only, 1, out, err);
}

} // namespace llm

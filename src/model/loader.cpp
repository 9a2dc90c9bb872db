// Loading in two steps: resolve every weight of the family's table to rows of a tensor and check its shape; then stream
// the rows slab by slab from the file through the backend's packing into one allocation, on all threads. Weights are
// never in memory twice; at most one slab per thread is beside them.
#include "core/fmath.h"
#include "model/family.h"
#include <algorithm>
#include <mutex>
#include <string.h>

namespace llm {

namespace {

constexpr uint64_t SLAB_BYTES = (uint64_t)4 << 20;

// Rows of a file's tensor that a weight is made of.
struct row_range {
    const gguf_tensor *tensor = nullptr;
    uint64_t first = 0;
};

struct loader {
    const gguf_file *file;
    const model_load_options *options;
    model *m;
    std::vector<row_range> matrix_source; // beside model::matrices
    std::vector<size_t> vector_at;        // beside model::vectors: where in vector_data, which grows meanwhile
};

uint64_t fnv1a(uint64_t hash, const void *data, size_t n) {
    for (size_t i = 0; i < n; i++) hash = (hash ^ ((const uint8_t *)data)[i]) * 1099511628211ull;
    return hash;
}

uint64_t hash_headers(const gguf_file *file) {
    uint64_t hash = 1469598103934665603ull;
    for (const auto &entry : file->metadata) {
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

std::string tensor_name(role id, uint32_t layer, const char *name) {
    return role_is_per_layer(id) ? layer_name(layer, name) : std::string(name);
}

std::string shape_text(const gguf_tensor *t) {
    std::string text = "[";
    for (uint32_t i = t->n_dims; i-- > 0;) text += std::to_string(t->shape[i]) + (i ? ", " : "]");
    return text;
}

llm_status check_shape(const gguf_tensor *t, uint64_t rows, uint64_t cols, llm_error *err) {
    bool vector = cols == 0;
    bool fits = vector ? t->shape[0] == rows && t->shape[1] == 1 : t->shape[0] == cols && t->shape[1] == rows;
    if (fits && t->shape[2] == 1 && t->shape[3] == 1) return LLM_OK;
    std::string expected = "[" + std::to_string(rows) + (vector ? "]" : ", " + std::to_string(cols) + "]");
    return fail(err, LLM_ERR_DAMAGED, "tensor \"%s\" has shape %s; expected %s", t->name.c_str(),
                shape_text(t).c_str(), expected.c_str());
}

llm_status check_format(const gguf_tensor *t, llm_error *err) {
    const block_format *format = format_by_id(t->format);
    if (format && format->dequantise) return LLM_OK;
    return fail(err, LLM_ERR_UNSUPPORTED, "tensor \"%s\" has format %s, which is not supported by this build",
                t->name.c_str(), format ? format->name : std::to_string(t->format).c_str());
}

// Finds the tensor of a role by its own name, else as part of a fused one. Not there: out->tensor is NULL.
llm_status find_rows(const loader *l, const role_row *row, uint32_t layer, row_range *out, llm_error *err) {
    const hparams *h = &l->m->h;
    uint64_t rows = dimension_of(h, row->rows), cols = row->kind == ROLE_MATRIX ? dimension_of(h, row->cols) : 0;
    *out = row_range();
    const gguf_tensor *t = gguf_find_tensor(l->file, tensor_name(row->id, layer, row->name));
    if (!t && row->fused_name) {
        t = gguf_find_tensor(l->file, tensor_name(row->id, layer, row->fused_name));
        if (!t) return LLM_OK;
        for (dimension before : row->rows_before)
            if (before != DIM_ONE) out->first += dimension_of(h, before);
        rows = dimension_of(h, DIM_Q) + dimension_of(h, DIM_K) + dimension_of(h, DIM_V);
    }
    if (!t) return LLM_OK;
    LLM_TRY(check_shape(t, rows, cols, err));
    LLM_TRY(check_format(t, err));
    out->tensor = t;
    return LLM_OK;
}

llm_status read_vector(loader *l, const role_row *row, const row_range &from, weight_vector *out, llm_error *err) {
    const block_format *format = format_by_id(from.tensor->format);
    out->name = from.tensor->name;
    out->n = dimension_of(&l->m->h, row->rows);
    uint64_t total = from.tensor->shape[0];
    std::vector<uint8_t> raw(from.tensor->bytes);
    std::vector<float> values(total);
    LLM_TRY(file_read(&l->file->parts[from.tensor->file], from.tensor->offset, raw.data(), raw.size(), err));
    format->dequantise(raw.data(), values.data(), total);
    l->vector_at.push_back(l->m->vector_data.size());
    l->m->vector_data.insert(l->m->vector_data.end(), values.begin() + (ptrdiff_t)from.first,
                             values.begin() + (ptrdiff_t)(from.first + out->n));
    return LLM_OK;
}

llm_status resolve_weight(loader *l, const family_weight &wanted, uint32_t layer, llm_error *err) {
    const role_row *row = role_find(wanted.id);
    model *m = l->m;
    size_t slot = (size_t)(role_is_per_layer(row->id) ? layer + 1 : 0) * ROLE_COUNT + row->id;
    row_range from;
    LLM_TRY(find_rows(l, row, layer, &from, err));
    if (!from.tensor) {
        if (!wanted.required) return LLM_OK;
        return fail(err, LLM_ERR_DAMAGED, "tensor \"%s\" is missing; a model of architecture %s needs it",
                    tensor_name(row->id, layer, row->name).c_str(), m->architecture.c_str());
    }
    m->n_params += dimension_of(&m->h, row->rows) * (row->kind == ROLE_MATRIX ? dimension_of(&m->h, row->cols) : 1);
    if (row->kind == ROLE_VECTOR) {
        m->vectors.emplace_back();
        m->vector_of[slot] = &m->vectors.back();
        return read_vector(l, row, from, &m->vectors.back(), err);
    }
    m->matrices.emplace_back();
    weight *w = &m->matrices.back();
    w->name = from.tensor->name;
    w->format = format_by_id(from.tensor->format);
    w->rows = dimension_of(&m->h, row->rows);
    w->cols = dimension_of(&m->h, row->cols);
    m->matrix_of[slot] = w;
    l->matrix_source.push_back(from);
    if (m->cpu->supports(w->format)) return LLM_OK;
    return fail(err, LLM_ERR_UNSUPPORTED, "tensor \"%s\" has format %s, which the CPU tier %s does not support",
                w->name.c_str(), w->format->name, m->cpu->name);
}

llm_status check_rope_factors(const model *m, llm_error *err) {
    const weight_vector *factors = model_vector(m, ROLE_ROPE_FREQS);
    if (!factors) return LLM_OK;
    for (uint64_t i = 0; i < factors->n; i++)
        if (!(factors->data[i] >= 1e-6f && factors->data[i] <= 1e6f))
            return fail(err, LLM_ERR_DAMAGED, "%s[%llu] is %g; expected 1e-6 to 1e6", factors->name.c_str(),
                        (unsigned long long)i, (double)factors->data[i]);
    return LLM_OK;
}

llm_status resolve_weights(loader *l, llm_error *err) {
    model *m = l->m;
    m->matrix_of.assign((m->h.n_layer + 1) * ROLE_COUNT, nullptr);
    m->vector_of.assign((m->h.n_layer + 1) * ROLE_COUNT, nullptr);
    for (size_t i = 0; const family_weight *wanted = family_weight_at(m->kind, i); i++) {
        uint32_t n = role_is_per_layer(wanted->id) ? (uint32_t)m->h.n_layer : 1;
        for (uint32_t layer = 0; layer < n; layer++) LLM_TRY(resolve_weight(l, *wanted, layer, err));
    }
    for (size_t i = 0; i < m->vectors.size(); i++) m->vectors[i].data = m->vector_data.data() + l->vector_at[i];
    return check_rope_factors(m, err);
}

llm_status take_weights(loader *l, llm_error *err) {
    model *m = l->m;
    uint64_t total = model_weight_bytes(m), limit = l->options->mem_limit;
    if (limit && total > limit)
        return fail(err, LLM_ERR_BUDGET, "the weights need %llu bytes; the memory limit is %llu",
                    (unsigned long long)total, (unsigned long long)limit);
    LLM_TRY(memory_take(&m->allocator, LLM_MEMORY_WEIGHTS, total, false, "the weights", &m->weights, err));
    uint64_t at = 0;
    for (weight &w : m->matrices) {
        w.data = m->weights.data + at;
        at += m->cpu->weight_bytes(w.format, w.rows, w.cols);
    }
    return LLM_OK;
}

// One slab of the file: rows of one matrix.
struct slab {
    weight *w;
    row_range from;
    uint64_t row, n_rows;
};

struct streaming {
    loader *l;
    std::vector<slab> slabs;
    std::vector<std::vector<uint8_t>> staging; // per thread
    std::atomic<bool> stop{false};
    std::atomic<uint32_t> n_done{0};
    std::mutex lock;
    llm_error error = {};
};

void cut_into_slabs(streaming *s) {
    loader *l = s->l;
    for (size_t i = 0; i < l->m->matrices.size(); i++) {
        weight *w = &l->m->matrices[i];
        uint64_t row_bytes = format_bytes(w->format, w->cols), group = l->m->cpu->rows_per_group;
        uint64_t step = std::max<uint64_t>(SLAB_BYTES / row_bytes / group, 1) * group;
        for (uint64_t row = 0; row < w->rows; row += step)
            s->slabs.push_back({w, l->matrix_source[i], row, std::min(step, w->rows - row)});
    }
    std::stable_sort(s->slabs.begin(), s->slabs.end(), [](const slab &a, const slab &b) {
        return std::make_pair(a.from.tensor->file, a.from.tensor->offset) <
               std::make_pair(b.from.tensor->file, b.from.tensor->offset);
    });
}

llm_status load_slab(streaming *s, const slab &piece, uint32_t thread, llm_error *err) {
    const weight *w = piece.w;
    uint64_t row_bytes = format_bytes(w->format, w->cols), bytes = piece.n_rows * row_bytes;
    uint64_t offset = piece.from.tensor->offset + (piece.from.first + piece.row) * row_bytes;
    const file_source *source = &s->l->file->parts[piece.from.tensor->file];
    LLM_TRY(file_read(source, offset, s->staging[thread].data(), bytes, err));
    s->l->m->cpu->pack(w->format, w->rows, w->cols, piece.row, piece.n_rows, s->staging[thread].data(), w->data);
    file_forget(source, offset, bytes);
    return LLM_OK;
}

void stop_streaming(streaming *s, const llm_error &error) {
    std::lock_guard<std::mutex> lock(s->lock);
    if (!s->stop.exchange(true)) s->error = error;
}

void stream_slab(void *user, uint32_t, uint32_t chunk, uint32_t thread) {
    streaming *s = (streaming *)user;
    if (s->stop.load(std::memory_order_relaxed)) return;
    llm_error error = {};
    if (load_slab(s, s->slabs[chunk], thread, &error) != LLM_OK) return stop_streaming(s, error);
    float fraction = (float)(s->n_done.fetch_add(1) + 1) / (float)s->slabs.size();
    if (thread != 0 || go_on(&s->l->options->steps, fraction)) return;
    fail(&error, LLM_CANCELLED, "loading was cancelled");
    stop_streaming(s, error);
}

llm_status run_streaming(streaming *s, pool *threads, llm_error *err) {
    uint64_t largest = 0;
    for (const slab &piece : s->slabs)
        largest = std::max(largest, piece.n_rows * format_bytes(piece.w->format, piece.w->cols));
    s->staging.resize(pool_n_threads(threads));
    for (auto &buffer : s->staging) buffer.resize(largest);
    LLM_TRY(pool_reserve(threads, 1, err));
    uint32_t n_chunks = (uint32_t)s->slabs.size();
    pool_program program = {1, &n_chunks, stream_slab, s};
    LLM_TRY(pool_execute(threads, &program, pool_n_threads(threads), err));
    if (!s->stop.load()) return LLM_OK;
    if (err) *err = s->error;
    return s->error.code;
}

llm_status stream_weights(loader *l, llm_error *err) {
    streaming s;
    s.l = l;
    cut_into_slabs(&s);
    if (!go_on(&l->options->steps, 0.0f)) return fail(err, LLM_CANCELLED, "loading was cancelled");
    if (l->options->threads) return run_streaming(&s, l->options->threads, err);
    pool *own = nullptr;
    LLM_TRY(pool_create(l->options->n_threads, &own, err));
    std::unique_ptr<pool, void (*)(pool *)> guard(own, pool_free);
    return run_streaming(&s, own, err);
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

llm_status prepare(loader *l, llm_error *err) {
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
    m->cpu = options->cpu;
    for (const backend *const *b = backend_table(); !m->cpu && *b; b++)
        if ((*b)->available()) m->cpu = *b;
    return m;
}

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
    llm_status (*const all[])(loader *, llm_error *) = {prepare, load_vocab, take_weights, stream_weights};
    return run_steps(file, options, all, options->vocab_only ? 2 : 4, out, err);
}

llm_status model_describe(gguf_file *file, const model_load_options *options, model **out, llm_error *err) {
    llm_status (*const only[])(loader *, llm_error *) = {prepare};
    return run_steps(file, options, only, 1, out, err);
}

} // namespace llm

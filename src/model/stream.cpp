// From the file into memory: slabs of rows, on all threads, through the backend's packing into one allocation. Weights
// are never in memory twice; at most one slab per thread is beside them.
#include "core/machine.h"
#include "model/loading.h"
#include <algorithm>
#include <mutex>

namespace llm {

namespace {

constexpr uint64_t SLAB_BYTES = (uint64_t)4 << 20;

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
    bool keep_cache = false;
    std::atomic<bool> stop{false};
    std::atomic<uint32_t> n_done{0};
    std::mutex lock;
    llm_error error = {};
};

// The page cache holds a second copy of what was read. It makes the next start fast, and the system drops it for any
// other use; but where little else is free, dropping it at once leaves the huge pages to the weights and spares the
// caches of other programs.
bool cache_may_stay(const loader *l) {
    uint64_t in_files = 0;
    for (const file_source &part : l->file->parts) in_files += part.size;
    uint64_t available = machine_memory_available("");
    return available >= model_weight_bytes(l->m) + in_files + in_files / 2;
}

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
    if (!s->keep_cache) file_forget(source, offset, bytes);
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

} // namespace

llm_status stream_weights(loader *l, llm_error *err) {
    streaming s;
    s.l = l;
    s.keep_cache = cache_may_stay(l);
    LLM_TRY(take_weights(l, err));
    cut_into_slabs(&s);
    if (!go_on(&l->options->steps, 0.0f)) return fail(err, LLM_CANCELLED, "loading was cancelled");
    if (l->options->threads) return run_streaming(&s, l->options->threads, err);
    pool *own = nullptr;
    LLM_TRY(pool_create(l->options->n_threads, &own, err));
    std::unique_ptr<pool, void (*)(pool *)> guard(own, pool_free);
    return run_streaming(&s, own, err);
}

} // namespace llm

// From the file into memory. Packed weights are used where they lie, when the file can be mapped; everything else goes
// slab by slab, on all threads, through the backend's packing into one allocation. Weights are never in memory twice;
// at most one slab per thread is beside them.
#include "backend/packed.h"
#include "core/machine.h"
#include "model/loading.h"
#include <algorithm>
#include <mutex>

namespace llm {

namespace {

// Slab and packed rows stay in a core's L2 cache: 4 MiB took a quarter more processor time, and as long from a cold
// disk.
constexpr uint64_t SLAB_BYTES = (uint64_t)512 << 10;

// Bytes that rows of a matrix take in the file; n_rows is a multiple of PACKED_ROWS or the rest of the matrix.
uint64_t file_bytes(const weight *w, const gguf_tensor *t, uint64_t n_rows) {
    return t->packed ? packed_bytes(w->format, n_rows, w->cols) : n_rows * format_bytes(w->format, w->cols);
}

// Whole panels, of which every backend's groups of rows are a part.
uint64_t rows_per_slab(const weight *w) {
    return std::max<uint64_t>(SLAB_BYTES / format_bytes(w->format, w->cols) / PACKED_ROWS, 1) * PACKED_ROWS;
}

void map_parts(loader *l) {
    model *m = l->m;
    if (std::find(m->in_place.begin(), m->in_place.end(), true) == m->in_place.end()) return;
    m->maps.resize(l->file->parts.size());
    for (size_t i = 0; i < m->matrices.size(); i++) {
        if (!m->in_place[i]) continue;
        const row_range &from = l->matrix_source[i];
        file_map *map = &m->maps[from.tensor->file];
        m->in_place[i] = map->data || file_map_all(&l->file->parts[from.tensor->file], map);
        if (!map->data) continue;
        m->matrices[i].data =
            (void *)(map->data + from.tensor->offset + file_bytes(&m->matrices[i], from.tensor, from.first));
    }
}

llm_status take_weights(loader *l, llm_error *err) {
    model *m = l->m;
    uint64_t total = model_private_bytes(m), limit = l->options->mem_limit;
    if (limit && total > limit)
        return fail(err, LLM_ERR_BUDGET, "the weights need %llu bytes; the memory limit is %llu",
                    (unsigned long long)total, (unsigned long long)limit);
    LLM_TRY(memory_take(&m->allocator, LLM_MEMORY_WEIGHTS, total, false, "the weights", &m->weights, err));
    uint64_t at = 0;
    for (size_t i = 0; i < m->matrices.size(); i++) {
        weight *w = &m->matrices[i];
        if (m->in_place[i]) continue;
        w->data = m->weights.data + at;
        at += m->cpu->weight_bytes(w->format, w->rows, w->cols);
    }
    return LLM_OK;
}

// One slab of the file: rows of one matrix.
struct slab {
    weight *w;
    row_range from;
    uint64_t row, n_rows;
    uint64_t bytes;               // in the file
    const packed_inverse *unpack; // packed rows for a backend that wants blocks
};

struct streaming {
    loader *l;
    std::vector<slab> slabs;
    std::vector<std::vector<uint8_t>> staging; // per thread: slab.bytes, and the same rows as blocks behind them
    std::deque<packed_inverse> inverses;
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
    return available >= model_private_bytes(l->m) + in_files + in_files / 2;
}

llm_status find_inverse(streaming *s, const weight *w, const packed_inverse **out, llm_error *err) {
    for (const packed_inverse &known : s->inverses)
        if (known.format == w->format) return *out = &known, LLM_OK;
    s->inverses.emplace_back();
    *out = &s->inverses.back();
    if (packed_inverse_find(w->format, &s->inverses.back())) return LLM_OK;
    return fail(err, LLM_ERR_UNSUPPORTED, "tensor \"%s\" is packed as %s, which CPU tier %s cannot take apart",
                w->name.c_str(), w->format->name, s->l->m->cpu->name);
}

llm_status cut_into_slabs(streaming *s, llm_error *err) {
    loader *l = s->l;
    const backend *cpu = l->m->cpu;
    for (size_t i = 0; i < l->m->matrices.size(); i++) {
        if (l->m->in_place[i]) continue;
        weight *w = &l->m->matrices[i];
        const row_range &from = l->matrix_source[i];
        const packed_inverse *unpack = nullptr;
        if (from.tensor->packed && !cpu->takes_packed) LLM_TRY(find_inverse(s, w, &unpack, err));
        uint64_t step = rows_per_slab(w);
        for (uint64_t row = 0; row < w->rows; row += step) {
            uint64_t n_rows = std::min(step, w->rows - row);
            s->slabs.push_back({w, from, row, n_rows, file_bytes(w, from.tensor, n_rows), unpack});
        }
    }
    std::stable_sort(s->slabs.begin(), s->slabs.end(), [](const slab &a, const slab &b) {
        return std::make_pair(a.from.tensor->file, a.from.tensor->offset) <
               std::make_pair(b.from.tensor->file, b.from.tensor->offset);
    });
    return LLM_OK;
}

// Panels of a backend that takes them need no staging.
uint8_t *target_of(streaming *s, const slab &piece, uint32_t thread) {
    if (!piece.from.tensor->packed || piece.unpack) return s->staging[thread].data();
    return (uint8_t *)piece.w->data + packed_bytes(piece.w->format, piece.row, piece.w->cols);
}

llm_status load_slab(streaming *s, const slab &piece, uint32_t thread, llm_error *err) {
    const weight *w = piece.w;
    const gguf_tensor *t = piece.from.tensor;
    const file_source *source = &s->l->file->parts[t->file];
    uint64_t offset = t->offset + file_bytes(w, t, piece.from.first + piece.row);
    uint8_t *bytes = target_of(s, piece, thread);
    LLM_TRY(file_read(source, offset, bytes, piece.bytes, err));
    if (piece.unpack) {
        packed_unpack(piece.unpack, w->cols, piece.n_rows, bytes, bytes + piece.bytes);
        bytes += piece.bytes;
    }
    if (!t->packed || piece.unpack)
        s->l->m->cpu->pack(w->format, w->rows, w->cols, piece.row, piece.n_rows, bytes, w->data);
    if (!s->keep_cache) file_forget(source, offset, piece.bytes);
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

uint64_t staging_bytes(const slab &piece) {
    if (!piece.from.tensor->packed) return piece.bytes;
    return piece.unpack ? piece.bytes + piece.n_rows * format_bytes(piece.w->format, piece.w->cols) : 0;
}

llm_status run_streaming(streaming *s, pool *threads, llm_error *err) {
    uint64_t largest = 0;
    for (const slab &piece : s->slabs) largest = std::max(largest, staging_bytes(piece));
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

uint64_t model_staging_bytes(const model *m, uint32_t n_threads) {
    uint64_t largest = 0;
    for (size_t i = 0; i < m->matrices.size(); i++) {
        const weight *w = &m->matrices[i];
        if (!m->in_place[i])
            largest = std::max(largest, std::min(w->rows, rows_per_slab(w)) * format_bytes(w->format, w->cols));
    }
    return largest * n_threads;
}

llm_status stream_weights(loader *l, llm_error *err) {
    streaming s;
    s.l = l;
    map_parts(l);
    s.keep_cache = cache_may_stay(l);
    LLM_TRY(take_weights(l, err));
    LLM_TRY(cut_into_slabs(&s, err));
    if (!go_on(&l->options->steps, 0.0f)) return fail(err, LLM_CANCELLED, "loading was cancelled");
    if (s.slabs.empty()) return LLM_OK;
    if (l->options->threads) return run_streaming(&s, l->options->threads, err);
    pool *own = nullptr;
    LLM_TRY(pool_create(l->options->n_threads, &own, err));
    std::unique_ptr<pool, void (*)(pool *)> guard(own, pool_free);
    return run_streaming(&s, own, err);
}

} // namespace llm

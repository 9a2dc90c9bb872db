// What a backend is: layouts of weights, activations and KV, and the code that runs one chunk of a step.
// A backend reads a finished plan and never a model. Two live on the CPU: ref/ (plain loops over the file's own blocks,
// the specification) and cpu/ (16-row panels, one body for all vector tiers).
#pragma once
#include "core/top.h"
#include "graph/plan.h"
#include <atomic>

namespace llm {

// What the cache holds of a number; sessions store these values.
enum kv_element : uint8_t { KV_F16 = 0, KV_F32 = 1, KV_Q8_0 = 2, KV_Q4_0 = 3, KV_ELEMENTS };
constexpr uint32_t KV_BLOCK = 64;  // positions per block: the key tile of attention
constexpr uint32_t MAX_HEAD = 1024; // largest head size; models beyond are refused when they are loaded

// A row of K or V is one head of one token in this format, filled up with zeros to whole blocks. Never along keys: a
// token's cells do not depend on its neighbours.
const block_format *kv_format(kv_element type);
inline uint32_t kv_row_cols(kv_element type, uint32_t head) {
    const uint32_t block = type == KV_Q8_0 || type == KV_Q4_0 ? 32 : 1;
    return (head + block - 1) / block * block;
}

// One layer of the cache.
struct kv_layer_shape {
    uint32_t n_head_kv, head_k, head_v;
    uint32_t window; // attention_spec::window of those that read it
};
// Layers of equal window have blocks of their own, so that those behind the window can be freed.
struct kv_group {
    uint32_t window;
    size_t block_bytes; // of KV_BLOCK positions, all layers of the group
};
struct kv_shape {
    kv_element type_k, type_v;
    std::vector<kv_layer_shape> layers;
    // Filled by kv_shape_finish:
    std::vector<kv_group> groups;
    std::vector<uint32_t> layer_group;
    std::vector<size_t> layer_offset; // bytes from the start of a block of the group to the layer's K
    size_t block_bytes = 0;           // of KV_BLOCK positions, all layers
};

// A run of neighbouring tokens of one sequence within the pass.
struct query_run {
    uint32_t first, n;            // tokens of the pass
    // Block tables of the sequence: blocks[group][i] holds places 64 i .. 64 i + 63. NULL: behind the group's window.
    uint8_t *const *const *blocks;
};

// Everything a chunk needs to know of the pass at hand. Set by the executor, read by all threads.
struct pass {
    const plan *program;
    uint8_t *arena;
    uint8_t *shared;               // backend::shared_bytes
    float *logits, *hidden;        // [n_outputs, ...]; where plan::logits and plan::hidden go
    size_t top_offset;             // logits NULL: where a thread's scratch holds its top_list [n_outputs]
    uint32_t n_tokens, n_outputs;
    const int32_t *tokens;         // -1: the token's input is a row of embd
    const float *const *embd;      // per token; NULL pointer array when all tokens have ids
    const int32_t *pos;            // rotary position per token
    const int32_t *place;          // place in its sequence per token: where K and V are stored
    const int32_t *n_visible;      // keys the token sees: places 0 .. n_visible-1, less what is before its window
    const uint32_t *run_of_token;  // index into runs
    const query_run *runs;
    uint32_t n_runs;
    const uint32_t *outputs;       // token index of each wanted row
    const kv_shape *kv;
    std::atomic<uint32_t> *bad_step; // a step that meets an infinite or NaN value puts its index here (UINT32_MAX: none)
};

inline float *pass_f32(const pass *p, buffer_id id) {
    if (id == p->program->logits) return p->logits;
    if (id == p->program->hidden) return p->hidden;
    return reinterpret_cast<float *>(p->arena + p->program->buffers[id].offset);
}
inline uint8_t *pass_act8(const pass *p, buffer_id id) { return p->arena + p->program->buffers[id].offset; }
// The first key that a token sees: its window ends at its own place.
inline uint32_t pass_first_key(const pass *p, const attention_spec *a, uint32_t token) {
    const uint32_t n = uint32_t(p->place[token]) + 1;
    return a->window && n > a->window ? n - a->window : 0;
}
inline uint32_t pass_rows(const pass *p, buffer_id id) {
    return p->program->buffers[id].per_output ? p->n_outputs : p->n_tokens;
}

struct backend {
    const char *name;       // "ref", "avx2", ...
    bool (*available)();    // this machine and operating system can run it
    // Formats whose matrices it can hold and multiply.
    bool (*supports)(const block_format *format);

    // Bytes of a [rows, cols] matrix in this backend's layout (64-byte aligned), and the step by which it can be packed:
    // pack() takes whole groups of `rows_per_group` rows, the last group may be short.
    size_t (*weight_bytes)(const block_format *format, uint64_t rows, uint64_t cols);
    uint32_t rows_per_group;
    // Packs rows [row, row + n_rows) given in the file's own blocks into the matrix at `matrix`.
    void (*pack)(const block_format *format, uint64_t rows, uint64_t cols, uint64_t row, uint64_t n_rows,
                 const void *file_rows, void *matrix);

    size_t (*act8_bytes)(uint32_t cols, uint32_t n_rows);
    // Scratch that one thread needs for any chunk of the plan.
    size_t (*scratch_bytes)(const plan *program);
    // It can run a plan that ends in a plain matrix without storing logits (pass::top_offset).
    bool keeps_top;

    // Memory that all chunks of a step share, besides the plan's buffers, in contexts of n_ctx places; prepared before
    // every pass.
    size_t (*shared_bytes)(const plan *program, uint32_t n_ctx);
    void (*begin_pass)(const pass *p);

    // Bytes of K, and of V, of one layer for KV_BLOCK positions; V follows K. A fresh block is all zero bytes.
    size_t (*kv_k_bytes)(const kv_layer_shape *layer, kv_element type);
    size_t (*kv_v_bytes)(const kv_layer_shape *layer, kv_element type);

    // Independent pieces of a step in this pass; run_chunk computes piece `chunk` of step `step` (an index into
    // plan::steps). Results do not depend on how many chunks there are or who runs them. No allocation, no failure
    // other than pass::bad_step.
    uint32_t (*n_chunks)(const pass *p, uint32_t step, uint32_t n_threads);
    void (*run_chunk)(const pass *p, uint32_t step, uint32_t chunk, uint32_t n_threads, void *scratch);

    bool takes_packed; // its layout of weights is the one of packed files (backend/packed.h)

    // Does integer dot products on registers and returns how many multiply-accumulates that were: what matrices are
    // measured against (run/roofline.h). NULL: none.
    uint64_t (*dots)(uint64_t rounds);
    const char *needs; // what available() looks for, for people: "AVX2, FMA and F16C"
};

inline plan_target backend_target(const backend *b) { return {b->name, b->supports, b->act8_bytes}; }

void kv_shape_finish(kv_shape *shape, const backend *b);

// All backends of this build, best first, ended by NULL. The first available one is the default.
const backend *const *backend_table();
const backend *backend_find(const char *name); // NULL when unknown
const backend *backend_best();                 // the first that this machine can run

inline void pass_report_bad(const pass *p, uint32_t step) {
    uint32_t none = UINT32_MAX;
    p->bad_step->compare_exchange_strong(none, step, std::memory_order_relaxed);
}

} // namespace llm

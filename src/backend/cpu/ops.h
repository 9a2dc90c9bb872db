// Steps of a plan on panels: how a step is cut into chunks, and what a chunk does with the kernels of a tier. Compiled
// once, without newer instructions; only kernels belong to a tier.
#pragma once
#include "backend/backend.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/panel.h"

namespace llm {

// A step at work.
struct cpu_job {
    const cpu_kernels *kernels;
    const cpu_prompt_kernels *prompt; // or NULL
    const pass *p;
    const plan_step *s;
    uint32_t step, n_threads;
    void *scratch;
};

// A step's work is a rectangle: columns (panels of a matrix, KV heads) times rows (tokens), cut by these sizes.
struct cpu_split {
    uint32_t n_cols, cols_per_chunk, n_rows, rows_per_chunk;
};
struct cpu_range {
    uint32_t begin, end;
};

// Columns and rows of a chunk; chunk / columns-of-chunks is the row.
typedef cpu_split cpu_split_function(const cpu_job *job);
typedef void cpu_run_function(const cpu_job *job, cpu_range cols, cpu_range rows);

// linear.cpp
cpu_split_function split_linear, split_glu_linear;
cpu_run_function run_linear, run_glu_linear;
// attend.cpp
cpu_split_function split_attention;
cpu_run_function run_attention, run_rope_store;
size_t attention_scratch_bytes(const attention_spec *a);
size_t attention_shared_bytes(const plan *program, uint32_t n_ctx);
void attention_begin_pass(const pass *p);
size_t cpu_kv_k_bytes(const kv_layer_shape *layer, kv_element type);
size_t cpu_kv_v_bytes(const kv_layer_shape *layer, kv_element type);

// ops.cpp
struct cpu_tier {
    const cpu_kernels *kernels;
    const cpu_prompt_kernels *prompt; // or NULL
};
uint32_t cpu_n_chunks(const cpu_tier *tier, const pass *p, uint32_t step, uint32_t n_threads);
void cpu_run_chunk(const cpu_tier *tier, const pass *p, uint32_t step, uint32_t chunk, uint32_t n_threads,
                   void *scratch);
size_t cpu_scratch_bytes(const plan *program);

inline cpu_activation cpu_activation_of(activation act) {
    static_assert(int(CPU_ACT_SILU) == int(ACT_SILU) && int(CPU_ACT_GELU_TANH) == int(ACT_GELU_TANH), "one list twice");
    return cpu_activation(act);
}
inline uint32_t cols_of(const cpu_job *job, buffer_id x) { return job->p->program->buffers[x].cols; }
inline float *f32_row(const cpu_job *job, buffer_id x, size_t row) {
    return pass_f32(job->p, x) + row * cols_of(job, x);
}
// Quantised row of a buffer; first is NULL when the step wants none.
inline act_row act8_row(const cpu_job *job, buffer_id x, size_t row) {
    if (x < 0) return {nullptr, 0};
    return act_row_at(pass_act8(job->p, x), pass_rows(job->p, x), cols_of(job, x) / 32, row);
}
inline void check(const cpu_job *job, bool finite) {
    if (!finite) pass_report_bad(job->p, job->step);
}
inline uint32_t round_up(uint32_t x, uint32_t step) { return (x + step - 1) / step * step; }

// Cuts n pieces of `cost` units each into chunks of at least `least` units, a few per thread where there is enough
// work, so that a thread which is held up leaves its share to the others. Chunks are multiples of `step` pieces.
uint32_t pieces_per_chunk(uint64_t n, uint64_t cost, uint64_t least, uint32_t n_threads, uint32_t step);

} // namespace llm

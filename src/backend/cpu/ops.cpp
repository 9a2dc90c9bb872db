#include "backend/cpu/ops.h"
#include "graph/rope.h"
#include <string.h>

namespace llm {

uint32_t pieces_per_chunk(uint64_t n, uint64_t cost, uint64_t least, uint32_t n_threads, uint32_t step) {
    constexpr uint64_t CHUNKS_PER_THREAD = 4;
    uint64_t chunks = n * cost / least;
    // Few chunks: a number that threads share evenly. Many: as they are, claiming evens them out.
    if (chunks < CHUNKS_PER_THREAD * n_threads) {
        chunks = n * cost / (least / 4) < n_threads ? 1
                 : chunks < n_threads               ? n_threads
                                                    : chunks / n_threads * n_threads;
    }
    const uint64_t pieces = (n + chunks - 1) / chunks;
    return round_up(uint32_t(pieces ? pieces : 1), step);
}

namespace {

uint32_t out_rows(const cpu_job *job) { return pass_rows(job->p, job->s->out >= 0 ? job->s->out : job->s->out_act8); }

// Steps over single rows. `cost` of a value, in units of a simple read and write.
cpu_split split_rows(const cpu_job *job, uint32_t n_rows, uint32_t n_cols, uint32_t cost) {
    constexpr uint64_t LEAST = 16 << 10;
    return {1, 1, n_rows, pieces_per_chunk(n_rows, uint64_t(n_cols) * cost, LEAST, job->n_threads, 1)};
}
cpu_split split_embed(const cpu_job *job) { return split_rows(job, job->p->n_tokens, cols_of(job, job->s->out), 4); }
cpu_split split_rope_table(const cpu_job *job) {
    return split_rows(job, job->p->n_tokens, cols_of(job, job->s->out), 16);
}
cpu_split split_rope_store(const cpu_job *job) {
    const plan_step *s = job->s;
    return split_rows(job, job->p->n_tokens, cols_of(job, s->in) + cols_of(job, s->in2) + cols_of(job, s->in3), 4);
}
cpu_split split_elements(const cpu_job *job) { return split_rows(job, out_rows(job), cols_of(job, job->s->in), 4); }

void embed_row(const weight *w, uint64_t row, float *out) {
    panel_row(panel_layout_of(w->format), w->data, w->cols, row, out);
}

void run_embed(const cpu_job *job, cpu_range, cpu_range rows) {
    const plan_step *s = job->s;
    const uint32_t n = cols_of(job, s->out);
    float *position = static_cast<float *>(job->scratch);
    for (uint32_t token = rows.begin; token < rows.end; token++) {
        float *out = f32_row(job, s->out, token);
        if (job->p->tokens[token] >= 0) {
            embed_row(s->w, uint64_t(job->p->tokens[token]), out);
            for (uint32_t k = 0; s->scale != 1 && k < n; k++) out[k] *= s->scale;
        } else {
            memcpy(out, job->p->embd[token], n * sizeof(float));
        }
        if (!s->w2) continue;
        embed_row(s->w2, uint64_t(job->p->pos[token]), position);
        job->kernels->add(out, position, out, n);
    }
}

void run_rope_table(const cpu_job *job, cpu_range, cpu_range rows) {
    for (uint32_t token = rows.begin; token < rows.end; token++)
        rope_angles(&job->p->program->ropes[job->s->rope], job->p->pos[token], f32_row(job, job->s->out, token));
}

void run_norm(const cpu_job *job, cpu_range, cpu_range rows) {
    const plan_step *s = job->s;
    const uint32_t n = cols_of(job, s->in), group = s->group ? s->group : n;
    norm_row r = {};
    r.kind = s->norm == NORM_LAYER ? CPU_NORM_LAYER : CPU_NORM_RMS;
    r.n = group;
    r.eps = s->eps;
    r.gain = s->gain ? s->gain->data : nullptr;
    r.bias = s->bias ? s->bias->data : nullptr;
    for (uint32_t row = rows.begin; row < rows.end; row++)
        for (uint32_t k = 0; k < n; k += group) {
            r.x = f32_row(job, s->in, row) + k;
            if (s->residual >= 0) r.residual = f32_row(job, s->residual, row) + k;
            if (s->out >= 0) r.out = f32_row(job, s->out, row) + k;
            r.act = act8_row(job, s->out_act8, row);
            if (r.act.first) r.act.first += k / 32 * r.act.step;
            check(job, job->kernels->norm(&r));
        }
}

void run_quantise(const cpu_job *job, cpu_range, cpu_range rows) {
    for (uint32_t row = rows.begin; row < rows.end; row++)
        check(job, job->kernels->quantise(f32_row(job, job->s->in, row), cols_of(job, job->s->in) / 32,
                                          act8_row(job, job->s->out_act8, row)));
}

// Rows follow each other without gaps, so a range of them is one long row.
template <class Function> void elementwise(const cpu_job *job, cpu_range rows, Function function) {
    const plan_step *s = job->s;
    check(job, function(f32_row(job, s->in, rows.begin), s->in2 >= 0 ? f32_row(job, s->in2, rows.begin) : nullptr,
                        f32_row(job, s->out, rows.begin), size_t(rows.end - rows.begin) * cols_of(job, s->out)));
}
void run_activate(const cpu_job *job, cpu_range, cpu_range rows) {
    elementwise(job, rows, [&](const float *x, const float *, float *out, size_t n) {
        return job->kernels->activate(cpu_activation_of(job->s->act), x, out, n);
    });
}
void run_glu(const cpu_job *job, cpu_range, cpu_range rows) {
    elementwise(job, rows, [&](const float *gate, const float *up, float *out, size_t n) {
        return job->kernels->glu(cpu_activation_of(job->s->act), gate, up, out, n);
    });
}
void run_add(const cpu_job *job, cpu_range, cpu_range rows) { elementwise(job, rows, job->kernels->add); }

void run_select_outputs(const cpu_job *job, cpu_range, cpu_range rows) {
    const plan_step *s = job->s;
    for (uint32_t row = rows.begin; row < rows.end; row++)
        memcpy(f32_row(job, s->out, row), f32_row(job, s->in, job->p->outputs[row]),
               cols_of(job, s->in) * sizeof(float));
}

struct op_row {
    cpu_split_function *split;
    cpu_run_function *run;
};
// In the order of op_kind.
const op_row ops[] = {
    {split_embed, run_embed},           // OP_EMBED
    {split_rope_table, run_rope_table}, // OP_ROPE_TABLE
    {split_elements, run_norm},         // OP_NORM
    {split_linear, run_linear},         // OP_LINEAR
    {split_glu_linear, run_glu_linear}, // OP_GLU_LINEAR
    {split_elements, run_activate},     // OP_ACTIVATE
    {split_elements, run_glu},          // OP_GLU
    {split_elements, run_add},          // OP_ADD
    {split_elements, run_quantise},     // OP_QUANTISE
    {split_rope_store, run_rope_store}, // OP_ROPE_STORE
    {split_attention, run_attention},   // OP_ATTENTION
    {split_elements, run_select_outputs},
};
static_assert(sizeof ops / sizeof *ops == OP_COUNT, "a row per op");

cpu_job job_of(const cpu_tier *tier, const pass *p, uint32_t step, uint32_t n_threads, void *scratch) {
    return {tier->kernels, tier->prompt, p, &p->program->steps[step], step, n_threads ? n_threads : 1, scratch};
}

// No rows, no chunks: a pass need not want any output.
uint32_t chunk_count(uint32_t n, uint32_t per_chunk) { return n ? (n + per_chunk - 1) / per_chunk : 0; }

cpu_range nth(uint32_t i, uint32_t n, uint32_t per_chunk) {
    const uint32_t begin = i * per_chunk;
    return {begin, n - begin < per_chunk ? n : begin + per_chunk};
}

} // namespace

uint32_t cpu_n_chunks(const cpu_tier *tier, const pass *p, uint32_t step, uint32_t n_threads) {
    const cpu_job job = job_of(tier, p, step, n_threads, nullptr);
    const cpu_split s = ops[job.s->op].split(&job);
    return chunk_count(s.n_cols, s.cols_per_chunk) * chunk_count(s.n_rows, s.rows_per_chunk);
}

void cpu_run_chunk(const cpu_tier *tier, const pass *p, uint32_t step, uint32_t chunk, uint32_t n_threads,
                   void *scratch) {
    const cpu_job job = job_of(tier, p, step, n_threads, scratch);
    const cpu_split s = ops[job.s->op].split(&job);
    const uint32_t across = chunk_count(s.n_cols, s.cols_per_chunk);
    ops[job.s->op].run(&job, nth(chunk % across, s.n_cols, s.cols_per_chunk),
                       nth(chunk / across, s.n_rows, s.rows_per_chunk));
}

size_t cpu_scratch_bytes(const plan *program) {
    size_t bytes = 0;
    for (const plan_buffer &b : program->buffers)
        if (b.cols * sizeof(float) > bytes) bytes = b.cols * sizeof(float);
    for (const plan_step &s : program->steps)
        if (s.op == OP_ATTENTION && attention_scratch_bytes(&s.attention) > bytes)
            bytes = attention_scratch_bytes(&s.attention);
    return bytes;
}

} // namespace llm

// Runs a plan: counts the chunks of every phase, lets the pool claim them, and looks at what was reported.
#include "run/context.h"
#include <algorithm>
#include <math.h>

namespace llm {

namespace {

// Below this many multiply-adds a pass is over before a second thread has woken up.
constexpr uint64_t MACS_WORTH_A_THREAD = 1500000;

struct execution {
    context *c;
    pass p;
    uint32_t n_threads; // that the chunks were counted for: a backend cuts by it
};

void run_chunk(void *user, uint32_t phase, uint32_t chunk, uint32_t thread) {
    execution *e = (execution *)user;
    context *c = e->c;
    if (c->cancel.load(std::memory_order_relaxed)) return;
    uint32_t step = c->program.phases[phase].first_step;
    while (chunk >= c->chunks_of_step[step]) chunk -= c->chunks_of_step[step++];
    c->m->cpu->run_chunk(&e->p, step, chunk, e->n_threads, c->thread_scratch.data + thread * c->scratch_step);
}

top_list *top_lists(context *c, uint32_t thread) {
    return (top_list *)(c->thread_scratch.data + (thread + 1) * c->scratch_step - TOP_BYTES);
}

void empty_top_lists(context *c, uint32_t n_threads, uint32_t n_outputs) {
    for (uint32_t thread = 0; thread < n_threads; thread++) {
        top_list *lists = top_lists(c, thread);
        llm_candidate *candidates = (llm_candidate *)(lists + MAX_TOP_ROWS);
        for (uint32_t row = 0; row < n_outputs; row++) lists[row] = {candidates + (size_t)row * c->top_k, 0, c->top_k};
    }
}

void collect_top(context *c, uint32_t n_threads, uint32_t n_outputs, uint32_t first_output) {
    for (uint32_t row = 0; row < n_outputs; row++) {
        top_list *all = &top_lists(c, 0)[row];
        for (uint32_t thread = 1; thread < n_threads; thread++) top_merge(all, &top_lists(c, thread)[row]);
        top_sort(all);
        std::copy(all->best, all->best + all->n, c->top.data() + (size_t)(first_output + row) * c->top_k);
    }
}

pass bind(context *c, uint32_t n_tokens, uint32_t n_outputs, uint32_t first_output) {
    const pass_arrays *a = &c->arrays;
    pass p = {};
    p.program = &c->program;
    p.arena = c->arena.data;
    p.shared = c->arena.data + c->program.arena_bytes;
    p.logits = c->top_only ? nullptr : c->logits.data() + first_output * c->m->h.n_vocab;
    p.hidden = c->hidden.data() + first_output * c->m->h.n_embd;
    p.top_offset = c->scratch_step - TOP_BYTES;
    p.n_tokens = n_tokens;
    p.n_outputs = n_outputs;
    p.tokens = a->tokens.data();
    p.embd = a->embd.data();
    p.pos = a->pos.data();
    p.place = a->place.data();
    p.n_visible = a->n_visible.data();
    p.run_of_token = a->run_of_token.data();
    p.runs = a->runs.data();
    p.n_runs = (uint32_t)a->runs.size();
    p.outputs = a->outputs.data();
    p.kv = &c->kv.shape;
    p.bad_step = &c->bad_step;
    return p;
}

void count_chunks(context *c, const pass *p, uint32_t n_threads) {
    for (size_t i = 0; i < c->program.phases.size(); i++) {
        const plan_phase &phase = c->program.phases[i];
        c->chunks_of_phase[i] = 0;
        for (uint32_t step = phase.first_step; step < phase.first_step + phase.n_steps; step++) {
            c->chunks_of_step[step] = c->m->cpu->n_chunks(p, step, n_threads);
            c->chunks_of_phase[i] += c->chunks_of_step[step];
        }
    }
}

uint32_t threads_worth(const context *c, uint32_t n_tokens) {
    uint64_t most = 1 + c->program.macs_per_token * n_tokens / MACS_WORTH_A_THREAD;
    return most < c->n_threads ? (uint32_t)most : c->n_threads;
}

llm_status check_finite(const context *c, const pass *p, llm_error *err) {
    uint32_t bad = c->bad_step.load(std::memory_order_relaxed);
    if (bad != UINT32_MAX)
        return fail(err, LLM_ERR_NUMERIC, "a value is infinite or not a number at step \"%s\"",
                    c->program.steps[bad].name);
    uint64_t n = p->logits ? (uint64_t)p->n_outputs * c->m->h.n_vocab : 0;
    bool finite = true;
    for (uint64_t i = 0; i < n; i++) finite = finite & (fabsf(p->logits[i]) <= 3.402823466e38f);
    if (finite) return LLM_OK;
    return fail(err, LLM_ERR_NUMERIC, "a logit is infinite or not a number");
}

} // namespace

bool context_keeps_top(const context *c, uint32_t n_rows, uint32_t top_k) {
    const plan_step &last = c->program.steps.back();
    return c->m->cpu->keeps_top && last.op == OP_LINEAR && last.out == c->program.logits && n_rows <= MAX_TOP_ROWS &&
           (uint64_t)n_rows * top_k <= MAX_TOP_CANDIDATES;
}

llm_status execute_pass(context *c, uint32_t n_tokens, uint32_t n_outputs, uint32_t first_output, llm_error *err) {
    execution e = {c, bind(c, n_tokens, n_outputs, first_output), threads_worth(c, n_tokens)};
    c->bad_step.store(UINT32_MAX, std::memory_order_relaxed);
    if (c->top_only) empty_top_lists(c, e.n_threads, n_outputs);
    count_chunks(c, &e.p, e.n_threads);
    c->m->cpu->begin_pass(&e.p);
    pool_program program = {(uint32_t)c->program.phases.size(), c->chunks_of_phase.data(), run_chunk, &e};
    LLM_TRY(pool_execute(c->threads, &program, e.n_threads, err));
    if (c->cancel.load(std::memory_order_relaxed)) return fail(err, LLM_CANCELLED, "the call was cancelled");
    LLM_TRY(check_finite(c, &e.p, err));
    if (c->top_only) collect_top(c, e.n_threads, n_outputs, first_output);
    return LLM_OK;
}

} // namespace llm

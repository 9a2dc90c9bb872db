// Runs a plan: counts the chunks of every phase, lets the pool claim them, and looks at what was reported.
#include "run/context.h"
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

pass bind(context *c, uint32_t n_tokens, uint32_t n_outputs, float *logits, float *hidden) {
    const pass_arrays *a = &c->arrays;
    pass p = {};
    p.program = &c->program;
    p.arena = c->arena.data;
    p.logits = logits;
    p.hidden = hidden;
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

llm_status check_finite(const context *c, const float *logits, uint32_t n_outputs, llm_error *err) {
    uint32_t bad = c->bad_step.load(std::memory_order_relaxed);
    if (bad != UINT32_MAX)
        return fail(err, LLM_ERR_NUMERIC, "a value is infinite or not a number at step \"%s\"",
                    c->program.steps[bad].name);
    uint64_t n = (uint64_t)n_outputs * c->m->h.n_vocab;
    bool finite = true;
    for (uint64_t i = 0; i < n; i++) finite = finite & (fabsf(logits[i]) <= 3.402823466e38f);
    if (finite) return LLM_OK;
    return fail(err, LLM_ERR_NUMERIC, "a logit is infinite or not a number");
}

} // namespace

llm_status execute_pass(context *c, uint32_t n_tokens, uint32_t n_outputs, float *logits, float *hidden,
                        llm_error *err) {
    execution e = {c, bind(c, n_tokens, n_outputs, logits, hidden), threads_worth(c, n_tokens)};
    c->bad_step.store(UINT32_MAX, std::memory_order_relaxed);
    count_chunks(c, &e.p, e.n_threads);
    pool_program program = {(uint32_t)c->program.phases.size(), c->chunks_of_phase.data(), run_chunk, &e};
    LLM_TRY(pool_execute(c->threads, &program, e.n_threads, err));
    if (c->cancel.load(std::memory_order_relaxed)) return fail(err, LLM_CANCELLED, "the call was cancelled");
    return check_finite(c, logits, n_outputs, err);
}

} // namespace llm

#include "run/context.h"
#include "core/topology.h"
#include <algorithm>

namespace llm {

namespace {

constexpr uint32_t DEFAULT_CONTEXT = 4096, DEFAULT_BATCH = 512, MAX_BATCH = 8192, MAX_SEQUENCES = 4096;

uint32_t blocks_per_sequence(uint32_t n_ctx) { return (n_ctx + KV_BLOCK - 1) / KV_BLOCK; }

uint32_t thread_count(const context_options *o) {
    if (o->threads) return pool_n_threads(o->threads);
    return o->n_threads ? o->n_threads : default_thread_count();
}

llm_status choose_sizes(const model *m, const context_options *o, context_options *out, llm_error *err) {
    *out = *o;
    out->n_seq_max = o->n_seq_max ? o->n_seq_max : 1;
    out->n_batch = o->n_batch ? o->n_batch : DEFAULT_BATCH;
    if (out->n_seq_max > MAX_SEQUENCES)
        return fail(err, LLM_ERR_ARGUMENT, "n_seq_max is %u; at most %u are possible", out->n_seq_max, MAX_SEQUENCES);
    if (out->n_batch > MAX_BATCH)
        return fail(err, LLM_ERR_ARGUMENT, "n_batch is %u; at most %u are possible", out->n_batch, MAX_BATCH);
    if (out->n_ctx > (1u << 26))
        return fail(err, LLM_ERR_ARGUMENT, "n_ctx is %u; at most %u are possible", out->n_ctx, 1u << 26);
    if (!out->n_ctx) out->n_ctx = (uint32_t)std::min<uint64_t>(m->h.n_ctx_train, DEFAULT_CONTEXT);
    if (const weight *positions = model_matrix(m, ROLE_POSITION_EMBD))
        if (out->n_ctx > positions->rows)
            return fail(err, LLM_ERR_ARGUMENT, "n_ctx is %u; this model has learned positions for %llu only",
                        out->n_ctx, (unsigned long long)positions->rows);
    return LLM_OK;
}

llm_status plan_model(const model *m, uint32_t n_batch, plan *out, llm_error *err) {
    graph g;
    model_graph(m, &g);
    return plan_build(&g, backend_target(m->cpu), n_batch, out, err);
}

uint64_t output_bytes(const model *m) { return (m->h.n_vocab + m->h.n_embd) * sizeof(float); }

size_t thread_scratch_bytes(const model *m, const plan *program) {
    return (m->cpu->scratch_bytes(program) + 63) / 64 * 64 + TOP_BYTES;
}

// Buffers of the plan, then what chunks of a step share.
size_t arena_bytes(const model *m, const plan *program, uint32_t n_ctx) {
    return program->arena_bytes + m->cpu->shared_bytes(program, n_ctx);
}

void count_needs(const model *m, const context_options *sized, const plan *program, context_needs *out) {
    kv_shape shape;
    model_kv_shape(m, sized->type_k, sized->type_v, &shape);
    out->n_ctx = sized->n_ctx;
    out->n_batch = sized->n_batch;
    out->kv = kv_sequence_bytes(&shape, sized->n_ctx, sized->n_batch) * sized->n_seq_max;
    out->scratch = arena_bytes(m, program, sized->n_ctx) + thread_scratch_bytes(m, program) * thread_count(sized) +
                   output_bytes(m);
}

// Where the caller left n_ctx to us, the largest that the limit allows, in whole blocks.
llm_status fit_budget(const model *m, bool chosen_by_us, context_options *sized, const plan *program,
                      context_needs *needs, llm_error *err) {
    count_needs(m, sized, program, needs);
    const uint64_t limit = sized->mem_limit;
    if (!limit || needs->kv + needs->scratch <= limit) return LLM_OK;
    context_options tried = *sized;
    context_needs tried_needs;
    uint32_t fits = 0; // blocks of a sequence
    for (uint32_t above = blocks_per_sequence(sized->n_ctx); above - fits > 1;) {
        const uint32_t n = fits + (above - fits) / 2;
        tried.n_ctx = n * KV_BLOCK;
        count_needs(m, &tried, program, &tried_needs);
        (tried_needs.kv + tried_needs.scratch <= limit ? fits : above) = n;
    }
    if (!chosen_by_us || fits == 0)
        return fail(err, LLM_ERR_BUDGET,
                    "a context of %u tokens needs %llu bytes of KV and %llu of scratch; the memory limit is %llu",
                    sized->n_ctx, (unsigned long long)needs->kv, (unsigned long long)needs->scratch,
                    (unsigned long long)limit);
    sized->n_ctx = fits * KV_BLOCK;
    count_needs(m, sized, program, needs);
    return LLM_OK;
}

llm_status size_context(const model *m, const context_options *options, context_options *sized, plan *program,
                        context_needs *needs, llm_error *err) {
    if (m->vocab_only) return fail(err, LLM_ERR_ARGUMENT, "the model was loaded without weights (vocab_only)");
    LLM_TRY(choose_sizes(m, options, sized, err));
    LLM_TRY(plan_model(m, sized->n_batch, program, err));
    return fit_budget(m, options->n_ctx == 0, sized, program, needs, err);
}

void reserve_arrays(context *c) {
    pass_arrays *a = &c->arrays;
    for (auto *v : {&a->tokens, &a->pos, &a->place, &a->n_visible}) v->reserve(c->n_batch);
    a->embd.reserve(c->n_batch);
    a->run_of_token.reserve(c->n_batch);
    a->outputs.reserve(c->n_batch);
    a->runs.reserve(c->n_batch);
    c->chunks_of_phase.resize(c->program.phases.size());
    c->chunks_of_step.resize(c->program.steps.size());
    c->n_appended.resize(c->kv.sequences.size());
    c->n_placed.resize(c->kv.sequences.size());
    c->n_placed_before.resize(c->kv.sequences.size());
    c->logits.reserve(c->m->h.n_vocab);
    c->hidden.reserve(c->m->h.n_embd);
}

// What the cache may ever take: all sequences full, and as many blocks again for checkpoints and copies, within the limit.
uint64_t most_kv_bytes(const context_options *sized, const context_needs *needs, size_t block_bytes) {
    uint64_t n = (2ull * blocks_per_sequence(sized->n_ctx) * sized->n_seq_max + 64) * block_bytes;
    return sized->mem_limit ? std::min(n, sized->mem_limit - needs->scratch) : n;
}

llm_status take_memory(context *c, const context_options *sized, const context_needs *needs, llm_error *err) {
    const model *m = c->m;
    llm_allocator allocator = sized->allocator ? memory_allocator(sized->allocator) : m->allocator;
    kv_shape shape;
    model_kv_shape(m, sized->type_k, sized->type_v, &shape);
    const uint64_t max_bytes = most_kv_bytes(sized, needs, shape.block_bytes);
    kv_create(&c->kv, std::move(shape), &allocator, c->n_ctx, sized->n_seq_max, max_bytes);
    const size_t bytes = arena_bytes(m, &c->program, c->n_ctx);
    LLM_TRY(memory_take(&allocator, LLM_MEMORY_ARENA, bytes, false, "activations", &c->arena, err));
    c->scratch_step = thread_scratch_bytes(m, &c->program);
    return memory_take(&allocator, LLM_MEMORY_ARENA, c->scratch_step * pool_n_threads(c->threads), false,
                       "thread scratch", &c->thread_scratch, err);
}

llm_status take_threads(context *c, const context_options *sized, llm_error *err) {
    c->threads = sized->threads;
    if (!c->threads) {
        LLM_TRY(pool_create(sized->n_threads, &c->own_threads, err));
        c->threads = c->own_threads;
    }
    c->n_threads = pool_n_threads(c->threads);
    return pool_reserve(c->threads, (uint32_t)c->program.phases.size(), err);
}

} // namespace

llm_status context_needs_of(const model *m, const context_options *options, context_needs *out, llm_error *err) {
    context_options sized;
    plan program;
    return size_context(m, options, &sized, &program, out, err);
}

llm_status context_create(model *m, const context_options *options, context **out, llm_error *err) {
    std::unique_ptr<context, void (*)(context *)> c(new context, context_free);
    model_retain(m);
    c->m = m;
    context_options sized;
    context_needs needs;
    LLM_TRY(size_context(m, options, &sized, &c->program, &needs, err));
    c->n_ctx = sized.n_ctx;
    c->n_batch = sized.n_batch;
    LLM_TRY(take_threads(c.get(), &sized, err));
    LLM_TRY(take_memory(c.get(), &sized, &needs, err));
    reserve_arrays(c.get());
    *out = c.release();
    return LLM_OK;
}

void context_free(context *c) {
    if (!c) return;
    pool_free(c->own_threads);
    kv_destroy(&c->kv);
    memory_release(&c->arena);
    memory_release(&c->thread_scratch);
    model_release(c->m);
    delete c;
}

llm_status context_set_threads(context *c, uint32_t n_threads, llm_error *err) {
    if (!c->own_threads) return fail(err, LLM_ERR_ARGUMENT, "the context uses a shared pool; its size is fixed");
    if (n_threads == 0) n_threads = default_thread_count();
    if (n_threads > pool_n_threads(c->threads)) {
        pool *made = nullptr;
        memory_block scratch;
        LLM_TRY(pool_create(n_threads, &made, err));
        std::unique_ptr<pool, void (*)(pool *)> larger(made, pool_free);
        LLM_TRY(pool_reserve(made, (uint32_t)c->program.phases.size(), err));
        LLM_TRY(memory_take(&c->thread_scratch.allocator, LLM_MEMORY_ARENA, c->scratch_step * n_threads, false,
                            "thread scratch", &scratch, err));
        memory_release(&c->thread_scratch);
        pool_free(c->own_threads);
        c->thread_scratch = scratch;
        c->threads = c->own_threads = larger.release();
    }
    c->n_threads = n_threads;
    return LLM_OK;
}

} // namespace llm

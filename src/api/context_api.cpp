#include "api/context_api.h"
#include "api/model_api.h"
#include "api/objects.h"
#include "api/pool_api.h"
#include "core/topology.h"

namespace llm {

static llm_status read_kv_type(llm_kv_type given, kv_element *out, llm_error *err) {
    static_assert(int(LLM_KV_F32) == int(KV_F32) && int(LLM_KV_Q8_0) == int(KV_Q8_0) && int(LLM_KV_Q4_0) == int(KV_Q4_0),
                  "one list twice");
    if ((unsigned)given >= KV_ELEMENTS)
        return fail(err, LLM_ERR_ARGUMENT, "kv_type is %d; expected LLM_KV_F16, _F32, _Q8_0 or _Q4_0", (int)given);
    *out = (kv_element)given;
    return LLM_OK;
}

llm_status context_options_read(const llm_context_options *given, context_options *out, llm_error *err) {
    llm_context_options o;
    LLM_TRY(read_options(given, "llm_context_options", &o, err));
    LLM_TRY(read_kv_type(o.kv_type_k, &out->type_k, err));
    LLM_TRY(read_kv_type(o.kv_type_v, &out->type_v, err));
    out->n_ctx = o.n_ctx;
    out->n_batch = o.n_batch;
    out->n_seq_max = o.n_seq_max;
    out->n_threads = o.n_threads;
    out->threads = o.pool ? o.pool->p : nullptr;
    out->mem_limit = o.mem_limit;
    out->allocator = o.allocator;
    return LLM_OK;
}

namespace {

void destroy(llm_context *context) {
    while (llm_checkpoint *first = context->checkpoints) {
        context->checkpoints = first->next;
        delete first;
    }
    context_free(context->c);
    shared_pool_release(context->pool);
    delete context;
}

llm_status check_seq(const llm_context *context, llm_seq seq, llm_error *err) {
    size_t n = context->c->kv.sequences.size();
    if (seq >= 0 && (size_t)seq < n) return LLM_OK;
    return fail(err, LLM_ERR_ARGUMENT, "sequence %d does not exist; the context has %zu", seq, n);
}

llm_status check_reach(const llm_context *context, llm_seq seq, uint32_t length, llm_error *err) {
    const kv_cache *kv = &context->c->kv;
    const kv_sequence *s = &kv->sequences[(size_t)seq];
    if (kv_reaches(kv, s, length)) return LLM_OK;
    return fail(err, LLM_ERR_REFUSED,
                "sequence %d of %u tokens cannot go back to %u: its sliding windows have dropped what is needed there; "
                "the last %u tokens, all of them, or a checkpoint can be gone back to",
                seq, s->n, length, KV_SLACK);
}

} // namespace

} // namespace llm

using namespace llm;

llm_status llm_context_create(llm_model *model, const llm_context_options *options, llm_context **out,
                              llm_error *err) {
    return api_run(err, [&] {
        if (!model || !out) return fail(err, LLM_ERR_ARGUMENT, "model or out is NULL");
        context_options o;
        LLM_TRY(context_options_read(options, &o, err));
        std::unique_ptr<llm_context> made(new llm_context);
        LLM_TRY(context_create(model->m, &o, &made->c, err));
        if (options && options->pool) {
            shared_pool_retain(options->pool);
            made->pool = options->pool;
        }
        *out = made.release();
        return LLM_OK;
    });
}

void llm_context_free(llm_context *context) {
    if (context && call_may_destroy(&context->call, [&] { llm_cancel(context); })) destroy(context);
}

uint32_t llm_context_n_ctx(const llm_context *context) { return context ? context->c->n_ctx : 0; }
uint32_t llm_context_n_threads(const llm_context *context) { return context ? context->c->n_threads : 0; }

llm_status llm_context_set_threads(llm_context *context, uint32_t n_threads, llm_error *err) {
    return api_call(context, destroy, err, [&] { return context_set_threads(context->c, n_threads, err); });
}

llm_status llm_estimate_memory(const char *path, const llm_model_options *model_options,
                               const llm_context_options *options, llm_estimate *out, llm_error *err) {
    return api_run(err, [&] {
        if (!path || !out) return fail(err, LLM_ERR_ARGUMENT, "path or out is NULL");
        llm_model_options mo;
        model_load_options inner;
        context_options co;
        LLM_TRY(read_options(model_options, "llm_model_options", &mo, err));
        LLM_TRY(model_options_read(&mo, &inner, err));
        LLM_TRY(context_options_read(options, &co, err));
        gguf_file file;
        LLM_TRY(gguf_open(path, &file, err));
        model *m = nullptr;
        LLM_TRY(model_describe(&file, &inner, &m, err));
        std::unique_ptr<model, void (*)(model *)> guard(m, model_release);
        context_needs needs;
        LLM_TRY(context_needs_of(m, &co, &needs, err));
        uint32_t threads = inner.n_threads ? inner.n_threads : default_thread_count();
        *out = {};
        out->weights = model_private_bytes(m);
        out->mapped = model_weight_bytes(m) - out->weights;
        out->vocab = m->metadata_bytes * 3 / 2; // 1.1 to 1.6 for published vocabularies of 32,000 to 262,144 tokens
        out->kv = needs.kv;
        out->scratch = needs.scratch;
        out->load_peak = model_staging_bytes(m, threads) + m->metadata_bytes;
        out->n_ctx = needs.n_ctx;
        return LLM_OK;
    });
}

llm_status llm_decode(llm_context *context, const llm_batch *batch, llm_error *err) {
    return api_call(context, destroy, err, [&] {
        if (!batch) return fail(err, LLM_ERR_ARGUMENT, "batch is NULL");
        llm_batch b;
        LLM_TRY(read_options(batch, "llm_batch", &b, err));
        return context_decode(context->c, &b, err);
    });
}

llm_status llm_encode(llm_context *context, const llm_batch *, llm_error *err) {
    return api_call(context, destroy, err, [&] {
        return fail(err, LLM_ERR_UNSUPPORTED, "architecture %s has no encoder", context->c->m->architecture.c_str());
    });
}

const float *llm_logits(const llm_context *context, int32_t index) {
    return context ? context_logits(context->c, index) : nullptr;
}
const float *llm_hidden_state(const llm_context *context, int32_t index) {
    return context ? context_hidden(context->c, index) : nullptr;
}
const llm_candidate *llm_top(const llm_context *context, int32_t index, size_t *n) {
    size_t ignored;
    return context ? context_top(context->c, index, n ? n : &ignored) : nullptr;
}

int32_t llm_seq_length(const llm_context *context, llm_seq seq) {
    if (!context || seq < 0 || (size_t)seq >= context->c->kv.sequences.size()) return -1;
    return (int32_t)context->c->kv.sequences[(size_t)seq].n;
}

llm_status llm_seq_truncate(llm_context *context, llm_seq seq, uint32_t length, llm_error *err) {
    return api_call(context, destroy, err, [&] {
        LLM_TRY(check_seq(context, seq, err));
        uint32_t n = context->c->kv.sequences[(size_t)seq].n;
        if (length > n) return fail(err, LLM_ERR_ARGUMENT, "length is %u; the sequence has %u tokens", length, n);
        LLM_TRY(check_reach(context, seq, length, err));
        kv_truncate(&context->c->kv, (uint32_t)seq, length);
        return LLM_OK;
    });
}

llm_status llm_seq_clear(llm_context *context, llm_seq seq, llm_error *err) {
    return llm_seq_truncate(context, seq, 0, err);
}

llm_status llm_seq_share(llm_context *context, llm_seq from, llm_seq to, uint32_t length, llm_error *err) {
    return api_call(context, destroy, err, [&] {
        LLM_TRY(check_seq(context, from, err));
        LLM_TRY(check_seq(context, to, err));
        kv_cache *kv = &context->c->kv;
        uint32_t n = kv->sequences[(size_t)from].n;
        if (length > n) return fail(err, LLM_ERR_ARGUMENT, "length is %u; sequence %d has %u tokens", length, from, n);
        LLM_TRY(check_reach(context, from, length, err));
        if (from == to) kv_truncate(kv, (uint32_t)to, length);
        else kv_share(kv, &kv->sequences[(size_t)from], &kv->sequences[(size_t)to], length);
        return LLM_OK;
    });
}

llm_status llm_seq_checkpoint(llm_context *context, llm_seq seq, llm_checkpoint **out, llm_error *err) {
    return api_call(context, destroy, err, [&] {
        if (!out) return fail(err, LLM_ERR_ARGUMENT, "out is NULL");
        LLM_TRY(check_seq(context, seq, err));
        kv_cache *kv = &context->c->kv;
        const kv_sequence *from = &kv->sequences[(size_t)seq];
        std::unique_ptr<llm_checkpoint> made(new llm_checkpoint);
        kv_share(kv, from, &made->sequence, from->n);
        made->next = context->checkpoints;
        *out = context->checkpoints = made.release();
        return LLM_OK;
    });
}

llm_status llm_seq_restore(llm_context *context, llm_seq seq, const llm_checkpoint *from, llm_error *err) {
    return api_call(context, destroy, err, [&] {
        if (!from) return fail(err, LLM_ERR_ARGUMENT, "the checkpoint is NULL");
        LLM_TRY(check_seq(context, seq, err));
        kv_share(&context->c->kv, &from->sequence, &context->c->kv.sequences[(size_t)seq], from->sequence.n);
        return LLM_OK;
    });
}

void llm_checkpoint_free(llm_context *context, llm_checkpoint *checkpoint) {
    if (!context || !checkpoint) return;
    api_call(context, destroy, nullptr, [&] {
        llm_checkpoint **link = &context->checkpoints;
        while (*link && *link != checkpoint) link = &(*link)->next;
        if (!*link) return LLM_ERR_ARGUMENT;
        *link = checkpoint->next;
        kv_drop(&context->c->kv, &checkpoint->sequence);
        delete checkpoint;
        return LLM_OK;
    });
}

llm_status llm_seq_set_adapters(llm_context *context, llm_seq seq, llm_adapter *const *, const float *, size_t n,
                                llm_error *err) {
    return api_call(context, destroy, err, [&] {
        LLM_TRY(check_seq(context, seq, err));
        if (context->c->kv.sequences[(size_t)seq].n > 0)
            return fail(err, LLM_ERR_REFUSED, "sequence %d holds tokens computed with its present adapters; clear it first",
                        seq);
        // An llm_adapter cannot be made yet, so a set that is not empty holds something else.
        return n == 0 ? LLM_OK : fail(err, LLM_ERR_UNSUPPORTED, "adapters are not supported by this build");
    });
}

static llm_status read_stops(const llm_generate_options *o, stop_matcher *out, llm_error *err) {
    if (o->n_stops && !o->stops) return fail(err, LLM_ERR_ARGUMENT, "stops is NULL, n_stops is %zu", o->n_stops);
    std::vector<std::string_view> stops;
    for (size_t i = 0; i < o->n_stops; i++) stops.emplace_back(o->stops[i].text ? o->stops[i].text : "", o->stops[i].length);
    stop_matcher_init(out, stops.data(), stops.size());
    return LLM_OK;
}

static llm_status generate_with(llm_context *context, llm_sampler *s, const llm_generate_options *options,
                                const llm_token *ids, size_t n_ids, llm_event_callback callback, void *user,
                                std::vector<llm_token> *made, llm_result *result, llm_error *err) {
    llm_generate_options o;
    LLM_TRY(read_options(options, "llm_generate_options", &o, err));
    stop_matcher stops;
    LLM_TRY(read_stops(&o, &stops, err));
    if (o.seq < 0) return fail(err, LLM_ERR_ARGUMENT, "sequence %d does not exist", o.seq);
    generate_options inner;
    inner.seq = (uint32_t)o.seq;
    inner.n_predict = o.n_predict;
    inner.ignore_eog = o.ignore_eog;
    inner.stops = o.n_stops ? &stops : nullptr;
    inner.callback = callback;
    inner.user = user;
    return generate(context->c, &s->s, &inner, ids, n_ids, made, nullptr, result, err);
}

static void destroy_sampler(llm_sampler *sampler) { delete sampler; }

llm_status llm_generate(llm_context *context, llm_sampler *sampler, const llm_generate_options *options,
                        const llm_token *ids, size_t n_ids, llm_event_callback callback, void *user,
                        llm_token *out_ids, size_t out_capacity, llm_result *result, llm_error *err) {
    return api_call(context, destroy, err, [&] {
        return api_call(sampler, destroy_sampler, err, [&] {
            std::vector<llm_token> made;
            llm_result ignored;
            llm_status status = generate_with(context, sampler, options, ids, n_ids, callback, user, &made,
                                              result ? result : &ignored, err);
            for (size_t i = 0; out_ids && i < made.size() && i < out_capacity; i++) out_ids[i] = made[i];
            return status;
        });
    });
}

void llm_cancel(llm_context *context) {
    if (context) context->c->cancel.store(true, std::memory_order_relaxed);
}
void llm_cancel_reset(llm_context *context) {
    if (context) context->c->cancel.store(false, std::memory_order_relaxed);
}

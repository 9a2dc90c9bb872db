#include "api/objects.h"

using namespace llm;

static void destroy(llm_sampler *sampler) { delete sampler; }

llm_status llm_sampler_create(const llm_sampler_options *options, llm_sampler **out, llm_error *err) {
    return api_run(err, [&] {
        if (!out) return fail(err, LLM_ERR_ARGUMENT, "out is NULL");
        llm_sampler_options o;
        LLM_TRY(read_options(options, "llm_sampler_options", &o, err));
        std::unique_ptr<llm_sampler> made(new llm_sampler);
        LLM_TRY(sampler_init(&made->s, &o, err));
        *out = made.release();
        return LLM_OK;
    });
}

void llm_sampler_free(llm_sampler *sampler) {
    if (sampler && call_may_destroy(&sampler->call, [] {})) destroy(sampler);
}

llm_status llm_sampler_accept(llm_sampler *sampler, llm_token id, llm_error *err) {
    return api_call(sampler, destroy, err, [&] {
        sampler_accept(&sampler->s, id);
        return LLM_OK;
    });
}

void llm_sampler_reset(llm_sampler *sampler) {
    api_call(sampler, destroy, nullptr, [&] {
        sampler_reset(&sampler->s);
        return LLM_OK;
    });
}

llm_status llm_sampler_sample(llm_sampler *sampler, const float *logits, size_t n_vocab, uint64_t position,
                              llm_token *out, llm_error *err) {
    return api_call(sampler, destroy, err, [&] {
        if (!logits || !n_vocab || !out) return fail(err, LLM_ERR_ARGUMENT, "logits or out is NULL, or n_vocab is 0");
        return sampler_sample(&sampler->s, logits, n_vocab, position, out, err);
    });
}

llm_status llm_sampler_sample_candidates(llm_sampler *sampler, const llm_candidate *candidates, size_t n,
                                         uint64_t position, llm_token *out, llm_error *err) {
    return api_call(sampler, destroy, err, [&] {
        if (!candidates || !n || !out) return fail(err, LLM_ERR_ARGUMENT, "candidates or out is NULL, or n is 0");
        return sampler_sample_candidates(&sampler->s, candidates, n, position, out, err);
    });
}

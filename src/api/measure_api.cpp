// Costs, limits, and models to measure with.
#include "api/model_api.h"
#include "api/objects.h"
#include "model/synth.h"
#include "run/roofline.h"
#include <string.h>

using namespace llm;

// As much of a result as the caller's struct has room for.
template <class Result> static void give(Result result, Result *out) {
    result.size = out->size;
    size_t size = out->size && out->size < sizeof result ? out->size : sizeof result;
    memcpy((void *)out, &result, size);
}

static llm_cost public_cost(const model_cost &c) {
    return {0,           c.n_params, c.weight_bytes,    c.token_bytes, c.layer_macs,
            c.head_macs, c.kv_bytes, c.kv_window_bytes, c.n_window};
}

llm_status llm_synth(const char *shape, const char *type, uint64_t seed, const char *path,
                     llm_progress_callback callback, void *user, llm_error *err) {
    return api_run(err, [&] {
        if (!shape || !type || !path) return fail(err, LLM_ERR_ARGUMENT, "shape, type or path is NULL");
        progress steps = {callback, user};
        return synth_write(shape, type, seed, path, &steps, err);
    });
}

const char *llm_shape_name(size_t index) {
    const synth_shape *shape = synth_shape_at(index);
    return shape ? shape->name : nullptr;
}

llm_status llm_shape_get_cost(const char *shape, const char *type, llm_cost *out, llm_error *err) {
    return api_run(err, [&] {
        if (!shape || !type || !out) return fail(err, LLM_ERR_ARGUMENT, "shape, type or out is NULL");
        model_cost cost;
        LLM_TRY(synth_cost(shape, type, backend_best(), &cost, err));
        give(public_cost(cost), out);
        return LLM_OK;
    });
}

llm_status llm_model_get_cost(const llm_model *model, llm_cost *out, llm_error *err) {
    return api_run(err, [&] {
        if (!model || !out) return fail(err, LLM_ERR_ARGUMENT, "model or out is NULL");
        if (model->m->vocab_only) return fail(err, LLM_ERR_REFUSED, "the model was loaded without weights");
        model_cost cost;
        model_get_cost(model->m, &cost);
        give(public_cost(cost), out);
        return LLM_OK;
    });
}

llm_status llm_roofline_measure(const char *cpu_tier, uint32_t n_threads, llm_roofline *out, llm_error *err) {
    return api_run(err, [&] {
        if (!out) return fail(err, LLM_ERR_ARGUMENT, "out is NULL");
        const backend *tier = nullptr;
        LLM_TRY(tier_find(cpu_tier, &tier, err));
        roofline measured;
        LLM_TRY(roofline_measure(tier ? tier : backend_best(), n_threads, &measured, err));
        give(llm_roofline{0, measured.n_threads, measured.read_gbps, measured.dot_gmacs, measured.huge_share}, out);
        return LLM_OK;
    });
}

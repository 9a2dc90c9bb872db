#include "model/hparams.h"
#include "backend/backend.h"
#include "core/fmath.h"

namespace llm {

namespace {

struct integer_key {
    const char *key;
    uint64_t hparams::*field;
    bool required;
    uint64_t least, most;
};
// Bounds are far beyond any published model and keep products of two well inside 64 bits.
const integer_key integer_keys[] = {
    {"block_count", &hparams::n_layer, true, 1, 4096},
    {"context_length", &hparams::n_ctx_train, true, 1, 1u << 30},
    {"embedding_length", &hparams::n_embd, true, 1, 1u << 20},
    {"feed_forward_length", &hparams::n_ff, true, 1, 1u << 24},
    {"attention.head_count", &hparams::n_head, true, 1, 4096},
    {"attention.head_count_kv", &hparams::n_head_kv, false, 1, 4096},
    {"attention.key_length", &hparams::head_k, false, 1, MAX_HEAD},
    {"attention.value_length", &hparams::head_v, false, 1, MAX_HEAD},
    {"rope.dimension_count", &hparams::n_rot, false, 0, MAX_HEAD},
    {"rope.scaling.original_context_length", &hparams::scaling_n_ctx, false, 1, 1u << 30},
};

struct number_key {
    const char *key;
    double hparams::*field;
    double least, most;
};
const number_key number_keys[] = {
    {"attention.scale", &hparams::attention_scale, 1e-6, 1e6},
    {"rope.freq_base", &hparams::rope_freq_base, 1.0, 1e15},
    {"rope.freq_base_swa", &hparams::local_rope_base, 1.0, 1e15},
    {"rope.scaling.factor", &hparams::scaling_factor, 1e-6, 1e6},
    {"rope.scale_linear", &hparams::scaling_factor, 1e-6, 1e6},
    {"rope.scaling.attn_factor", &hparams::scaling_attn_factor, 1e-6, 1e6},
    {"rope.scaling.yarn_beta_fast", &hparams::yarn_beta_fast, 1e-6, 1e6},
    {"rope.scaling.yarn_beta_slow", &hparams::yarn_beta_slow, 1e-6, 1e6},
};

// Keys that change what a model computes and that no family here does: only the value that changes nothing is taken.
struct refused_key {
    const char *key;
    double neutral;
    const char *what;
};
const refused_key refused_keys[] = {
    {"expert_count", 0, "mixtures of experts"},         {"attn_logit_softcapping", 0, "soft caps"},
    {"final_logit_softcapping", 0, "soft caps"},        {"attention.clamp_kqv", 0, "clamped projections"},
    {"attention.max_alibi_bias", 0, "ALiBi positions"}, {"embedding_scale", 1, "scaled embeddings"},
    {"residual_scale", 1, "scaled residuals"},          {"logit_scale", 1, "scaled logits"},
};

struct scaling_name {
    const char *name;
    rope_scaling scaling;
};
const scaling_name scaling_names[] = {
    {"none", ROPE_SCALE_NONE}, {"linear", ROPE_SCALE_LINEAR}, {"yarn", ROPE_SCALE_YARN}};

std::string full_key(const hparams *h, const char *key) { return h->architecture + "." + key; }

llm_status read_integers(const gguf_file *file, hparams *h, llm_error *err) {
    for (const integer_key &k : integer_keys) {
        std::string key = full_key(h, k.key);
        if (!k.required && !gguf_find(file, key)) continue;
        uint64_t value;
        LLM_TRY(gguf_get_u64(file, key, &value, err));
        if (value < k.least || value > k.most)
            return fail(err, LLM_ERR_DAMAGED, "%s is %llu; expected %llu to %llu", key.c_str(),
                        (unsigned long long)value, (unsigned long long)k.least, (unsigned long long)k.most);
        h->*k.field = value;
    }
    return LLM_OK;
}

llm_status read_number(const gguf_file *file, const std::string &key, double least, double most, double *out,
                       llm_error *err) {
    double value;
    LLM_TRY(gguf_get_f64(file, key, &value, err));
    if (!(value >= least && value <= most))
        return fail(err, LLM_ERR_DAMAGED, "%s is %g; expected %g to %g", key.c_str(), value, least, most);
    *out = value;
    return LLM_OK;
}

llm_status read_numbers(const gguf_file *file, eps_key eps, hparams *h, llm_error *err) {
    for (const number_key &k : number_keys) {
        std::string key = full_key(h, k.key);
        if (gguf_find(file, key)) LLM_TRY(read_number(file, key, k.least, k.most, &(h->*k.field), err));
    }
    const char *key = eps == EPS_RMS ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon";
    return read_number(file, full_key(h, key), 0, 1, &h->norm_eps, err);
}

llm_status read_scaling(const gguf_file *file, hparams *h, llm_error *err) {
    std::string key = full_key(h, "rope.scaling.type");
    // Files from before the type key give only a factor, which is linear.
    std::string_view fallback = gguf_find(file, full_key(h, "rope.scale_linear")) ? "linear" : "none";
    std::string_view name = gguf_string_or(file, key, fallback);
    for (const scaling_name &s : scaling_names) {
        if (name != s.name) continue;
        h->scaling = s.scaling;
        return LLM_OK;
    }
    return fail(err, LLM_ERR_UNSUPPORTED, "%s \"%.*s\" is not supported by this build", key.c_str(), (int)name.size(),
                name.data());
}

llm_status refuse_keys(const gguf_file *file, const hparams *h, llm_error *err) {
    for (const refused_key &k : refused_keys) {
        std::string key = full_key(h, k.key);
        double value = k.neutral;
        if (gguf_find(file, key)) LLM_TRY(gguf_get_f64(file, key, &value, err));
        if (value != k.neutral)
            return fail(err, LLM_ERR_UNSUPPORTED, "%s is %g; %s are not supported by this build", key.c_str(), value,
                        k.what);
    }
    return LLM_OK;
}

constexpr uint64_t MAX_WINDOW = 1u << 30;

// Which layers are local: every layer but the last of each period, or as an array of truth values says.
llm_status read_pattern(const gguf_file *file, hparams *h, uint64_t period, llm_error *err) {
    std::string key = full_key(h, "attention.sliding_window_pattern");
    const gguf_value *pattern = gguf_find(file, key);
    if (pattern && pattern->is_array) {
        if (pattern->type != GGUF_BOOL || pattern->count != h->n_layer)
            return fail(err, LLM_ERR_DAMAGED,
                        "%s is an array of %llu %s; expected a truth value for each of %llu layers", key.c_str(),
                        (unsigned long long)pattern->count,
                        pattern->type == GGUF_BOOL ? "truth values" : "other values", (unsigned long long)h->n_layer);
        for (size_t i = 0; i < h->layers.size(); i++) h->layers[i].local = pattern->data[i] != 0;
        return LLM_OK;
    }
    if (pattern) LLM_TRY(gguf_get_u64(file, key, &period, err));
    if (period == 0) return fail(err, LLM_ERR_DAMAGED, "%s is 0; expected a number of layers", key.c_str());
    for (size_t i = 0; i < h->layers.size(); i++) h->layers[i].local = (i + 1) % period != 0;
    return LLM_OK;
}

llm_status read_layers(const gguf_file *file, const hparams_rules *rules, hparams *h, llm_error *err) {
    h->layers.assign(h->n_layer, layer_hparams());
    if (!rules->local_period) return LLM_OK;
    LLM_TRY(read_pattern(file, h, rules->local_period, err));
    uint64_t window;
    std::string key = full_key(h, "attention.sliding_window");
    LLM_TRY(gguf_get_u64(file, key, &window, err));
    if (window < 1 || window > MAX_WINDOW)
        return fail(err, LLM_ERR_DAMAGED, "%s is %llu; expected 1 to %llu", key.c_str(), (unsigned long long)window,
                    (unsigned long long)MAX_WINDOW);
    for (layer_hparams &layer : h->layers)
        if (layer.local) layer.window = (uint32_t)window;
    return LLM_OK;
}

llm_status check_shape(hparams *h, llm_error *err) {
    auto u = [](uint64_t x) { return (unsigned long long)x; };
    if (!h->n_head_kv) h->n_head_kv = h->n_head;
    if (h->n_head % h->n_head_kv)
        return fail(err, LLM_ERR_DAMAGED, "attention.head_count %llu is not a multiple of head_count_kv %llu",
                    u(h->n_head), u(h->n_head_kv));
    if ((!h->head_k || !h->head_v) && h->n_embd % h->n_head)
        return fail(err, LLM_ERR_DAMAGED, "embedding_length %llu is not a multiple of attention.head_count %llu",
                    u(h->n_embd), u(h->n_head));
    if (!h->head_k) h->head_k = h->n_embd / h->n_head;
    if (!h->head_v) h->head_v = h->n_embd / h->n_head;
    if (h->head_k > MAX_HEAD || h->head_v > MAX_HEAD)
        return fail(err, LLM_ERR_UNSUPPORTED, "heads of %llu and %llu numbers; at most %u are supported", u(h->head_k),
                    u(h->head_v), MAX_HEAD);
    if (!h->n_rot) h->n_rot = h->head_k;
    if (h->n_rot > h->head_k || h->n_rot % 2)
        return fail(err, LLM_ERR_DAMAGED,
                    "rope.dimension_count is %llu; expected an even number up to the head size %llu", u(h->n_rot),
                    u(h->head_k));
    if (h->attention_scale == 0) h->attention_scale = 1.0 / sqrt_f64((double)h->head_k);
    if (!h->scaling_n_ctx) h->scaling_n_ctx = h->n_ctx_train;
    return LLM_OK;
}

} // namespace

llm_status hparams_read(const gguf_file *file, const std::string &architecture, eps_key eps, const hparams_rules *rules,
                        hparams *out, llm_error *err) {
    *out = hparams();
    out->architecture = architecture;
    out->local_rope_base = rules->local_rope_base;
    LLM_TRY(read_integers(file, out, err));
    LLM_TRY(read_numbers(file, eps, out, err));
    LLM_TRY(read_scaling(file, out, err));
    LLM_TRY(refuse_keys(file, out, err));
    LLM_TRY(read_layers(file, rules, out, err));
    return check_shape(out, err);
}

} // namespace llm

// llama: RMS norms, rotary embedding over neighbouring pairs, grouped-query attention, SiLU-gated FFN; optional biases.
// qwen2 is the same layer with rotary halves, so both rows live here.
#include "model/family.h"

namespace llm {

namespace {

const family_weight weights[] = {
    {ROLE_TOKEN_EMBD, true}, {ROLE_OUTPUT_NORM, true}, {ROLE_OUTPUT, false}, {ROLE_ROPE_FREQS, false},
    {ROLE_ATTN_NORM, true}, {ROLE_ATTN_Q, true}, {ROLE_ATTN_K, true}, {ROLE_ATTN_V, true}, {ROLE_ATTN_OUT, true},
    {ROLE_ATTN_Q_BIAS, false}, {ROLE_ATTN_K_BIAS, false}, {ROLE_ATTN_V_BIAS, false}, {ROLE_ATTN_OUT_BIAS, false},
    {ROLE_FFN_NORM, true}, {ROLE_FFN_GATE, true}, {ROLE_FFN_UP, true}, {ROLE_FFN_DOWN, true},
    {ROLE_FFN_GATE_BIAS, false}, {ROLE_FFN_UP_BIAS, false}, {ROLE_FFN_DOWN_BIAS, false},
};

llm_status parameters(const gguf_file *file, hparams *h, llm_error *err) {
    uint64_t experts = gguf_u64_or(file, h->architecture + ".expert_count", 0);
    if (experts > 0)
        return fail(err, LLM_ERR_UNSUPPORTED, "%s.expert_count is %llu; mixtures of experts are not supported by this build",
                    h->architecture.c_str(), (unsigned long long)experts);
    return LLM_OK;
}

value_id feed_forward(const model *m, graph *g, uint32_t layer, value_id x) {
    value_id gate = family_linear(m, g, layer, "ffn_gate", x, ROLE_FFN_GATE, ROLE_FFN_GATE_BIAS);
    value_id up = family_linear(m, g, layer, "ffn_up", x, ROLE_FFN_UP, ROLE_FFN_UP_BIAS);
    value_id h = graph_glu(g, layer_name(layer, "ffn_glu"), gate, up, ACT_SILU);
    return family_linear(m, g, layer, "ffn_down", h, ROLE_FFN_DOWN, ROLE_FFN_DOWN_BIAS);
}

void build(const model *m, graph *g, rope_style style) {
    float eps = (float)m->h.norm_eps;
    value_id x = graph_embed(g, model_matrix(m, ROLE_TOKEN_EMBD), nullptr, 1.0f);
    value_id table = graph_rope_table(g, "rope_table", family_rope(m, style));
    for (uint32_t layer = 0; layer < m->h.n_layer; layer++) {
        value_id h = graph_norm(g, layer_name(layer, "attn_norm"), x, NORM_RMS, model_vector(m, ROLE_ATTN_NORM, layer),
                                nullptr, eps);
        value_id a = family_self_attention(m, g, layer, h, table, &x);
        x = graph_add(g, layer_name(layer, "attn_residual"), x, a);
        h = graph_norm(g, layer_name(layer, "ffn_norm"), x, NORM_RMS, model_vector(m, ROLE_FFN_NORM, layer), nullptr,
                       eps);
        x = graph_add(g, layer_name(layer, "ffn_residual"), x, feed_forward(m, g, layer, h));
    }
    family_head(m, g, x, NORM_RMS);
}

void build_llama(const model *m, graph *g) { build(m, g, ROPE_NEIGHBOURS); }
void build_qwen2(const model *m, graph *g) { build(m, g, ROPE_HALVES); }

constexpr size_t n_weights = sizeof weights / sizeof *weights;

} // namespace

extern const family family_llama, family_qwen2;
const family family_llama = {"llama", EPS_RMS, weights, n_weights, parameters, build_llama};
const family family_qwen2 = {"qwen2", EPS_RMS, weights, n_weights, parameters, build_qwen2};

} // namespace llm

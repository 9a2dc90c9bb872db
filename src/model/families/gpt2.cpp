// gpt2: learned positions, layer norms with biases, one fused q/k/v projection, GELU (tanh form) feed-forward.
#include "model/family.h"

namespace llm {

namespace {

const family_weight weights[] = {
    {ROLE_TOKEN_EMBD, true}, {ROLE_POSITION_EMBD, true}, {ROLE_OUTPUT_NORM, true}, {ROLE_OUTPUT_NORM_BIAS, true},
    {ROLE_OUTPUT, false}, {ROLE_ATTN_NORM, true}, {ROLE_ATTN_NORM_BIAS, true}, {ROLE_ATTN_Q, true},
    {ROLE_ATTN_K, true}, {ROLE_ATTN_V, true}, {ROLE_ATTN_Q_BIAS, true}, {ROLE_ATTN_K_BIAS, true},
    {ROLE_ATTN_V_BIAS, true}, {ROLE_ATTN_OUT, true}, {ROLE_ATTN_OUT_BIAS, true}, {ROLE_FFN_NORM, true},
    {ROLE_FFN_NORM_BIAS, true}, {ROLE_FFN_UP, true}, {ROLE_FFN_UP_BIAS, true}, {ROLE_FFN_DOWN, true},
    {ROLE_FFN_DOWN_BIAS, true},
};

value_id layer_norm(const model *m, graph *g, uint32_t layer, const char *what, value_id x, role gain, role bias) {
    return graph_norm(g, layer_name(layer, what), x, NORM_LAYER, model_vector(m, gain, layer),
                      model_vector(m, bias, layer), (float)m->h.norm_eps);
}

void build(const model *m, graph *g) {
    value_id x = graph_embed(g, model_matrix(m, ROLE_TOKEN_EMBD), model_matrix(m, ROLE_POSITION_EMBD), 1.0f);
    for (uint32_t layer = 0; layer < m->h.n_layer; layer++) {
        value_id h = layer_norm(m, g, layer, "attn_norm", x, ROLE_ATTN_NORM, ROLE_ATTN_NORM_BIAS);
        value_id a = family_self_attention(m, g, layer, h, -1, &x);
        x = graph_add(g, layer_name(layer, "attn_residual"), x, a);
        h = layer_norm(m, g, layer, "ffn_norm", x, ROLE_FFN_NORM, ROLE_FFN_NORM_BIAS);
        h = family_linear(m, g, layer, "ffn_up", h, ROLE_FFN_UP, ROLE_FFN_UP_BIAS);
        h = graph_activate(g, layer_name(layer, "ffn_act"), h, ACT_GELU_TANH);
        h = family_linear(m, g, layer, "ffn_down", h, ROLE_FFN_DOWN, ROLE_FFN_DOWN_BIAS);
        x = graph_add(g, layer_name(layer, "ffn_residual"), x, h);
    }
    family_head(m, g, x, NORM_LAYER);
}

} // namespace

extern const family family_gpt2;
const family family_gpt2 = {"gpt2", EPS_LAYER, weights, sizeof weights / sizeof *weights, nullptr, build};

} // namespace llm

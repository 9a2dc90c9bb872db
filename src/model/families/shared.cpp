#include "core/fmath.h"
#include "graph/rope.h"
#include "model/family.h"
#include <math.h>

namespace llm {

namespace {

// YaRN (Peng et al. 2023, "YaRN: Efficient Context Window Extension"): pairs that turn more than beta_fast times within
// the trained context keep their frequency, those that turn less than beta_slow times are interpolated, a ramp between.
double yarn_pair(const hparams *h, double turns) {
    double two_pi = 6.283185307179586477;
    return (double)h->n_rot * log_f64((double)h->scaling_n_ctx / (turns * two_pi)) / (2.0 * log_f64(h->rope_freq_base));
}

double floor_of(double x) { return (double)(int64_t)x - (x < 0 && (double)(int64_t)x != x ? 1 : 0); }

void scale_yarn(const hparams *h, rope_spec *rope) {
    double low = floor_of(yarn_pair(h, h->yarn_beta_fast)), high = -floor_of(-yarn_pair(h, h->yarn_beta_slow));
    if (low < 0) low = 0;
    if (high > (double)h->n_rot - 1) high = (double)h->n_rot - 1;
    double width = high - low < 0.001 ? 0.001 : high - low;
    for (size_t i = 0; i < rope->frequency.size(); i++) {
        double ramp = ((double)i - low) / width;
        ramp = ramp < 0 ? 0 : ramp > 1 ? 1 : ramp;
        double own = rope->frequency[i];
        rope->frequency[i] = own / h->scaling_factor * ramp + own * (1 - ramp);
    }
    rope->magnitude = h->scaling_attn_factor * (1.0 + 0.1 * log_f64(h->scaling_factor));
}

} // namespace

// base^(-2i/n), divided by the model's factor for the pair where it has them.
static rope_spec own_frequencies(const model *m, double base) {
    rope_spec rope;
    rope.style = m->kind->rope;
    rope.n_rot = (uint32_t)m->h.n_rot;
    rope_plain_frequencies(base, rope.n_rot, &rope.frequency);
    if (const weight_vector *factors = model_vector(m, ROLE_ROPE_FREQS))
        for (size_t i = 0; i < rope.frequency.size(); i++) rope.frequency[i] = rope.frequency[i] / factors->data[i];
    return rope;
}

rope_spec family_rope(const model *m) {
    const hparams *h = &m->h;
    rope_spec rope = own_frequencies(m, h->rope_freq_base);
    if (h->scaling == ROPE_SCALE_LINEAR)
        for (double &f : rope.frequency) f = f / h->scaling_factor;
    if (h->scaling == ROPE_SCALE_YARN) scale_yarn(h, &rope);
    return rope;
}

rope_spec family_local_rope(const model *m) { return own_frequencies(m, m->h.local_rope_base); }

attention_spec family_attention(const model *m, uint32_t layer) {
    const hparams *h = &m->h;
    attention_spec a;
    a.n_head = (uint32_t)h->n_head;
    a.n_head_kv = (uint32_t)h->n_head_kv;
    a.head_k = (uint32_t)h->head_k;
    a.head_v = (uint32_t)h->head_v;
    a.scale = (float)h->attention_scale;
    a.kv_layer = layer;
    a.window = h->layers[layer].window;
    return a;
}

std::string layer_name(uint32_t layer, const char *what) { return "blk." + std::to_string(layer) + "." + what; }

value_id family_linear(const model *m, graph *g, uint32_t layer, const char *what, value_id x, role matrix, role bias) {
    return graph_linear(g, layer_name(layer, what), x, model_matrix(m, matrix, layer), model_vector(m, bias, layer));
}

value_id family_norm(const model *m, graph *g, uint32_t layer, const char *what, value_id x, role gain, role bias) {
    const weight_vector *w = model_vector(m, gain, layer);
    if (!w) return x;
    return graph_norm(g, layer_name(layer, what), x, m->kind->norm, w, model_vector(m, bias, layer),
                      (float)m->h.norm_eps);
}

value_id family_head_norm(const model *m, graph *g, uint32_t layer, const char *what, value_id x, role gain) {
    const weight_vector *w = model_vector(m, gain, layer);
    return w ? graph_head_norm(g, layer_name(layer, what), x, w, (float)m->h.norm_eps) : x;
}

value_id family_self_attention(const model *m, graph *g, uint32_t layer, value_id x, value_id rope_table,
                               value_id *residual) {
    value_id q = family_linear(m, g, layer, "attn_q", x, ROLE_ATTN_Q, ROLE_ATTN_Q_BIAS);
    value_id k = family_linear(m, g, layer, "attn_k", x, ROLE_ATTN_K, ROLE_ATTN_K_BIAS);
    value_id v = family_linear(m, g, layer, "attn_v", x, ROLE_ATTN_V, ROLE_ATTN_V_BIAS);
    q = family_head_norm(m, g, layer, "attn_q_norm", q, ROLE_ATTN_Q_NORM);
    k = family_head_norm(m, g, layer, "attn_k_norm", k, ROLE_ATTN_K_NORM);
    value_id a = graph_attention(g, layer_name(layer, "attn"), q, k, v, rope_table, family_attention(m, layer));
    // Past the last layer's attention only the rows of wanted tokens matter.
    if (layer + 1 == m->h.n_layer) {
        a = graph_select_outputs(g, a);
        *residual = graph_select_outputs(g, *residual);
    }
    return family_linear(m, g, layer, "attn_output", a, ROLE_ATTN_OUT, ROLE_ATTN_OUT_BIAS);
}

value_id family_feed_forward(const model *m, graph *g, uint32_t layer, value_id x) {
    value_id h = family_linear(m, g, layer, "ffn_up", x, ROLE_FFN_UP, ROLE_FFN_UP_BIAS);
    if (model_matrix(m, ROLE_FFN_GATE, layer)) {
        value_id gate = family_linear(m, g, layer, "ffn_gate", x, ROLE_FFN_GATE, ROLE_FFN_GATE_BIAS);
        h = graph_glu(g, layer_name(layer, "ffn_glu"), gate, h, m->kind->act);
    } else {
        h = graph_activate(g, layer_name(layer, "ffn_act"), h, m->kind->act);
    }
    return family_linear(m, g, layer, "ffn_down", h, ROLE_FFN_DOWN, ROLE_FFN_DOWN_BIAS);
}

void family_head(const model *m, graph *g, value_id x) {
    g->hidden = graph_norm(g, "output_norm", x, m->kind->norm, model_vector(m, ROLE_OUTPUT_NORM),
                           model_vector(m, ROLE_OUTPUT_NORM_BIAS), (float)m->h.norm_eps);
    const weight *head = model_matrix(m, ROLE_OUTPUT);
    if (!head) head = model_matrix(m, ROLE_TOKEN_EMBD);
    g->logits = graph_linear(g, "output", g->hidden, head, nullptr);
}

} // namespace llm

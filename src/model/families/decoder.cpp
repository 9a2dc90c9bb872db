#include "core/fmath.h"
#include "model/family.h"

namespace llm {

namespace {

// Rotary tables by kind of layer; -1: none.
struct rope_tables {
    value_id all = -1, local = -1;
};

bool has_local_layers(const hparams *h) {
    for (const layer_hparams &layer : h->layers)
        if (layer.local) return true;
    return false;
}

rope_tables add_tables(const model *m, graph *g) {
    rope_tables t;
    if (model_matrix(m, ROLE_POSITION_EMBD)) return t; // learned positions
    t.local = t.all = graph_rope_table(g, "rope_table", family_rope(m));
    if (m->h.local_rope_base > 0 && has_local_layers(&m->h))
        t.local = graph_rope_table(g, "rope_table_local", family_local_rope(m));
    return t;
}

} // namespace

void family_build_decoder(const model *m, graph *g) {
    float scale = m->kind->scales_embedding ? (float)sqrt_f64((double)m->h.n_embd) : 1.0f;
    value_id x = graph_embed(g, model_matrix(m, ROLE_TOKEN_EMBD), model_matrix(m, ROLE_POSITION_EMBD), scale);
    rope_tables tables = add_tables(m, g);
    for (uint32_t layer = 0; layer < m->h.n_layer; layer++) {
        value_id table = m->h.layers[layer].local ? tables.local : tables.all;
        value_id h = family_norm(m, g, layer, "attn_norm", x, ROLE_ATTN_NORM, ROLE_ATTN_NORM_BIAS);
        h = family_self_attention(m, g, layer, h, table, &x);
        h = family_norm(m, g, layer, "attn_post_norm", h, ROLE_ATTN_POST_NORM, ROLE_NONE);
        x = graph_add(g, layer_name(layer, "attn_residual"), x, h);
        h = family_norm(m, g, layer, "ffn_norm", x, ROLE_FFN_NORM, ROLE_FFN_NORM_BIAS);
        h = family_feed_forward(m, g, layer, h);
        h = family_norm(m, g, layer, "ffn_post_norm", h, ROLE_FFN_POST_NORM, ROLE_NONE);
        x = graph_add(g, layer_name(layer, "ffn_residual"), x, h);
    }
    family_head(m, g, x);
}

} // namespace llm

#include "model/roles.h"

namespace llm {

// clang-format off
static const role_row rows[ROLE_COUNT] = {
    {ROLE_TOKEN_EMBD,       "token_embd.weight",    ROLE_MATRIX, DIM_VOCAB,      DIM_EMBD, nullptr, {}},
    {ROLE_POSITION_EMBD,    "position_embd.weight", ROLE_MATRIX, DIM_CONTEXT,    DIM_EMBD, nullptr, {}},
    {ROLE_OUTPUT_NORM,      "output_norm.weight",   ROLE_VECTOR, DIM_EMBD,       DIM_ONE,  nullptr, {}},
    {ROLE_OUTPUT_NORM_BIAS, "output_norm.bias",     ROLE_VECTOR, DIM_EMBD,       DIM_ONE,  nullptr, {}},
    {ROLE_OUTPUT,           "output.weight",        ROLE_MATRIX, DIM_VOCAB,      DIM_EMBD, nullptr, {}},
    {ROLE_ROPE_FREQS,       "rope_freqs.weight",    ROLE_VECTOR, DIM_ROPE_PAIRS, DIM_ONE,  nullptr, {}},

    {ROLE_ATTN_NORM,      "attn_norm.weight",   ROLE_VECTOR, DIM_EMBD, DIM_ONE,  nullptr, {}},
    {ROLE_ATTN_NORM_BIAS, "attn_norm.bias",     ROLE_VECTOR, DIM_EMBD, DIM_ONE,  nullptr, {}},
    {ROLE_ATTN_Q,         "attn_q.weight",      ROLE_MATRIX, DIM_Q,    DIM_EMBD, "attn_qkv.weight", {}},
    {ROLE_ATTN_K,         "attn_k.weight",      ROLE_MATRIX, DIM_K,    DIM_EMBD, "attn_qkv.weight", {DIM_Q, DIM_ONE}},
    {ROLE_ATTN_V,         "attn_v.weight",      ROLE_MATRIX, DIM_V,    DIM_EMBD, "attn_qkv.weight", {DIM_Q, DIM_K}},
    {ROLE_ATTN_Q_BIAS,    "attn_q.bias",        ROLE_VECTOR, DIM_Q,    DIM_ONE,  "attn_qkv.bias", {}},
    {ROLE_ATTN_K_BIAS,    "attn_k.bias",        ROLE_VECTOR, DIM_K,    DIM_ONE,  "attn_qkv.bias", {DIM_Q, DIM_ONE}},
    {ROLE_ATTN_V_BIAS,    "attn_v.bias",        ROLE_VECTOR, DIM_V,    DIM_ONE,  "attn_qkv.bias", {DIM_Q, DIM_K}},
    {ROLE_ATTN_Q_NORM,    "attn_q_norm.weight", ROLE_VECTOR, DIM_HEAD_K, DIM_ONE, nullptr, {}},
    {ROLE_ATTN_K_NORM,    "attn_k_norm.weight", ROLE_VECTOR, DIM_HEAD_K, DIM_ONE, nullptr, {}},
    {ROLE_ATTN_OUT,       "attn_output.weight", ROLE_MATRIX, DIM_EMBD, DIM_ATTN, nullptr, {}},
    {ROLE_ATTN_OUT_BIAS,  "attn_output.bias",   ROLE_VECTOR, DIM_EMBD, DIM_ONE,  nullptr, {}},
    {ROLE_ATTN_POST_NORM, "post_attention_norm.weight", ROLE_VECTOR, DIM_EMBD, DIM_ONE, nullptr, {}},
    {ROLE_FFN_NORM,       "ffn_norm.weight",    ROLE_VECTOR, DIM_EMBD, DIM_ONE,  nullptr, {}},
    {ROLE_FFN_NORM_BIAS,  "ffn_norm.bias",      ROLE_VECTOR, DIM_EMBD, DIM_ONE,  nullptr, {}},
    {ROLE_FFN_GATE,       "ffn_gate.weight",    ROLE_MATRIX, DIM_FF,   DIM_EMBD, nullptr, {}},
    {ROLE_FFN_UP,         "ffn_up.weight",      ROLE_MATRIX, DIM_FF,   DIM_EMBD, nullptr, {}},
    {ROLE_FFN_DOWN,       "ffn_down.weight",    ROLE_MATRIX, DIM_EMBD, DIM_FF,   nullptr, {}},
    {ROLE_FFN_GATE_BIAS,  "ffn_gate.bias",      ROLE_VECTOR, DIM_FF,   DIM_ONE,  nullptr, {}},
    {ROLE_FFN_UP_BIAS,    "ffn_up.bias",        ROLE_VECTOR, DIM_FF,   DIM_ONE,  nullptr, {}},
    {ROLE_FFN_DOWN_BIAS,  "ffn_down.bias",      ROLE_VECTOR, DIM_EMBD, DIM_ONE,  nullptr, {}},
    {ROLE_FFN_POST_NORM,  "post_ffw_norm.weight", ROLE_VECTOR, DIM_EMBD, DIM_ONE, nullptr, {}},
};
// clang-format on

const role_row *role_find(role id) {
    for (const role_row &row : rows)
        if (row.id == id) return &row;
    return nullptr;
}

uint64_t dimension_of(const hparams *h, dimension d) {
    switch (d) {
    case DIM_EMBD: return h->n_embd;
    case DIM_VOCAB: return h->n_vocab;
    case DIM_CONTEXT: return h->n_ctx_train;
    case DIM_Q: return h->n_head * h->head_k;
    case DIM_K: return h->n_head_kv * h->head_k;
    case DIM_V: return h->n_head_kv * h->head_v;
    case DIM_HEAD_K: return h->head_k;
    case DIM_ATTN: return h->n_head * h->head_v;
    case DIM_FF: return h->n_ff;
    case DIM_ROPE_PAIRS: return h->n_rot / 2;
    default: return 1;
    }
}

} // namespace llm

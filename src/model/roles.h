// What tensors of a model are for. One row says a role's name in the file, its shape in terms of hyper-parameters, and
// where it sits when a file holds it fused with others; it drives loading, validation and lookup.
#pragma once
#include "model/hparams.h"

namespace llm {

enum role : uint8_t {
    // once per model
    ROLE_TOKEN_EMBD, ROLE_POSITION_EMBD, ROLE_OUTPUT_NORM, ROLE_OUTPUT_NORM_BIAS, ROLE_OUTPUT, ROLE_ROPE_FREQS,
    // once per layer
    ROLE_ATTN_NORM, ROLE_ATTN_NORM_BIAS, ROLE_ATTN_Q, ROLE_ATTN_K, ROLE_ATTN_V, ROLE_ATTN_Q_BIAS, ROLE_ATTN_K_BIAS,
    ROLE_ATTN_V_BIAS, ROLE_ATTN_Q_NORM, ROLE_ATTN_K_NORM, ROLE_ATTN_OUT, ROLE_ATTN_OUT_BIAS, ROLE_ATTN_POST_NORM,
    ROLE_FFN_NORM, ROLE_FFN_NORM_BIAS, ROLE_FFN_GATE, ROLE_FFN_UP, ROLE_FFN_DOWN, ROLE_FFN_GATE_BIAS, ROLE_FFN_UP_BIAS,
    ROLE_FFN_DOWN_BIAS, ROLE_FFN_POST_NORM,
    ROLE_COUNT,
    ROLE_NONE = ROLE_COUNT // no weight of any model
};
constexpr role ROLE_FIRST_OF_LAYER = ROLE_ATTN_NORM;

enum dimension : uint8_t {
    DIM_ONE, DIM_EMBD, DIM_VOCAB, DIM_CONTEXT, DIM_Q, DIM_K, DIM_V, DIM_HEAD_K, DIM_ATTN, DIM_FF, DIM_ROPE_PAIRS
};
uint64_t dimension_of(const hparams *h, dimension d);

enum role_kind : uint8_t { ROLE_MATRIX, ROLE_VECTOR };

struct role_row {
    role id;
    const char *name;       // without the layer's "blk.N."
    role_kind kind;
    dimension rows, cols;   // a vector has `rows` numbers
    const char *fused_name; // a tensor that holds this one as some of its rows; NULL: none
    dimension rows_before[2]; // which parts come before it there (DIM_ONE: none)
};
const role_row *role_find(role id);
inline bool role_is_per_layer(role id) { return id >= ROLE_FIRST_OF_LAYER; }

} // namespace llm

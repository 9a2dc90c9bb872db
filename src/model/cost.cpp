#include "model/cost.h"

namespace llm {

void cost_add(model_cost *cost, const backend *b, role id, bool is_head, const block_format *format, uint64_t rows,
              uint64_t cols) {
    const uint64_t bytes = b->weight_bytes(format, rows, cols);
    cost->n_params += rows * cols;
    cost->weight_bytes += bytes;
    // Of an embedding only the rows of the tokens at hand are read.
    if (role_is_per_layer(id) || is_head) cost->token_bytes += bytes;
    if (role_is_per_layer(id)) cost->layer_macs += rows * cols;
    if (is_head) cost->head_macs += rows * cols;
}

void cost_add_cache(model_cost *cost, const backend *b, const kv_layer_shape &layer, uint64_t window) {
    const uint64_t bytes = (b->kv_k_bytes(&layer, KV_F16) + b->kv_v_bytes(&layer, KV_F16)) / KV_BLOCK;
    (window ? cost->kv_window_bytes : cost->kv_bytes) += bytes;
    if (window) cost->n_window = window;
}

} // namespace llm

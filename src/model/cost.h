// What running a model costs: for estimates and for the share of what a machine could do.
#pragma once
#include "backend/backend.h"
#include "model/roles.h"

namespace llm {

struct model_cost {
    uint64_t n_params = 0;
    uint64_t weight_bytes = 0;    // of the matrices in the layout of a backend
    uint64_t token_bytes = 0;     // of those that are read whole to generate one token
    uint64_t layer_macs = 0;      // multiply-accumulates of the layers' matrices for one token
    uint64_t head_macs = 0;       // of the output matrix for one token
    uint64_t kv_bytes = 0;        // of the F16 cache for one position of the layers that see all positions
    uint64_t kv_window_bytes = 0; // the same of the layers that see the last n_window positions only
    uint64_t n_window = 0;
};

// Counts one matrix. is_head: it gives the logits.
void cost_add(model_cost *cost, const backend *b, role id, bool is_head, const block_format *format, uint64_t rows,
              uint64_t cols);

// Counts one layer's cache. window: positions that the layer sees; 0: all.
void cost_add_cache(model_cost *cost, const backend *b, const kv_layer_shape &layer, uint64_t window);

} // namespace llm

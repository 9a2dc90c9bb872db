// Random weights with the shape of a published model, as a loadable GGUF: for measurements without a download.
#pragma once
#include "core/status.h"
#include <string>

namespace llm {

struct synth_shape {
    const char *name, *architecture; // of a family in families/
    uint32_t n_layer, n_embd, n_ff, n_head, n_head_kv, n_vocab, n_ctx;
    float rope_base, norm_eps;
    bool tied, qkv_bias;  // no output matrix; biases of q, k and v
    float rope_stretch;   // factor of Llama 3's frequency scaling from 8192 positions; 0: none
};
const synth_shape *synth_shape_at(size_t index); // NULL past the last
const synth_shape *synth_shape_find(const char *name);
std::string synth_shape_names(); // "a, b, c"

// Same shape, format and seed: same file. Tensor by tensor; the model is never in memory.
// format: a name from quant/format.h that has values, or "Q4_K_M".
llm_status synth_write(const synth_shape *shape, const char *format, uint64_t seed, const char *path,
                       const progress *steps, llm_error *err);

} // namespace llm

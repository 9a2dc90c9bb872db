// Random weights with the shape of a published model, as a loadable GGUF: for measurements without a download.
#pragma once
#include "model/cost.h"
#include "quant/format.h"
#include <string>
#include <vector>

namespace llm {

// A number in the metadata that only some families have; the key is without the architecture.
struct synth_key {
    const char *key;
    double value;
    bool integer;
};

struct synth_shape {
    const char *name, *architecture; // of a family in families/, whose table says which tensors there are
    uint32_t n_layer, n_embd, n_ff, n_head, n_head_kv, head, n_vocab, n_ctx;
    float rope_base, norm_eps;
    bool tied, qkv_bias;   // no output matrix; biases of q, k and v
    float rope_stretch;    // factor of Llama 3's frequency scaling from 8192 positions; 0: none
    const synth_key *more; // up to the one without a key; NULL: none
};
const synth_shape *synth_shape_at(size_t index); // NULL past the last
const synth_shape *synth_shape_find(const char *name);

// What a type name means for each tensor (synth_types.cpp).
struct synth_mix;
struct synth_type {
    const block_format *base;
    const synth_mix *mix; // NULL: the format alone
};
bool synth_type_find(const char *name, synth_type *out);
std::string synth_type_names(); // "F32, F16, Q4_0, ..., Q4_K_M"
const block_format *synth_format(const synth_type *type, const synth_shape *shape, role id, uint32_t layer,
                                 uint64_t cols);

struct synth_tensor {
    role id;
    std::string name;
    const block_format *format;
    uint64_t cols, rows; // rows 0: a vector of `cols` numbers
};
// All tensors, in the order of the file.
void synth_tensors(const synth_shape *shape, const synth_type *type, std::vector<synth_tensor> *out);

// Fails naming the choices. What the model costs in the layouts of backend `b`.
llm_status synth_cost(const char *shape, const char *type, const backend *b, model_cost *out, llm_error *err);
// Same shape, type and seed: same file. Tensor by tensor; the model is never in memory.
llm_status synth_write(const char *shape, const char *type, uint64_t seed, const char *path, const progress *steps,
                       llm_error *err);

} // namespace llm

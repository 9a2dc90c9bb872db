// The families, a row each, and the sets of weights they are made of.
#include "core/fmath.h"
#include "model/family.h"

namespace llm {

namespace {

// What every decoder has.
const family_weight body[] = {
    {ROLE_TOKEN_EMBD, true}, {ROLE_OUTPUT_NORM, true}, {ROLE_OUTPUT, false}, {ROLE_ATTN_Q, true},   {ROLE_ATTN_K, true},
    {ROLE_ATTN_V, true},     {ROLE_ATTN_OUT, true},    {ROLE_FFN_UP, true},  {ROLE_FFN_DOWN, true},
};
const family_weight norms_before[] = {{ROLE_ATTN_NORM, true}, {ROLE_FFN_NORM, true}};
const family_weight norms_after[] = {{ROLE_ATTN_POST_NORM, true}, {ROLE_FFN_POST_NORM, true}};
const family_weight norms_of_heads[] = {{ROLE_ATTN_Q_NORM, true}, {ROLE_ATTN_K_NORM, true}};
const family_weight norm_biases[] = {
    {ROLE_OUTPUT_NORM_BIAS, true}, {ROLE_ATTN_NORM_BIAS, true}, {ROLE_FFN_NORM_BIAS, true}};
const family_weight gate[] = {{ROLE_FFN_GATE, true}};
const family_weight rotation_factors[] = {{ROLE_ROPE_FREQS, false}};
const family_weight learned_positions[] = {{ROLE_POSITION_EMBD, true}};
const family_weight biases[] = {
    {ROLE_ATTN_Q_BIAS, true},   {ROLE_ATTN_K_BIAS, true}, {ROLE_ATTN_V_BIAS, true},
    {ROLE_ATTN_OUT_BIAS, true}, {ROLE_FFN_UP_BIAS, true}, {ROLE_FFN_DOWN_BIAS, true},
};
const family_weight maybe_biases[] = {
    {ROLE_ATTN_Q_BIAS, false},   {ROLE_ATTN_K_BIAS, false}, {ROLE_ATTN_V_BIAS, false},   {ROLE_ATTN_OUT_BIAS, false},
    {ROLE_FFN_GATE_BIAS, false}, {ROLE_FFN_UP_BIAS, false}, {ROLE_FFN_DOWN_BIAS, false},
};

template <size_t N> constexpr family_weights set(const family_weight (&weights)[N]) { return {weights, N}; }

// The published scale of scores is 1 / sqrt(query_pre_attn_scalar): the head size, but in the largest model, which has
// 62 layers, n_embd / n_head. The files do not say it.
llm_status gemma3_parameters(const gguf_file *file, hparams *h, llm_error *) {
    if (h->n_layer == 62 && !gguf_find(file, h->architecture + ".attention.scale"))
        h->attention_scale = 1.0 / sqrt_f64((double)h->n_embd / (double)h->n_head);
    return LLM_OK;
}

// clang-format off
const family families[] = {
    // RMS norms, rotation of neighbouring pairs, grouped queries, SiLU-gated feed-forward; biases where a file has them.
    {"llama", NORM_RMS, ROPE_NEIGHBOURS, ACT_SILU, false, {},
     {set(body), set(norms_before), set(gate), set(maybe_biases), set(rotation_factors)}, nullptr, family_build_decoder},
    {"qwen2", NORM_RMS, ROPE_HALVES, ACT_SILU, false, {},
     {set(body), set(norms_before), set(gate), set(maybe_biases), set(rotation_factors)}, nullptr, family_build_decoder},
    {"qwen3", NORM_RMS, ROPE_HALVES, ACT_SILU, false, {},
     {set(body), set(norms_before), set(norms_of_heads), set(gate), set(rotation_factors)}, nullptr, family_build_decoder},
    // Of six layers five see a window only and turn by a base of 10,000; norms around both halves of a layer.
    {"gemma3", NORM_RMS, ROPE_HALVES, ACT_GELU_TANH, true, {6, 10000},
     {set(body), set(norms_before), set(norms_after), set(norms_of_heads), set(gate)}, gemma3_parameters, family_build_decoder},
    // Learned positions, layer norms and biases everywhere, no gate.
    {"gpt2", NORM_LAYER, ROPE_NEIGHBOURS, ACT_GELU_TANH, false, {},
     {set(body), set(norms_before), set(norm_biases), set(biases), set(learned_positions)}, nullptr, family_build_decoder},
};
// clang-format on

} // namespace

const family *family_at(size_t index) {
    return index < sizeof families / sizeof *families ? &families[index] : nullptr;
}

const family_weight *family_weight_at(const family *f, size_t index) {
    for (const family_weights *set = f->weights; set->n; index -= set->n, set++)
        if (index < set->n) return &set->first[index];
    return nullptr;
}

const family *family_find(std::string_view architecture) {
    for (const family &f : families)
        if (architecture == f.architecture) return &f;
    return nullptr;
}

} // namespace llm

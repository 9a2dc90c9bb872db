// The reference backend: CONTRACT.md as plain loops over the file's own blocks. It is the specification of every bit
// and shares nothing with the fast tiers but block structs and the scalar functions of the contract. Slow on purpose.
#pragma once
#include "backend/backend.h"

namespace llm {

extern const backend backend_ref;

// 32 activations quantised: value[k] = d * q[k]. A row is cols / 32 of them.
struct ref_act8 {
    int8_t q[32];
    float d;
};
void ref_quantise_row(const float *x, uint32_t cols, ref_act8 *out);

// Sum of x[k], or of x[k]^2 by fma: 16 sums over k mod 16, then halves are added.
float ref_sum(const float *x, uint32_t n);
float ref_sum_of_squares(const float *x, uint32_t n);

// RMS: (x * (1 / sqrt(ss/n + eps))) * gain. Layer: the same of x - mean, then + bias. Every operation rounds. gain,
// bias NULL: none; y may be x. False when the sum is not finite.
bool ref_norm(norm_kind kind, const float *x, uint32_t n, float eps, const float *gain, const float *bias, float *y);

// y = W x for one weight row in the file's format. Exactly one of x8 and x32 is read.
float ref_dot_row(const block_format *format, const void *row, uint32_t cols, const ref_act8 *x8, const float *x32);
// Chains of 32 by fma from +0, added in order ("order B").
float ref_dot_f32(const float *w, const float *x, uint32_t n);

float ref_activate(activation act, float x);

// One head of one token in the cache.
size_t ref_kv_row_bytes(kv_element type, uint32_t head);

// Steps; `chunk` counts rows (tokens), or for linear steps groups of REF_ROWS matrix rows.
constexpr uint32_t REF_ROWS = 32; // a whole activation block, so that a chunk can quantise its result
void ref_linear(const pass *p, const plan_step *s, uint32_t chunk);
void ref_glu_linear(const pass *p, const plan_step *s, uint32_t chunk);
void ref_rope_store(const pass *p, uint32_t step, uint32_t token);
// chunk = token * n_head_kv + KV head
// scratch: one float per value of a KV head's group.
void ref_attention(const pass *p, uint32_t step, uint32_t chunk, float *scratch);

} // namespace llm

// The reference functions that the rows of the format table point to.
#pragma once
#include <stddef.h>

namespace llm {

#define LLM_DEQUANTISE(name) void dequantise_##name(const void *blocks, float *out, size_t n);
#define LLM_QUANTISE(name) void quantise_##name(const float *values, void *blocks, size_t n);
#define LLM_SET_SCALES(name) void set_scales_##name(void *block, float d, float m);
#define LLM_BOTH(name) LLM_DEQUANTISE(name) LLM_QUANTISE(name)
#define LLM_BLOCKS(name) LLM_BOTH(name) LLM_SET_SCALES(name)
#define LLM_READ_ONLY(name) LLM_DEQUANTISE(name) LLM_SET_SCALES(name)

// plain.cpp
LLM_BOTH(f32)
LLM_BOTH(f16)
LLM_BOTH(bf16)
// blocks32.cpp
LLM_BLOCKS(q4_0)
LLM_BLOCKS(q4_1)
LLM_BLOCKS(q5_0)
LLM_BLOCKS(q5_1)
LLM_BLOCKS(q8_0)
// blocks256.cpp
LLM_READ_ONLY(q2_k)
LLM_READ_ONLY(q3_k)
LLM_BLOCKS(q4_k)
LLM_BLOCKS(q5_k)
LLM_BLOCKS(q6_k)
// tables.cpp
LLM_READ_ONLY(iq4_nl)
LLM_READ_ONLY(iq4_xs)
LLM_READ_ONLY(mxfp4)
LLM_READ_ONLY(nvfp4)
// ternary.cpp
LLM_READ_ONLY(q1_0)
LLM_READ_ONLY(q2_0)
LLM_READ_ONLY(tq1_0)
LLM_READ_ONLY(tq2_0)
// grids.cpp
LLM_READ_ONLY(iq2_xxs)
LLM_READ_ONLY(iq2_xs)
LLM_READ_ONLY(iq2_s)
LLM_READ_ONLY(iq3_xxs)
LLM_READ_ONLY(iq3_s)
LLM_READ_ONLY(iq1_s)
LLM_READ_ONLY(iq1_m)

#undef LLM_READ_ONLY
#undef LLM_BLOCKS
#undef LLM_BOTH
#undef LLM_SET_SCALES
#undef LLM_QUANTISE
#undef LLM_DEQUANTISE

} // namespace llm

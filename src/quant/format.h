// Block formats: how rows of numbers are stored in a GGUF file. One table row per format is the single place that
// knows its name, block shape and reference functions.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace llm {

// Numbers of tensor types as in the GGUF document ("ggml_type"). Gaps were types that files no longer use.
// clang-format off
enum format_id : uint32_t {
    FORMAT_F32 = 0, FORMAT_F16 = 1, FORMAT_Q4_0 = 2, FORMAT_Q4_1 = 3, FORMAT_Q5_0 = 6, FORMAT_Q5_1 = 7,
    FORMAT_Q8_0 = 8, FORMAT_Q2_K = 10, FORMAT_Q3_K = 11, FORMAT_Q4_K = 12, FORMAT_Q5_K = 13, FORMAT_Q6_K = 14,
    FORMAT_IQ2_XXS = 16, FORMAT_IQ2_XS = 17, FORMAT_IQ3_XXS = 18, FORMAT_IQ1_S = 19, FORMAT_IQ4_NL = 20,
    FORMAT_IQ3_S = 21, FORMAT_IQ2_S = 22, FORMAT_IQ4_XS = 23, FORMAT_I8 = 24, FORMAT_I16 = 25, FORMAT_I32 = 26,
    FORMAT_I64 = 27, FORMAT_F64 = 28, FORMAT_IQ1_M = 29, FORMAT_BF16 = 30, FORMAT_TQ1_0 = 34, FORMAT_TQ2_0 = 35,
    FORMAT_MXFP4 = 39, FORMAT_NVFP4 = 40, FORMAT_Q1_0 = 41, FORMAT_Q2_0 = 42,
};
// clang-format on

struct block_format {
    format_id id;
    const char *name;    // "Q4_0": upper case as in file names; format_by_name() ignores case
    uint32_t block_size; // values per block; a row is a whole number of blocks
    uint32_t block_bytes;
    bool quantised; // false: plain numbers; activations then stay float32
    // Exact values of n (a multiple of block_size) stored numbers: the specification of the format. NULL: this build
    // knows the format's shape, so that files can be listed, but not its values; see format_supported().
    // `blocks` is aligned as the block struct (4 bytes are always enough).
    void (*dequantise)(const void *blocks, float *out, size_t n);
    // Reference quantiser of n finite values; NULL where there is none yet.
    void (*quantise)(const float *values, void *blocks, size_t n);
    // Overwrites the scales of a block, whatever else its bits are: the one above all others becomes d, or what can be
    // stored near it, and that of the minima m. Random bits then are sane weights. NULL: the format has no scales.
    void (*set_scales)(void *block, float d, float m);
};

// Rows of all published formats, supported or not. NULL when the number or name is none of theirs.
const block_format *format_by_id(uint32_t id);
const block_format *format_by_name(const char *name);
// ASCII letters only.
bool equal_ignoring_case(const char *a, const char *b);
// The table, by id; the row after the last has a NULL name. `count` may be NULL.
const block_format *format_table(size_t *count);

// Whether tensors of the format can be computed with, not only listed.
inline bool format_supported(const block_format *f) { return f->dequantise != nullptr; }

// Bytes of `n` values; n must be a multiple of block_size.
inline size_t format_bytes(const block_format *f, size_t n) { return n / f->block_size * f->block_bytes; }

// IEEE conversions in integers: the same bits on every machine. To half: nearest even, overflow to infinity. A NaN
// stays a NaN with its sign; payload bits that do not fit are lost.
float f16_to_f32(uint16_t h);
uint16_t f32_to_f16(float f);
inline float bf16_to_f32(uint16_t h) {
    union {
        uint32_t u;
        float f;
    } v = {(uint32_t)h << 16};
    return v.f;
}
uint16_t f32_to_bf16(float f);

} // namespace llm

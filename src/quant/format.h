// Block formats: how rows of numbers are stored in a GGUF file. One table row per format is the single place that
// knows its name, block shape and reference functions.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace llm {

// Numbers as in the GGUF document (general.file types of tensors, "ggml_type").
enum format_id : uint32_t {
    FORMAT_F32 = 0, FORMAT_F16 = 1, FORMAT_Q4_0 = 2, FORMAT_Q4_1 = 3, FORMAT_Q5_0 = 6, FORMAT_Q5_1 = 7,
    FORMAT_Q8_0 = 8, FORMAT_Q2_K = 10, FORMAT_Q3_K = 11, FORMAT_Q4_K = 12, FORMAT_Q5_K = 13, FORMAT_Q6_K = 14,
    FORMAT_BF16 = 30,
};

struct block_format {
    format_id id;
    const char *name;      // "Q4_0": upper case as in file names; format_by_name() ignores case
    uint32_t block_size;   // values per block; a row is a whole number of blocks
    uint32_t block_bytes;
    bool quantised;        // false: plain floats; activations then stay float32
    // Exact values of n (a multiple of block_size) stored numbers. The specification of the format.
    void (*dequantise)(const void *blocks, float *out, size_t n);
    // Reference quantiser of n finite values; NULL where there is none yet.
    void (*quantise)(const float *values, void *blocks, size_t n);
};

// NULL when the number or name is not known to this build.
const block_format *format_by_id(uint32_t id);
const block_format *format_by_name(const char *name);
// All known formats, ended by a NULL id name.
const block_format *format_table(size_t *count);

// Bytes of `n` values; n must be a multiple of block_size.
inline size_t format_bytes(const block_format *f, size_t n) { return n / f->block_size * f->block_bytes; }

// IEEE conversions in integers: the same bits on every machine. To half: nearest even, overflow to infinity.
float f16_to_f32(uint16_t h);
uint16_t f32_to_f16(float f);
inline float bf16_to_f32(uint16_t h) {
    union { uint32_t u; float f; } v = {(uint32_t)h << 16};
    return v.f;
}
uint16_t f32_to_bf16(float f);

} // namespace llm

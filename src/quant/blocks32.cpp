// Formats of 32 values per block: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0.
//
// The quantisers round to the nearest code and search nothing; their scales are always finite, whatever the input.
#include "quant/blocks.h"
#include "quant/format.h"
#include "quant/round.h"
#include "quant/rows.h"

namespace llm {

static void unpack_nibbles(const uint8_t q[16], uint8_t codes[32]) {
    for (int i = 0; i < 16; i++) {
        codes[i] = q[i] & 15;
        codes[16 + i] = q[i] >> 4;
    }
}

static void add_fifth_bits(const uint8_t high[4], uint8_t codes[32]) {
    for (int i = 0; i < 32; i++) codes[i] |= (uint8_t)((high[i / 8] >> (i % 8) & 1) << 4);
}

static void pack_nibbles(const uint8_t codes[32], uint8_t q[16]) {
    for (int i = 0; i < 16; i++) q[i] = (uint8_t)((codes[i] & 15) | (codes[16 + i] & 15) << 4);
}

static void pack_fifth_bits(const uint8_t codes[32], uint8_t high[4]) {
    for (int byte = 0; byte < 4; byte++) {
        high[byte] = 0;
        for (int i = 0; i < 8; i++) high[byte] |= (uint8_t)((codes[8 * byte + i] >> 4) << i);
    }
}

static void centred_values(uint16_t d, const uint8_t codes[32], int zero, float out[32]) {
    float scale = f16_to_f32(d);
    for (int i = 0; i < 32; i++) out[i] = (float)(codes[i] - zero) * scale;
}

static void affine_values(uint16_t d, uint16_t m, const uint8_t codes[32], float out[32]) {
    float scale = f16_to_f32(d), minimum = f16_to_f32(m);
    for (int i = 0; i < 32; i++) out[i] = (float)codes[i] * scale + minimum;
}

void dequantise_q4_0(const void *blocks, float *out, size_t n) {
    const block_q4_0 *b = (const block_q4_0 *)blocks;
    uint8_t codes[32];
    for (size_t k = 0; k < n / 32; k++) {
        unpack_nibbles(b[k].q, codes);
        centred_values(b[k].d, codes, 8, out + 32 * k);
    }
}

void dequantise_q4_1(const void *blocks, float *out, size_t n) {
    const block_q4_1 *b = (const block_q4_1 *)blocks;
    uint8_t codes[32];
    for (size_t k = 0; k < n / 32; k++) {
        unpack_nibbles(b[k].q, codes);
        affine_values(b[k].d, b[k].m, codes, out + 32 * k);
    }
}

void dequantise_q5_0(const void *blocks, float *out, size_t n) {
    const block_q5_0 *b = (const block_q5_0 *)blocks;
    uint8_t codes[32];
    for (size_t k = 0; k < n / 32; k++) {
        unpack_nibbles(b[k].q, codes);
        add_fifth_bits(b[k].high, codes);
        centred_values(b[k].d, codes, 16, out + 32 * k);
    }
}

void dequantise_q5_1(const void *blocks, float *out, size_t n) {
    const block_q5_1 *b = (const block_q5_1 *)blocks;
    uint8_t codes[32];
    for (size_t k = 0; k < n / 32; k++) {
        unpack_nibbles(b[k].q, codes);
        add_fifth_bits(b[k].high, codes);
        affine_values(b[k].d, b[k].m, codes, out + 32 * k);
    }
}

void dequantise_q8_0(const void *blocks, float *out, size_t n) {
    const block_q8_0 *b = (const block_q8_0 *)blocks;
    for (size_t k = 0; k < n / 32; k++) {
        float scale = f16_to_f32(b[k].d);
        for (int i = 0; i < 32; i++) out[32 * k + i] = (float)b[k].q[i] * scale;
    }
}

// The element of largest magnitude goes to the lowest code, where there is one level more: the scale takes its sign.
// note: codes come from the scale before it is rounded to half, as in the original definition of Q4_0, so that the
// bytes of a file agree with those of other programs.
static uint16_t centred_codes(const float x[32], int zero, uint8_t codes[32]) {
    float extreme = extreme_of(x, 32);
    uint16_t stored;
    float inverse = inverse_scale(extreme / (float)-zero, &stored);
    for (int i = 0; i < 32; i++) codes[i] = (uint8_t)truncated(x[i] * inverse + ((float)zero + 0.5f), 2 * zero - 1);
    return stored;
}

// Lowest value to code 0, highest to the top code, both in half.
static void affine_codes(const float x[32], int top, uint16_t *d, uint16_t *m, uint8_t codes[32]) {
    float lowest = x[0], highest = x[0];
    for (int i = 1; i < 32; i++) {
        if (x[i] < lowest) lowest = x[i];
        if (x[i] > highest) highest = x[i];
    }
    *m = finite_half(lowest);
    float minimum = f16_to_f32(*m);
    inverse_scale((highest - minimum) / (float)top, d);
    float scale = f16_to_f32(*d), inverse = scale != 0 ? 1 / scale : 0;
    for (int i = 0; i < 32; i++) codes[i] = (uint8_t)truncated((x[i] - minimum) * inverse + 0.5f, top);
}

void quantise_q4_0(const float *values, void *blocks, size_t n) {
    block_q4_0 *b = (block_q4_0 *)blocks;
    uint8_t codes[32];
    for (size_t k = 0; k < n / 32; k++) {
        b[k].d = centred_codes(values + 32 * k, 8, codes);
        pack_nibbles(codes, b[k].q);
    }
}

void quantise_q4_1(const float *values, void *blocks, size_t n) {
    block_q4_1 *b = (block_q4_1 *)blocks;
    uint8_t codes[32];
    for (size_t k = 0; k < n / 32; k++) {
        affine_codes(values + 32 * k, 15, &b[k].d, &b[k].m, codes);
        pack_nibbles(codes, b[k].q);
    }
}

void quantise_q5_0(const float *values, void *blocks, size_t n) {
    block_q5_0 *b = (block_q5_0 *)blocks;
    uint8_t codes[32];
    for (size_t k = 0; k < n / 32; k++) {
        b[k].d = centred_codes(values + 32 * k, 16, codes);
        pack_nibbles(codes, b[k].q);
        pack_fifth_bits(codes, b[k].high);
    }
}

void quantise_q5_1(const float *values, void *blocks, size_t n) {
    block_q5_1 *b = (block_q5_1 *)blocks;
    uint8_t codes[32];
    for (size_t k = 0; k < n / 32; k++) {
        affine_codes(values + 32 * k, 31, &b[k].d, &b[k].m, codes);
        pack_nibbles(codes, b[k].q);
        pack_fifth_bits(codes, b[k].high);
    }
}

void quantise_q8_0(const float *values, void *blocks, size_t n) {
    block_q8_0 *b = (block_q8_0 *)blocks;
    for (size_t k = 0; k < n / 32; k++) {
        const float *x = values + 32 * k;
        float extreme = extreme_of(x, 32);
        float inverse = inverse_scale((extreme < 0 ? -extreme : extreme) / 127, &b[k].d);
        for (int i = 0; i < 32; i++) b[k].q[i] = (int8_t)(truncated(x[i] * inverse + 128.5f, 255) - 128);
    }
}

void set_scales_q4_0(void *block, float d, float) { ((block_q4_0 *)block)->d = f32_to_f16(d); }
void set_scales_q4_1(void *block, float d, float m) {
    block_q4_1 *b = (block_q4_1 *)block;
    b->d = f32_to_f16(d);
    b->m = f32_to_f16(m);
}
void set_scales_q5_0(void *block, float d, float) { ((block_q5_0 *)block)->d = f32_to_f16(d); }
void set_scales_q5_1(void *block, float d, float m) {
    block_q5_1 *b = (block_q5_1 *)block;
    b->d = f32_to_f16(d);
    b->m = f32_to_f16(m);
}
void set_scales_q8_0(void *block, float d, float) { ((block_q8_0 *)block)->d = f32_to_f16(d); }

} // namespace llm

// The K formats: 256 values per block with scales of scales. Q2_K and Q3_K are only read.
//
// The quantisers fit each group by least squares once and then round its scale; they do not search.
#include "quant/blocks.h"
#include "quant/format.h"
#include "quant/round.h"
#include "quant/rows.h"

namespace llm {

// Group g of Q4_K and Q5_K has its codes in the low (even g) or high nibbles of 32 bytes shared by two groups.
static void group_nibbles(const uint8_t q[128], int g, uint8_t codes[32]) {
    for (int i = 0; i < 32; i++) codes[i] = q[g / 2 * 32 + i] >> (g % 2 * 4) & 15;
}

// (d * scale) * code - dmin * minimum: the products are exact, so only the difference rounds.
static void group_values(uint16_t d, uint16_t dmin, int scale, int minimum, const uint8_t codes[32], float out[32]) {
    float step = f16_to_f32(d) * (float)scale, offset = f16_to_f32(dmin) * (float)minimum;
    for (int i = 0; i < 32; i++) out[i] = step * (float)codes[i] - offset;
}

void dequantise_q4_k(const void *blocks, float *out, size_t n) {
    const block_q4_K *b = (const block_q4_K *)blocks;
    uint8_t scales[8], minima[8], codes[32];
    for (size_t k = 0; k < n / 256; k++) {
        unpack_scales_k4(b[k].scales, scales, minima);
        for (int g = 0; g < 8; g++) {
            group_nibbles(b[k].q, g, codes);
            group_values(b[k].d, b[k].dmin, scales[g], minima[g], codes, out + 256 * k + 32 * g);
        }
    }
}

void dequantise_q5_k(const void *blocks, float *out, size_t n) {
    const block_q5_K *b = (const block_q5_K *)blocks;
    uint8_t scales[8], minima[8], codes[32];
    for (size_t k = 0; k < n / 256; k++) {
        unpack_scales_k4(b[k].scales, scales, minima);
        for (int g = 0; g < 8; g++) {
            group_nibbles(b[k].q, g, codes);
            for (int i = 0; i < 32; i++) codes[i] |= (uint8_t)((b[k].high[i] >> g & 1) << 4);
            group_values(b[k].d, b[k].dmin, scales[g], minima[g], codes, out + 256 * k + 32 * g);
        }
    }
}

// Where value k of a Q6_K block has its bits.
struct place_q6 {
    int low, low_shift, high, high_shift;
};
static place_q6 place_of(int k) {
    int half = k / 128, j = k % 128 / 32, i = k % 32;
    return {64 * half + 32 * (j % 2) + i, j / 2 * 4, 32 * half + i, 2 * j};
}

void dequantise_q6_k(const void *blocks, float *out, size_t n) {
    const block_q6_K *b = (const block_q6_K *)blocks;
    for (size_t block = 0; block < n / 256; block++) {
        float d = f16_to_f32(b[block].d);
        for (int k = 0; k < 256; k++) {
            place_q6 p = place_of(k);
            int code = (b[block].low[p.low] >> p.low_shift & 15) | (b[block].high[p.high] >> p.high_shift & 3) << 4;
            out[256 * block + k] = d * (float)b[block].scales[k / 16] * (float)(code - 32);
        }
    }
}

// Code of value k in the 2-bit layout.
static int two_bits(const uint8_t q[64], int k) { return q[k / 128 * 32 + k % 32] >> k % 128 / 32 * 2 & 3; }

void dequantise_q2_k(const void *blocks, float *out, size_t n) {
    const block_q2_K *b = (const block_q2_K *)blocks;
    for (size_t block = 0; block < n / 256; block++) {
        float d = f16_to_f32(b[block].d), dmin = f16_to_f32(b[block].dmin);
        for (int k = 0; k < 256; k++) {
            int both = b[block].scales[k / 16];
            out[256 * block + k] = d * (float)(both & 15) * (float)two_bits(b[block].q, k) - dmin * (float)(both >> 4);
        }
    }
}

void dequantise_q3_k(const void *blocks, float *out, size_t n) {
    const block_q3_K *b = (const block_q3_K *)blocks;
    int8_t scales[16];
    for (size_t block = 0; block < n / 256; block++) {
        float d = f16_to_f32(b[block].d);
        unpack_scales_q3(b[block].scales, scales);
        for (int k = 0; k < 256; k++) {
            int code = two_bits(b[block].q, k) | (b[block].high[k % 32] >> k / 32 & 1) << 2;
            out[256 * block + k] = d * (float)scales[k / 16] * (float)(code - 4);
        }
    }
}

namespace {
struct affine_fit { // value = step * code - offset, offset >= 0
    float step, offset;
};
}

static void codes_of_fit(const float x[32], affine_fit fit, int top, uint8_t codes[32]) {
    float inverse = fit.step > 0 ? 1 / fit.step : 0;
    for (int i = 0; i < 32; i++) codes[i] = (uint8_t)truncated((x[i] + fit.offset) * inverse + 0.5f, top);
}

static float squared_error(const float x[32], affine_fit fit, const uint8_t codes[32]) {
    float sum = 0;
    for (int i = 0; i < 32; i++) {
        float e = x[i] - (fit.step * (float)codes[i] - fit.offset);
        sum += e * e;
    }
    return sum;
}

// The best step and offset for given codes.
static affine_fit least_squares(const float x[32], const uint8_t codes[32]) {
    float q = 0, qq = 0, sx = 0, qx = 0;
    for (int i = 0; i < 32; i++) {
        float c = (float)codes[i];
        q += c;
        qq += c * c;
        sx += x[i];
        qx += c * x[i];
    }
    float determinant = 32 * qq - q * q;
    affine_fit fit = {determinant > 0 ? (32 * qx - q * sx) / determinant : 0, 0};
    fit.offset = (fit.step * q - sx) / 32;
    if (fit.offset < 0) fit = {qq > 0 ? qx / qq : 0, 0};
    return fit;
}

// From the range of the values, then refitted while that helps, at most three times: against a thorough search the
// error of Q4_K is then 1.02 times as large (1.08 without refitting, 1.015 with 8 rounds).
static affine_fit fit_group(const float x[32], int top) {
    float lowest = 0, highest = x[0];
    for (int i = 0; i < 32; i++) {
        if (x[i] < lowest) lowest = x[i];
        if (x[i] > highest) highest = x[i];
    }
    affine_fit best = {(highest - lowest) / (float)top, -lowest};
    uint8_t codes[32];
    codes_of_fit(x, best, top, codes);
    float least = squared_error(x, best, codes);
    for (int round = 0; round < 3; round++) {
        affine_fit fit = least_squares(x, codes);
        codes_of_fit(x, fit, top, codes);
        float error = squared_error(x, fit, codes);
        if (!(error < least)) break;
        least = error;
        best = fit;
    }
    return best;
}

// Scale and minimum part of a Q4_K or Q5_K block, and all codes for top = 15 or 31.
static void quantise_groups(const float x[256], int top, uint16_t *d, uint16_t *dmin, uint8_t packed[12],
                            uint8_t codes[256]) {
    affine_fit fit[8];
    float largest_step = 0, largest_offset = 0;
    for (int g = 0; g < 8; g++) {
        fit[g] = fit_group(x + 32 * g, top);
        if (fit[g].step > largest_step) largest_step = fit[g].step;
        if (fit[g].offset > largest_offset) largest_offset = fit[g].offset;
    }
    float per_step = inverse_scale(largest_step / 63, d), per_offset = inverse_scale(largest_offset / 63, dmin);
    uint8_t scales[8], minima[8];
    for (int g = 0; g < 8; g++) {
        scales[g] = (uint8_t)truncated(fit[g].step * per_step + 0.5f, 63);
        minima[g] = (uint8_t)truncated(fit[g].offset * per_offset + 0.5f, 63);
        affine_fit stored = {f16_to_f32(*d) * (float)scales[g], f16_to_f32(*dmin) * (float)minima[g]};
        codes_of_fit(x + 32 * g, stored, top, codes + 32 * g);
    }
    pack_scales_k4(scales, minima, packed);
}

static void pack_group_nibbles(const uint8_t codes[256], uint8_t q[128]) {
    for (int k = 0; k < 128; k++) {
        const uint8_t *pair = codes + k / 32 * 64 + k % 32;
        q[k] = (uint8_t)((pair[0] & 15) | (pair[32] & 15) << 4);
    }
}

void quantise_q4_k(const float *values, void *blocks, size_t n) {
    block_q4_K *b = (block_q4_K *)blocks;
    uint8_t codes[256];
    for (size_t k = 0; k < n / 256; k++) {
        quantise_groups(values + 256 * k, 15, &b[k].d, &b[k].dmin, b[k].scales, codes);
        pack_group_nibbles(codes, b[k].q);
    }
}

void quantise_q5_k(const float *values, void *blocks, size_t n) {
    block_q5_K *b = (block_q5_K *)blocks;
    uint8_t codes[256];
    for (size_t k = 0; k < n / 256; k++) {
        quantise_groups(values + 256 * k, 31, &b[k].d, &b[k].dmin, b[k].scales, codes);
        pack_group_nibbles(codes, b[k].q);
        for (int i = 0; i < 32; i++) {
            b[k].high[i] = 0;
            for (int g = 0; g < 8; g++) b[k].high[i] |= (uint8_t)((codes[32 * g + i] >> 4) << g);
        }
    }
}

// Scale of 16 values for codes -32..31: the extreme to -32, then the best scale for the codes that this gives.
static float fit_group_q6(const float x[16]) {
    float scale = extreme_of(x, 16) / -32, inverse = scale != 0 ? 1 / scale : 0, qq = 0, qx = 0;
    for (int i = 0; i < 16; i++) {
        float code = (float)(truncated(x[i] * inverse + 32.5f, 63) - 32);
        qq += code * code;
        qx += code * x[i];
    }
    return qq > 0 ? qx / qq : 0;
}

static void quantise_block_q6(const float x[256], block_q6_K *b) {
    float scales[16];
    for (int g = 0; g < 16; g++) scales[g] = fit_group_q6(x + 16 * g);
    *b = block_q6_K();
    float per_scale = inverse_scale(extreme_of(scales, 16) / -128, &b->d);
    for (int g = 0; g < 16; g++) {
        b->scales[g] = (int8_t)(truncated(scales[g] * per_scale + 128.5f, 255) - 128);
        float step = f16_to_f32(b->d) * (float)b->scales[g], inverse = step != 0 ? 1 / step : 0;
        for (int k = 16 * g; k < 16 * g + 16; k++) {
            int code = truncated(x[k] * inverse + 32.5f, 63);
            place_q6 p = place_of(k);
            b->low[p.low] |= (uint8_t)((code & 15) << p.low_shift);
            b->high[p.high] |= (uint8_t)(code >> 4 << p.high_shift);
        }
    }
}

void quantise_q6_k(const float *values, void *blocks, size_t n) {
    block_q6_K *b = (block_q6_K *)blocks;
    for (size_t k = 0; k < n / 256; k++) quantise_block_q6(values + 256 * k, &b[k]);
}

void set_scales_q2_k(void *block, float d, float m) {
    block_q2_K *b = (block_q2_K *)block;
    b->d = f32_to_f16(d);
    b->dmin = f32_to_f16(m);
}
void set_scales_q3_k(void *block, float d, float) { ((block_q3_K *)block)->d = f32_to_f16(d); }
void set_scales_q4_k(void *block, float d, float m) {
    block_q4_K *b = (block_q4_K *)block;
    b->d = f32_to_f16(d);
    b->dmin = f32_to_f16(m);
}
void set_scales_q5_k(void *block, float d, float m) {
    block_q5_K *b = (block_q5_K *)block;
    b->d = f32_to_f16(d);
    b->dmin = f32_to_f16(m);
}
void set_scales_q6_k(void *block, float d, float) { ((block_q6_K *)block)->d = f32_to_f16(d); }

} // namespace llm

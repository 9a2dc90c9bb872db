// Formats of two bits and less with one scale: Q1_0, Q2_0, TQ1_0, TQ2_0.
#include "quant/blocks.h"
#include "quant/format.h"
#include "quant/rows.h"

namespace llm {

void dequantise_q1_0(const void *blocks, float *out, size_t n) {
    const block_q1_0 *b = (const block_q1_0 *)blocks;
    for (size_t k = 0; k < n / 128; k++)
        for (int i = 0; i < 128; i++) {
            float d = f16_to_f32(b[k].d);
            out[128 * k + i] = b[k].q[i / 8] >> i % 8 & 1 ? d : -d;
        }
}
void set_scales_q1_0(void *block, float d, float) { ((block_q1_0 *)block)->d = f32_to_f16(d); }

void dequantise_q2_0(const void *blocks, float *out, size_t n) {
    const block_q2_0 *b = (const block_q2_0 *)blocks;
    for (size_t k = 0; k < n / 64; k++)
        for (int i = 0; i < 64; i++)
            out[64 * k + i] = (float)((b[k].q[i / 4] >> 2 * (i % 4) & 3) - 1) * f16_to_f32(b[k].d);
}
void set_scales_q2_0(void *block, float d, float) { ((block_q2_0 *)block)->d = f32_to_f16(d); }

void dequantise_tq2_0(const void *blocks, float *out, size_t n) {
    const block_tq2_0 *b = (const block_tq2_0 *)blocks;
    for (size_t k = 0; k < n / 256; k++)
        for (int i = 0; i < 256; i++) {
            int code = b[k].q[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
            out[256 * k + i] = (float)(code - 1) * f16_to_f32(b[k].d);
        }
}
void set_scales_tq2_0(void *block, float d, float) { ((block_tq2_0 *)block)->d = f32_to_f16(d); }

// `count` digits of each of `width` bytes; returns behind the last value.
static float *trits(const uint8_t *bytes, int width, int count, float d, float *out) {
    for (int n = 0; n < count; n++)
        for (int m = 0; m < width; m++) *out++ = (float)(trit(bytes[m], n) - 1) * d;
    return out;
}

void dequantise_tq1_0(const void *blocks, float *out, size_t n) {
    const block_tq1_0 *b = (const block_tq1_0 *)blocks;
    for (size_t k = 0; k < n / 256; k++) {
        float d = f16_to_f32(b[k].d);
        out = trits(b[k].q, 32, 5, d, out);
        out = trits(b[k].q + 32, 16, 5, d, out);
        out = trits(b[k].last, 4, 4, d, out);
    }
}
void set_scales_tq1_0(void *block, float d, float) { ((block_tq1_0 *)block)->d = f32_to_f16(d); }

} // namespace llm

// IQ4_NL, IQ4_XS, MXFP4, NVFP4.
#include "quant/tables.h"
#include "quant/blocks.h"
#include "quant/format.h"
#include "quant/rows.h"
#include <string.h>

namespace llm {

static float of_bits(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

// In integers, so that no mode of the processor changes the two denormal scales.
float mxfp4_scale(uint8_t e) {
    if (e == 255) return of_bits(0x7f800000);
    return of_bits(e < 2 ? 0x00200000u << e : (e - 1u) << 23);
}

static float magnitude(float f) { return f < 0 ? -f : f; }

uint8_t mxfp4_exponent(float scale) {
    int e = 0;
    while (e < 255 && mxfp4_scale((uint8_t)(e + 1)) <= magnitude(scale)) e++;
    return (uint8_t)e;
}

float nvfp4_scale(uint8_t x) {
    if (x == 0x7f) return 0;
    uint32_t exponent = x >> 3 & 15, mantissa = x & 7;
    if (exponent == 0) return (float)mantissa * 0x1p-10f;
    return (float)(8 + mantissa) * of_bits((exponent + 116) << 23); // 2^(exponent - 11)
}

uint8_t nvfp4_byte(float scale) {
    uint8_t best = 0;
    for (uint8_t x = 0; x < 0x7f; x++)
        if (magnitude(nvfp4_scale(x) - magnitude(scale)) < magnitude(nvfp4_scale(best) - magnitude(scale))) best = x;
    return best;
}

// 32 codes in 16 bytes as in Q4_0.
static void table_values(const uint8_t q[16], const int8_t values[16], float scale, float out[32]) {
    for (int i = 0; i < 16; i++) {
        out[i] = scale * (float)values[q[i] & 15];
        out[16 + i] = scale * (float)values[q[i] >> 4];
    }
}

void dequantise_iq4_nl(const void *blocks, float *out, size_t n) {
    const block_iq4_nl *b = (const block_iq4_nl *)blocks;
    for (size_t k = 0; k < n / 32; k++) table_values(b[k].q, values_iq4, f16_to_f32(b[k].d), out + 32 * k);
}
void set_scales_iq4_nl(void *block, float d, float) { ((block_iq4_nl *)block)->d = f32_to_f16(d); }

void dequantise_iq4_xs(const void *blocks, float *out, size_t n) {
    const block_iq4_xs *b = (const block_iq4_xs *)blocks;
    for (size_t k = 0; k < n / 256; k++)
        for (int g = 0; g < 8; g++) {
            float scale = f16_to_f32(b[k].d) * (float)scale_iq4_xs(&b[k], g); // exact, as the product with a value is
            table_values(b[k].q + 16 * g, values_iq4, scale, out + 256 * k + 32 * g);
        }
}
void set_scales_iq4_xs(void *block, float d, float) { ((block_iq4_xs *)block)->d = f32_to_f16(d); }

void dequantise_mxfp4(const void *blocks, float *out, size_t n) {
    const block_mxfp4 *b = (const block_mxfp4 *)blocks;
    for (size_t k = 0; k < n / 32; k++) table_values(b[k].q, values_fp4, mxfp4_scale(b[k].e), out + 32 * k);
}
void set_scales_mxfp4(void *block, float d, float) { ((block_mxfp4 *)block)->e = mxfp4_exponent(d); }

void dequantise_nvfp4(const void *blocks, float *out, size_t n) {
    const block_nvfp4 *b = (const block_nvfp4 *)blocks;
    for (size_t k = 0; k < n / 64; k++)
        for (int i = 0; i < 64; i++) {
            int group = i / 16, place = i % 16, code = b[k].q[8 * group + place % 8] >> 4 * (place / 8) & 15;
            out[64 * k + i] = nvfp4_scale(b[k].d[group]) * (float)values_fp4[code];
        }
}
void set_scales_nvfp4(void *block, float d, float) {
    for (uint8_t &scale : ((block_nvfp4 *)block)->d) scale = nvfp4_byte(d);
}

} // namespace llm

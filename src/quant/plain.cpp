// F32, F16 and BF16, and the conversions between them in integers, so that no hardware mode or compiler flag (flush to
// zero, rounding mode, F16C or not) changes a bit.
#include "quant/format.h"
#include "quant/rows.h"
#include <string.h>

namespace llm {

static uint32_t bits_of(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static float float_of(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

float f16_to_f32(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t exponent = h >> 10 & 31, mantissa = h & 0x3ff;
    if (exponent == 31) return float_of(sign | 0x7f800000 | mantissa << 13);
    if (exponent != 0) return float_of(sign | (exponent + 112) << 23 | mantissa << 13);
    if (mantissa == 0) return float_of(sign);
    // A denormal half is a normal float: shift its leading one into place.
    int shift = __builtin_clz(mantissa) - 21;
    return float_of(sign | (uint32_t)(113 - shift) << 23 | (mantissa << shift & 0x3ff) << 13);
}

uint16_t f32_to_f16(float f) {
    uint32_t u = bits_of(f), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
    if (a > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (a >> 13 & 0x3ff));
    if (a >= 0x477ff000) return (uint16_t)(sign | 0x7c00); // 65520 and above round to infinity
    if (a < 0x33000000) return (uint16_t)sign;             // below half of the smallest denormal
    uint32_t drop = 13, mantissa = a;
    if (a < 0x38800000) { // a denormal half: write the leading one and drop more bits
        drop = 126 - (a >> 23);
        mantissa = (a & 0x7fffff) | 0x800000;
    }
    uint32_t kept = mantissa >> drop, rest = mantissa & ((1u << drop) - 1), half = 1u << (drop - 1);
    kept += rest > half || (rest == half && (kept & 1)); // a carry runs into the exponent as it should
    return (uint16_t)(sign | (a < 0x38800000 ? kept : kept - (112u << 10)));
}

uint16_t f32_to_bf16(float f) {
    uint32_t u = bits_of(f);
    if ((u & 0x7fffffff) > 0x7f800000) return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

void dequantise_f32(const void *blocks, float *out, size_t n) { memcpy(out, blocks, n * sizeof *out); }
void quantise_f32(const float *values, void *blocks, size_t n) { memcpy(blocks, values, n * sizeof *values); }

void dequantise_f16(const void *blocks, float *out, size_t n) {
    for (size_t i = 0; i < n; i++) out[i] = f16_to_f32(((const uint16_t *)blocks)[i]);
}
void quantise_f16(const float *values, void *blocks, size_t n) {
    for (size_t i = 0; i < n; i++) ((uint16_t *)blocks)[i] = f32_to_f16(values[i]);
}

void dequantise_bf16(const void *blocks, float *out, size_t n) {
    for (size_t i = 0; i < n; i++) out[i] = bf16_to_f32(((const uint16_t *)blocks)[i]);
}
void quantise_bf16(const float *values, void *blocks, size_t n) {
    for (size_t i = 0; i < n; i++) ((uint16_t *)blocks)[i] = f32_to_bf16(values[i]);
}

} // namespace llm

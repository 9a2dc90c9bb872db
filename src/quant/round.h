// Small steps that all quantisers share. Total: whatever the floats are, no conversion is undefined and no stored scale
// is infinite.
#pragma once
#include "quant/format.h"

namespace llm {

// v cut to 0..top and truncated; NaN gives 0. With 0.5 added by the caller: rounded to nearest.
inline int truncated(float v, int top) {
    v = v > 0 ? v : 0;
    v = v < (float)top ? v : (float)top;
    return (int)v;
}

// The first value of largest magnitude, with its sign.
inline float extreme_of(const float *x, int n) {
    float extreme = 0, largest = 0;
    for (int i = 0; i < n; i++) {
        float magnitude = x[i] < 0 ? -x[i] : x[i];
        if (magnitude > largest) {
            largest = magnitude;
            extreme = x[i];
        }
    }
    return extreme;
}

// Half, with what would become infinite cut to the largest finite value; NaN gives 0.
inline uint16_t finite_half(float f) {
    if (f != f) return 0;
    f = f < 65504.0f ? f : 65504.0f;
    f = f > -65504.0f ? f : -65504.0f;
    return f32_to_f16(f);
}

// Stores scale d in half and returns 1/d of the unrounded (but finite) scale: 0 where the stored one is 0.
inline float inverse_scale(float d, uint16_t *stored) {
    *stored = finite_half(d);
    if ((*stored & 0x7fff) == 0) return 0;
    if ((*stored & 0x7fff) == 0x7bff) d = f16_to_f32(*stored);
    return 1 / d;
}

} // namespace llm

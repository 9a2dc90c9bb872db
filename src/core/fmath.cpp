#include "core/fmath.h"
#include <math.h>
#include <string.h>

namespace llm {

static uint32_t bits_of(float x) {
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}
static float float_of(uint32_t u) {
    float x;
    memcpy(&x, &u, 4);
    return x;
}
static double double_of(uint64_t u) {
    double x;
    memcpy(&x, &u, 8);
    return x;
}

// exp(x) = 2^n exp(r) with r in [-ln2/2, ln2/2]. ln 2 is subtracted in two parts, of which n times the first is exact.
// The power of two is applied in two factors, so that denormal results round once and overflow gives infinity.
float exp_f32(float x) {
    if (x != x) return x;
    float xc = x > -104.0f ? x : -104.0f;
    xc = xc < 89.0f ? xc : 89.0f;
    float n = rintf(xc * 0x1.715476p+0f);
    float r = fmaf(-n, 0x1.62e4p-1f, xc);
    r = fmaf(-n, 0x1.7f7d1cp-20f, r);
    float p = fmaf(0x1.a0f88ap-13f, r, 0x1.6d112cp-10f);
    p = fmaf(p, r, 0x1.1110f6p-7f);
    p = fmaf(p, r, 0x1.55551ap-5f);
    p = fmaf(p, r, 0x1.555556p-3f);
    p = fmaf(p, r, 0.5f);
    p = fmaf(p, r * r, r) + 1.0f;
    int32_t exponent = (int32_t)n, half = exponent >> 1;
    return p * float_of((uint32_t)(half + 127) << 23) * float_of((uint32_t)(exponent - half + 127) << 23);
}

float tanh_f32(float x) {
    uint32_t sign = bits_of(x) & 0x80000000u;
    float a = float_of(bits_of(x) & 0x7fffffffu);
    float z = a * a;
    float p = fmaf(0x1.2c4f6ep-9f, z, -0x1.115e88p-7f);
    p = fmaf(p, z, 0x1.64a7b2p-6f);
    p = fmaf(p, z, -0x1.ba08aap-5f);
    p = fmaf(p, z, 0x1.1110e8p-3f);
    p = fmaf(p, z, -0x1.555556p-2f);
    float small = fmaf(p * z, a, a);
    float large = 1.0f - 2.0f / (exp_f32(a + a) + 1.0f);
    return float_of(bits_of(a < 0.625f ? small : large) ^ sign);
}

float silu_f32(float x) { return x / (1.0f + exp_f32(0.0f - x)); }

float gelu_tanh_f32(float x) {
    float u = x * fmaf(x * x, 0.07135481282690f, 1.5957691216057308f);
    return x / (1.0f + exp_f32(0.0f - u));
}

static double nearest(double x) { return (double)(int64_t)(x >= 0 ? x + 0.5 : x - 0.5); }

// exp(r) by its Taylor series to r^17 for |r| <= ln2/2: the rest is below 1e-20.
static double exp_small(double r) {
    double p = 1;
    for (int i = 17; i >= 1; i--) p = p * r / i + 1;
    return p;
}

double exp2_f64(double x) {
    if (x < -1020) return 0;
    if (x > 1020) x = 1020;
    double n = nearest(x);
    return exp_small((x - n) * 0.693147180559945309417) * double_of((uint64_t)((int64_t)n + 1023) << 52);
}

double log2_f64(double x) {
    uint64_t u;
    memcpy(&u, &x, 8);
    double exponent = (double)((int64_t)(u >> 52 & 2047) - 1023);
    double m = double_of((u & 0xfffffffffffffull) | 0x3ff0000000000000ull);
    if (m > 1.4142135623730951) {
        m = m / 2;
        exponent = exponent + 1;
    }
    // log m = 2 artanh(s), s = (m-1)/(m+1), |s| < 0.172: the series to s^23 leaves less than 1e-19.
    double s = (m - 1) / (m + 1), z = s * s, p = 0;
    for (int i = 23; i >= 1; i -= 2) p = p * z + 1.0 / i;
    return exponent + 2 * s * p * 1.44269504088896340736;
}

double exp_f64(double x) { return exp2_f64(x * 1.44269504088896340736); }
double log_f64(double x) { return log2_f64(x) * 0.693147180559945309417; }
double sqrt_f64(double x) { return sqrt(x); }

// pi/2 in parts of 33, 33 and 53 bits: n times the first two is exact for n < 2^20. Taylor series to r^17 on
// [-pi/4, pi/4].
void sincos_f64(double x, double *sine, double *cosine) {
    double n = nearest(x * 0.636619772367581343076);
    double r = ((x - n * 0x1.921fb544p+0) - n * 0x1.0b4611a6p-34) - n * 0x1.3198a2e037073p-69;
    double z = r * r, s = 0, c = 0;
    for (int i = 17; i >= 3; i -= 2) s = (s + 1) * (-z / (double)((i - 1) * i));
    for (int i = 16; i >= 2; i -= 2) c = (c + 1) * (-z / (double)((i - 1) * i));
    s = r + r * s;
    c = 1 + c;
    switch ((int64_t)n & 3) {
    case 0: *sine = s; *cosine = c; break;
    case 1: *sine = c; *cosine = -s; break;
    case 2: *sine = -s; *cosine = -c; break;
    default: *sine = -c; *cosine = s; break;
    }
}

void hadamard_f32(float *x, uint32_t n) {
    const uint32_t group = n & (0 - n);
    const float factor = (float)(1.0 / sqrt_f64((double)group));
    for (uint32_t step = 1; step < group; step *= 2)
        for (uint32_t first = 0; first < n; first += 2 * step)
            for (uint32_t i = first; i < first + step; i++) {
                float a = x[i], b = x[i + step];
                x[i] = a + b;
                x[i + step] = a - b;
            }
    for (uint32_t i = 0; i < n; i++) x[i] = x[i] * factor;
}

} // namespace llm

// Functions of the arithmetic contract in plain C: + - * / sqrt and fma only, the same bits on every machine.
// float32 forms are for the reference kernels and the sampler (the vector tiers have the same formulas in lanes);
// float64 forms are for numbers that are made once per model or position. Errors are measured in tests/core.
#pragma once
#include <stdint.h>

namespace llm {

// CONTRACT.md section 6. exp: at most 0.98 ulp; silu, gelu: at most 2.5 ulp where not near a zero.
float exp_f32(float x);
float tanh_f32(float x);
float silu_f32(float x);      // x / (1 + exp(-x))
float gelu_tanh_f32(float x); // the tanh form of GELU

// The Walsh-Hadamard transform of x[0 .. n), in groups of the largest power of two that divides n, made orthonormal: it
// is its own inverse. Pairs at distance 1, 2, 4, ..., then one product. In place.
void hadamard_f32(float *x, uint32_t n);

// x: any finite; results beyond the range of double are not needed and not promised.
double exp2_f64(double x);
double log2_f64(double x); // x > 0, normal
double exp_f64(double x);
double log_f64(double x);
double sqrt_f64(double x);
void sincos_f64(double x, double *sine, double *cosine); // |x| < 2^27

} // namespace llm

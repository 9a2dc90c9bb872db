// Matrix times activations, CONTRACT.md sections 3, 4 and 5.
#include "backend/ref/groups.h"
#include "backend/ref/ref.h"
#include "core/fmath.h"
#include <math.h>
#include <string.h>

namespace llm {

namespace {

float add_group(const weight_group *g, const ref_act8 *x, float acc) {
    int dot[2] = {0, 0}, sum[2] = {0, 0};
    for (int k = 0; k < 32; k++) {
        dot[k / 16] += g->code[k] * x->q[k];
        sum[k / 16] += x->q[k];
    }
    if (g->apart) {
        acc = fmaf(g->d[0] * x->d, (float)dot[0], acc);
        acc = fmaf(g->d[1] * x->d, (float)dot[1], acc);
    } else {
        acc = fmaf(g->d[0] * x->d, (float)(g->factor[0] * dot[0] + g->factor[1] * dot[1]), acc);
    }
    if (g->minima == weight_group::ONE_MINIMUM) acc = fmaf(g->minimum, x->d * (float)(sum[0] + sum[1]), acc);
    if (g->minima == weight_group::TWO_MINIMA)
        acc = fmaf(g->minimum * x->d, (float)(g->minimum_factor[0] * sum[0] + g->minimum_factor[1] * sum[1]), acc);
    return acc;
}

float dot_quantised(const block_format *format, const void *row, uint32_t cols, const ref_act8 *x) {
    group_decoder *decode = find_group_decoder(format->id);
    uint32_t groups = format->block_size / 32;
    float acc = 0;
    for (uint32_t i = 0; i < cols / 32; i++) {
        weight_group g;
        decode((const uint8_t *)row + (size_t)(i / groups) * format->block_bytes, (int)(i % groups), &g);
        acc = add_group(&g, &x[i], acc);
    }
    return acc;
}

const void *weight_row(const weight *w, uint64_t row) {
    return (const uint8_t *)w->data + row * format_bytes(w->format, w->cols);
}

float dot(const pass *p, const plan_step *s, const weight *w, uint64_t row, uint32_t token) {
    const ref_act8 *x8 = nullptr;
    const float *x32 = nullptr;
    if (w->format->quantised)
        x8 = (const ref_act8 *)pass_act8(p, s->in) + (size_t)token * (w->cols / 32);
    else
        x32 = pass_f32(p, s->in) + (size_t)token * w->cols;
    return ref_dot_row(w->format, weight_row(w, row), (uint32_t)w->cols, x8, x32);
}

} // namespace

void ref_quantise_row(const float *x, uint32_t cols, ref_act8 *out) {
    for (uint32_t b = 0; b < cols / 32; b++, x += 32, out++) {
        uint32_t largest = 0;
        for (int k = 0; k < 32; k++) {
            uint32_t u;
            memcpy(&u, &x[k], 4);
            u &= 0x7fffffffu;
            largest = u > largest ? u : largest;
        }
        memset(out, 0, sizeof *out);
        if (largest > 0x7f7fffffu) {
            out->d = NAN;
        } else if (largest >= 0x0d800000u) {
            float a;
            memcpy(&a, &largest, 4);
            out->d = a / 127.0f;
            float inverse = 127.0f / a;
            for (int k = 0; k < 32; k++) out->q[k] = (int8_t)rintf(x[k] * inverse);
        }
    }
}

float ref_dot_f32(const float *w, const float *x, uint32_t n) {
    float acc = 0;
    for (uint32_t first = 0; first < n; first += 32) {
        float a = 0;
        for (uint32_t k = first; k < n && k < first + 32; k++) a = fmaf(w[k], x[k], a);
        acc = acc + a;
    }
    return acc;
}

float ref_dot_row(const block_format *format, const void *row, uint32_t cols, const ref_act8 *x8, const float *x32) {
    if (format->quantised) return dot_quantised(format, row, cols, x8);
    float acc = 0, w[32];
    for (uint32_t first = 0; first < cols; first += 32) {
        uint32_t n = cols - first < 32 ? cols - first : 32;
        format->dequantise((const uint8_t *)row + (size_t)first * format->block_bytes, w, n);
        float a = 0;
        for (uint32_t k = 0; k < n; k++) a = fmaf(w[k], x32[first + k], a);
        acc = acc + a;
    }
    return acc;
}

// Order of a linear layer: product, bias, activation, residual.
void ref_linear(const pass *p, const plan_step *s, uint32_t chunk) {
    uint64_t rows = s->w->rows, end = (chunk + 1) * (uint64_t)REF_ROWS;
    float *out = pass_f32(p, s->out);
    const float *residual = s->residual >= 0 ? pass_f32(p, s->residual) : nullptr;
    for (uint64_t row = (uint64_t)chunk * REF_ROWS; row < end && row < rows; row++) {
        for (uint32_t token = 0; token < pass_rows(p, s->in); token++) {
            float y = dot(p, s, s->w, row, token);
            if (s->bias) y = y + s->bias->data[row];
            y = ref_activate(s->act, y);
            if (residual) y = residual[token * rows + row] + y;
            out[token * rows + row] = y;
        }
    }
}

void ref_glu_linear(const pass *p, const plan_step *s, uint32_t chunk) {
    uint32_t rows = (uint32_t)s->w->rows, first = chunk * REF_ROWS;
    uint32_t n = rows - first < REF_ROWS ? rows - first : REF_ROWS;
    for (uint32_t token = 0; token < pass_rows(p, s->in); token++) {
        float y[REF_ROWS];
        for (uint32_t i = 0; i < n; i++) {
            float gate = dot(p, s, s->w, first + i, token), up = dot(p, s, s->w2, first + i, token);
            y[i] = ref_activate(s->act, gate) * up;
        }
        if (s->out >= 0) memcpy(pass_f32(p, s->out) + (size_t)token * rows + first, y, n * sizeof(float));
        if (s->out_act8 >= 0)
            ref_quantise_row(y, n, (ref_act8 *)pass_act8(p, s->out_act8) + (size_t)token * (rows / 32) + chunk);
    }
}

} // namespace llm

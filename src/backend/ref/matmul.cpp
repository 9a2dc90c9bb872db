// Matrix times activations, CONTRACT.md sections 3, 4 and 5.
#include "backend/ref/ref.h"
#include "core/fmath.h"
#include "quant/blocks.h"
#include <math.h>
#include <string.h>

namespace llm {

namespace {

// 32 neighbouring weights of a row as the contract sees them: value[k] = d * factor[k / 16] * code[k] + minimum.
struct weight_group {
    int code[32];
    int factor[2];
    float d;
    bool has_minimum;
    float minimum;
};

void plain_group(weight_group *g, uint16_t d) {
    g->factor[0] = g->factor[1] = 1;
    g->d = f16_to_f32(d);
    g->has_minimum = false;
    g->minimum = 0;
}

void set_minimum(weight_group *g, float minimum) {
    g->has_minimum = true;
    g->minimum = minimum;
}

void low_high_nibbles(const uint8_t q[16], int code[32]) {
    for (int i = 0; i < 16; i++) {
        code[i] = q[i] & 15;
        code[16 + i] = q[i] >> 4;
    }
}

void fifth_bits(const uint8_t high[4], int code[32]) {
    uint32_t bits;
    memcpy(&bits, high, 4);
    for (int i = 0; i < 32; i++) code[i] |= (int)(bits >> i & 1) << 4;
}

void group_q4_0(const void *block, int, weight_group *g) {
    auto *b = (const block_q4_0 *)block;
    plain_group(g, b->d);
    low_high_nibbles(b->q, g->code);
    for (int &code : g->code) code -= 8;
}

void group_q4_1(const void *block, int, weight_group *g) {
    auto *b = (const block_q4_1 *)block;
    plain_group(g, b->d);
    set_minimum(g, f16_to_f32(b->m));
    low_high_nibbles(b->q, g->code);
}

void group_q5_0(const void *block, int, weight_group *g) {
    auto *b = (const block_q5_0 *)block;
    plain_group(g, b->d);
    low_high_nibbles(b->q, g->code);
    fifth_bits(b->high, g->code);
    for (int &code : g->code) code -= 16;
}

void group_q5_1(const void *block, int, weight_group *g) {
    auto *b = (const block_q5_1 *)block;
    plain_group(g, b->d);
    set_minimum(g, f16_to_f32(b->m));
    low_high_nibbles(b->q, g->code);
    fifth_bits(b->high, g->code);
}

void group_q8_0(const void *block, int, weight_group *g) {
    auto *b = (const block_q8_0 *)block;
    plain_group(g, b->d);
    for (int i = 0; i < 32; i++) g->code[i] = b->q[i];
}

// d * scale and dmin * minimum are exact: 11 + 6 bits.
void scale_minimum_k4(uint16_t d, uint16_t dmin, const uint8_t packed[12], int group, weight_group *g) {
    uint8_t scales[8], minima[8];
    unpack_scales_k4(packed, scales, minima);
    plain_group(g, d);
    g->d = g->d * (float)scales[group];
    set_minimum(g, -(f16_to_f32(dmin) * (float)minima[group]));
}

void nibbles_k4(const uint8_t *q, int group, int code[32]) {
    for (int i = 0; i < 32; i++) code[i] = q[group / 2 * 32 + i] >> (group % 2 * 4) & 15;
}

void group_q4_k(const void *block, int group, weight_group *g) {
    auto *b = (const block_q4_K *)block;
    scale_minimum_k4(b->d, b->dmin, b->scales, group, g);
    nibbles_k4(b->q, group, g->code);
}

void group_q5_k(const void *block, int group, weight_group *g) {
    auto *b = (const block_q5_K *)block;
    scale_minimum_k4(b->d, b->dmin, b->scales, group, g);
    nibbles_k4(b->q, group, g->code);
    for (int i = 0; i < 32; i++) g->code[i] |= (b->high[i] >> group & 1) << 4;
}

void group_q6_k(const void *block, int group, weight_group *g) {
    auto *b = (const block_q6_K *)block;
    plain_group(g, b->d);
    int half = group / 4, j = group % 4;
    for (int i = 0; i < 32; i++) {
        int low = b->low[64 * half + 32 * (j % 2) + i] >> (j / 2 * 4) & 15;
        int high = b->high[32 * half + i] >> (2 * j) & 3;
        g->code[i] = (low | high << 4) - 32;
    }
    g->factor[0] = b->scales[2 * group];
    g->factor[1] = b->scales[2 * group + 1];
}

struct group_decoder {
    format_id format;
    void (*decode)(const void *block, int group, weight_group *out);
};
const group_decoder decoders[] = {
    {FORMAT_Q4_0, group_q4_0}, {FORMAT_Q4_1, group_q4_1}, {FORMAT_Q5_0, group_q5_0}, {FORMAT_Q5_1, group_q5_1},
    {FORMAT_Q8_0, group_q8_0}, {FORMAT_Q4_K, group_q4_k}, {FORMAT_Q5_K, group_q5_k}, {FORMAT_Q6_K, group_q6_k},
};

const group_decoder *find_decoder(format_id format) {
    for (const group_decoder &d : decoders)
        if (d.format == format) return &d;
    return nullptr;
}

float add_group(const weight_group *g, const ref_act8 *x, float acc) {
    int sum[2] = {0, 0}, total = 0;
    for (int k = 0; k < 32; k++) {
        sum[k / 16] += g->code[k] * x->q[k];
        total += x->q[k];
    }
    acc = fmaf(g->d * x->d, (float)(g->factor[0] * sum[0] + g->factor[1] * sum[1]), acc);
    if (g->has_minimum) acc = fmaf(g->minimum, x->d * (float)total, acc);
    return acc;
}

float dot_quantised(const block_format *format, const void *row, uint32_t cols, const ref_act8 *x) {
    const group_decoder *decoder = find_decoder(format->id);
    uint32_t groups = format->block_size / 32;
    float acc = 0;
    for (uint32_t i = 0; i < cols / 32; i++) {
        weight_group g;
        decoder->decode((const uint8_t *)row + (size_t)(i / groups) * format->block_bytes, (int)(i % groups), &g);
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
    if (w->format->quantised) x8 = (const ref_act8 *)pass_act8(p, s->in) + (size_t)token * (w->cols / 32);
    else x32 = pass_f32(p, s->in) + (size_t)token * w->cols;
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

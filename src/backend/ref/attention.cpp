// Rotary embedding, KV store and attention, CONTRACT.md sections 6 and 7. The cache is rows: K [64][head], then V
// [64][head], a row of one head being blocks of the format behind the cache's type.
#include "backend/ref/ref.h"
#include "core/fmath.h"
#include <float.h>
#include <math.h>
#include <string.h>

namespace llm {

namespace {

constexpr uint32_t SEGMENT = 1024; // keys that are summed from scratch before segments are merged

void rotate_head(float *x, const rope_spec *rope, const float *table) {
    uint32_t pairs = rope->n_rot / 2;
    for (uint32_t i = 0; i < pairs; i++) {
        uint32_t a = rope->style == ROPE_NEIGHBOURS ? 2 * i : i;
        uint32_t b = rope->style == ROPE_NEIGHBOURS ? 2 * i + 1 : i + pairs;
        float c = table[2 * i], s = table[2 * i + 1], x0 = x[a], x1 = x[b];
        x[a] = fmaf(x0, c, -(x1 * s));
        x[b] = fmaf(x1, c, x0 * s);
    }
}

// Stores one head. Cells must stay finite, since masked ones are multiplied by zero: a number that is not, after
// conversion, is stored as zero and false is returned.
bool store(kv_element type, const float *x, uint32_t n, uint8_t *row) {
    const block_format *format = kv_format(type);
    uint32_t cols = kv_row_cols(type, n);
    float clean[MAX_HEAD + 32] = {0}, back[MAX_HEAD + 32];
    bool finite = true;
    for (uint32_t i = 0; i < n; i++) clean[i] = isfinite(x[i]) ? x[i] : 0.0f;
    format->quantise(clean, row, cols);
    format->dequantise(row, back, cols);
    for (uint32_t i = 0; i < n; i++) {
        finite &= isfinite(x[i]) && isfinite(back[i]);
        if (!isfinite(back[i])) clean[i] = 0;
    }
    if (!finite) format->quantise(clean, row, cols);
    return finite;
}

// One layer's part of the block that holds `place`.
struct block_view {
    uint8_t *k, *v;
};
block_view view(const pass *p, const query_run *run, uint32_t layer, uint32_t place) {
    uint8_t *k = run->blocks[p->kv->layer_group[layer]][place / KV_BLOCK] + p->kv->layer_offset[layer];
    return {k, k + backend_ref.kv_k_bytes(&p->kv->layers[layer], p->kv->type_k)};
}
uint8_t *cell_row(uint8_t *base, kv_element type, uint32_t n_heads, uint32_t head_size, uint32_t cell, uint32_t head) {
    return base + ((size_t)cell * n_heads + head) * ref_kv_row_bytes(type, head_size);
}

// A query as numbers, and quantised for a quantised K.
struct query {
    float x[MAX_HEAD + 32];
    ref_act8 q8[MAX_HEAD / 32 + 1];
};

struct softmax_state {
    float m, l;
    float o[MAX_HEAD];
};

// Keys that a query sees, places first .. end - 1.
struct visible_keys {
    uint32_t first, end;
};

// One tile of 64 keys that begins at place `base`, a multiple of 64.
void attend_tile(const pass *p, const plan_step *s, block_view kv, uint32_t head, const query *q, uint32_t base,
                 visible_keys visible, softmax_state *state) {
    const attention_spec &a = s->attention;
    kv_element type_k = p->kv->type_k, type_v = p->kv->type_v;
    float score[KV_BLOCK], sum[16] = {0};
    float m = state->m;
    for (uint32_t j = 0; j < KV_BLOCK; j++) {
        score[j] = -INFINITY;
        if (base + j < visible.first || base + j >= visible.end) continue;
        const uint8_t *key = cell_row(kv.k, type_k, a.n_head_kv, a.head_k, j, head);
        score[j] = ref_dot_row(kv_format(type_k), key, kv_row_cols(type_k, a.head_k), q->q8, q->x) * a.scale;
        m = score[j] > m ? score[j] : m;
    }
    float shrink = exp_f32(state->m - m);
    for (uint32_t j = 0; j < KV_BLOCK; j++) {
        score[j] = exp_f32(score[j] - m);
        sum[j % 16] = sum[j % 16] + score[j];
    }
    for (uint32_t half = 8; half; half /= 2)
        for (uint32_t i = 0; i < half; i++) sum[i] = sum[i] + sum[i + half];
    state->m = m;
    state->l = fmaf(state->l, shrink, sum[0]);
    float t[MAX_HEAD] = {0}, value[MAX_HEAD + 32];
    for (uint32_t j = 0; j < KV_BLOCK; j++) {
        kv_format(type_v)->dequantise(cell_row(kv.v, type_v, a.n_head_kv, a.head_v, j, head), value,
                                      kv_row_cols(type_v, a.head_v));
        for (uint32_t d = 0; d < a.head_v; d++) t[d] = fmaf(score[j], value[d], t[d]);
    }
    for (uint32_t d = 0; d < a.head_v; d++) state->o[d] = fmaf(state->o[d], shrink, t[d]);
}

void merge(softmax_state *into, const softmax_state *next, uint32_t n) {
    float m = next->m > into->m ? next->m : into->m;
    float e1 = exp_f32(into->m - m), e2 = exp_f32(next->m - m);
    into->m = m;
    into->l = fmaf(into->l, e1, next->l * e2);
    for (uint32_t d = 0; d < n; d++) into->o[d] = fmaf(into->o[d], e1, next->o[d] * e2);
}

void attend(const pass *p, const plan_step *s, uint32_t token, uint32_t head, uint32_t kv_head, float *out) {
    const attention_spec &a = s->attention;
    const query_run *run = &p->runs[p->run_of_token[token]];
    query q = {};
    memcpy(q.x, pass_f32(p, s->in) + ((size_t)token * a.n_head + head) * a.head_k, a.head_k * sizeof(float));
    ref_quantise_row(q.x, (a.head_k + 31) / 32 * 32, q.q8);
    visible_keys visible = {pass_first_key(p, &a, token), (uint32_t)p->n_visible[token]};
    softmax_state total = {}, part;
    total.m = -FLT_MAX;
    for (uint32_t first = 0; first < visible.end; first += SEGMENT) {
        part = {};
        part.m = -FLT_MAX;
        for (uint32_t base = first; base < visible.end && base < first + SEGMENT; base += KV_BLOCK) {
            // A tile without visible keys would leave the state as it is; its block may be gone.
            if (base + KV_BLOCK <= visible.first) continue;
            attend_tile(p, s, view(p, run, a.kv_layer, base), kv_head, &q, base, visible, &part);
        }
        if (first == 0)
            total = part;
        else
            merge(&total, &part, a.head_v);
    }
    for (uint32_t d = 0; d < a.head_v; d++) out[d] = total.o[d] / total.l + 0.0f;
}

} // namespace

size_t ref_kv_row_bytes(kv_element type, uint32_t head) {
    return format_bytes(kv_format(type), kv_row_cols(type, head));
}

static bool norm_heads(const plan_step *s, const weight_vector *gain, float *x, uint32_t n_heads) {
    bool finite = true;
    uint32_t n = s->attention.head_k;
    for (uint32_t h = 0; gain && h < n_heads; h++)
        finite &= ref_norm(NORM_RMS, x + h * n, n, s->eps, gain->data, nullptr, x + h * n);
    return finite;
}

void ref_rope_store(const pass *p, uint32_t step, uint32_t token) {
    const plan_step *s = &p->program->steps[step];
    const attention_spec &a = s->attention;
    float *q = pass_f32(p, s->in) + (size_t)token * a.n_head * a.head_k;
    float *k = pass_f32(p, s->in2) + (size_t)token * a.n_head_kv * a.head_k;
    const float *v = pass_f32(p, s->in3) + (size_t)token * a.n_head_kv * a.head_v;
    bool finite = norm_heads(s, s->q_gain, q, a.n_head) & norm_heads(s, s->k_gain, k, a.n_head_kv);
    if (s->table >= 0) {
        const rope_spec *rope = &p->program->ropes[s->rope];
        const float *table = pass_f32(p, s->table) + (size_t)token * rope->n_rot;
        for (uint32_t h = 0; h < a.n_head; h++) rotate_head(q + h * a.head_k, rope, table);
        for (uint32_t h = 0; h < a.n_head_kv; h++) rotate_head(k + h * a.head_k, rope, table);
    }
    if (kv_format(p->kv->type_k)->quantised) {
        for (uint32_t h = 0; h < a.n_head; h++) hadamard_f32(q + h * a.head_k, a.head_k);
        for (uint32_t h = 0; h < a.n_head_kv; h++) hadamard_f32(k + h * a.head_k, a.head_k);
    }
    uint32_t place = (uint32_t)p->place[token], cell = place % KV_BLOCK;
    block_view kv = view(p, &p->runs[p->run_of_token[token]], a.kv_layer, place);
    for (uint32_t h = 0; h < a.n_head_kv; h++) {
        uint8_t *to_k = cell_row(kv.k, p->kv->type_k, a.n_head_kv, a.head_k, cell, h);
        uint8_t *to_v = cell_row(kv.v, p->kv->type_v, a.n_head_kv, a.head_v, cell, h);
        finite &= store(p->kv->type_k, k + h * a.head_k, a.head_k, to_k);
        finite &= store(p->kv->type_v, v + h * a.head_v, a.head_v, to_v);
    }
    if (!finite) pass_report_bad(p, step);
}

void ref_attention(const pass *p, uint32_t step, uint32_t chunk, float *scratch) {
    const plan_step *s = &p->program->steps[step];
    const attention_spec &a = s->attention;
    uint32_t token = chunk / a.n_head_kv, kv_head = chunk % a.n_head_kv, group = a.n_head / a.n_head_kv;
    uint32_t n = group * a.head_v;
    for (uint32_t i = 0; i < group; i++) attend(p, s, token, kv_head * group + i, kv_head, scratch + i * a.head_v);
    for (uint32_t d = 0; d < n; d++)
        if (!isfinite(scratch[d])) pass_report_bad(p, step);
    size_t at = (size_t)token * a.n_head * a.head_v + kv_head * n;
    if (s->out >= 0) memcpy(pass_f32(p, s->out) + at, scratch, n * sizeof(float));
    if (s->out_act8 >= 0) ref_quantise_row(scratch, n, (ref_act8 *)pass_act8(p, s->out_act8) + at / 32);
}

} // namespace llm

#include "backend/ref/groups.h"
#include "backend/ref/ref.h"
#include "core/fmath.h"
#include "graph/rope.h"
#include <math.h>
#include <string.h>

namespace llm {

float ref_sum(const float *x, uint32_t n) {
    float s[16] = {0};
    for (uint32_t k = 0; k < n; k++) s[k % 16] = s[k % 16] + x[k];
    for (uint32_t half = 8; half; half /= 2)
        for (uint32_t j = 0; j < half; j++) s[j] = s[j] + s[j + half];
    return s[0];
}

float ref_sum_of_squares(const float *x, uint32_t n) {
    float s[16] = {0};
    for (uint32_t k = 0; k < n; k++) s[k % 16] = fmaf(x[k], x[k], s[k % 16]);
    for (uint32_t half = 8; half; half /= 2)
        for (uint32_t j = 0; j < half; j++) s[j] = s[j] + s[j + half];
    return s[0];
}

bool ref_norm(norm_kind kind, const float *x, uint32_t n, float eps, const float *gain, const float *bias, float *y) {
    float mean = kind == NORM_LAYER ? ref_sum(x, n) / (float)n : 0.0f;
    for (uint32_t k = 0; k < n; k++) y[k] = kind == NORM_LAYER ? x[k] - mean : x[k];
    float squares = ref_sum_of_squares(y, n);
    float inverse = 1.0f / sqrtf(squares / (float)n + eps);
    for (uint32_t k = 0; k < n; k++) {
        y[k] = y[k] * inverse;
        if (gain) y[k] = y[k] * gain[k];
        if (bias) y[k] = y[k] + bias[k];
    }
    return isfinite(squares);
}

float ref_activate(activation act, float x) {
    switch (act) {
    case ACT_SILU: return silu_f32(x);
    case ACT_GELU_TANH: return gelu_tanh_f32(x);
    default: return x;
    }
}

namespace {

const float *row_of(const pass *p, buffer_id x, uint32_t row) {
    return pass_f32(p, x) + (size_t)row * p->program->buffers[x].cols;
}
float *row_of_output(const pass *p, buffer_id x, uint32_t row) { return const_cast<float *>(row_of(p, x, row)); }
ref_act8 *act8_row(const pass *p, buffer_id x, uint32_t row) {
    return (ref_act8 *)pass_act8(p, x) + (size_t)row * (p->program->buffers[x].cols / 32);
}

void dequantise_row(const weight *w, uint64_t row, float *out) {
    w->format->dequantise((const uint8_t *)w->data + row * format_bytes(w->format, w->cols), out, w->cols);
}

void embed(const pass *p, const plan_step *s, uint32_t token, float *scratch) {
    float *out = row_of_output(p, s->out, token);
    uint32_t n = (uint32_t)s->w->cols;
    if (p->tokens[token] >= 0) {
        dequantise_row(s->w, (uint64_t)p->tokens[token], out);
        for (uint32_t k = 0; k < n; k++) out[k] = out[k] * s->scale;
    } else {
        memcpy(out, p->embd[token], n * sizeof(float));
    }
    if (!s->w2) return;
    dequantise_row(s->w2, (uint64_t)p->pos[token], scratch);
    for (uint32_t k = 0; k < n; k++) out[k] = out[k] + scratch[k];
}

// A row, or one group of it after the other; then the residual is added.
void norm(const pass *p, uint32_t step, uint32_t row, float *y) {
    const plan_step *s = &p->program->steps[step];
    const float *x = row_of(p, s->in, row), *gain = s->gain ? s->gain->data : nullptr;
    uint32_t n = p->program->buffers[s->in].cols, group = s->group ? s->group : n;
    for (uint32_t k = 0; k < n; k += group)
        if (!ref_norm(s->norm, x + k, group, s->eps, gain, s->bias ? s->bias->data : nullptr, y + k))
            pass_report_bad(p, step);
    for (uint32_t k = 0; s->residual >= 0 && k < n; k++) y[k] = row_of(p, s->residual, row)[k] + y[k];
    if (s->out >= 0) memcpy(row_of_output(p, s->out, row), y, n * sizeof(float));
    if (s->out_act8 >= 0) ref_quantise_row(y, n, act8_row(p, s->out_act8, row));
}

void elementwise(const pass *p, const plan_step *s, uint32_t row) {
    const float *x = row_of(p, s->in, row), *y = s->in2 >= 0 ? row_of(p, s->in2, row) : nullptr;
    float *out = row_of_output(p, s->out, row);
    for (uint32_t k = 0; k < p->program->buffers[s->out].cols; k++) {
        switch (s->op) {
        case OP_ACTIVATE: out[k] = ref_activate(s->act, x[k]); break;
        case OP_GLU: out[k] = ref_activate(s->act, x[k]) * y[k]; break;
        default: out[k] = x[k] + y[k]; break;
        }
    }
}

bool ref_available() { return true; }
bool ref_supports(const block_format *format) {
    return format->dequantise && (!format->quantised || find_group_decoder(format->id));
}
size_t ref_weight_bytes(const block_format *format, uint64_t rows, uint64_t cols) {
    return (rows * format_bytes(format, cols) + 63) / 64 * 64;
}
void ref_pack(const block_format *format, uint64_t, uint64_t cols, uint64_t row, uint64_t n_rows, const void *file_rows,
              void *matrix) {
    size_t row_bytes = format_bytes(format, cols);
    memcpy((uint8_t *)matrix + row * row_bytes, file_rows, n_rows * row_bytes);
}
size_t ref_act8_bytes(uint32_t cols, uint32_t n_rows) { return sizeof(ref_act8) * (cols / 32) * n_rows; }

size_t ref_scratch_bytes(const plan *program) {
    size_t widest = 0;
    for (const plan_buffer &b : program->buffers) widest = b.cols > widest ? b.cols : widest;
    return widest * sizeof(float);
}

size_t ref_shared_bytes(const plan *, uint32_t) { return 0; }
void ref_begin_pass(const pass *) {}

size_t ref_kv_k_bytes(const kv_layer_shape *layer, kv_element type) {
    return (size_t)KV_BLOCK * layer->n_head_kv * ref_kv_row_bytes(type, layer->head_k);
}
size_t ref_kv_v_bytes(const kv_layer_shape *layer, kv_element type) {
    return (size_t)KV_BLOCK * layer->n_head_kv * ref_kv_row_bytes(type, layer->head_v);
}

uint32_t ref_n_chunks(const pass *p, uint32_t step, uint32_t) {
    const plan_step *s = &p->program->steps[step];
    switch (s->op) {
    case OP_LINEAR:
    case OP_GLU_LINEAR: return (uint32_t)((s->w->rows + REF_ROWS - 1) / REF_ROWS);
    case OP_ATTENTION: return p->n_tokens * s->attention.n_head_kv;
    case OP_EMBED:
    case OP_ROPE_TABLE:
    case OP_ROPE_STORE: return p->n_tokens;
    default: return pass_rows(p, s->out >= 0 ? s->out : s->out_act8);
    }
}

void ref_run_chunk(const pass *p, uint32_t step, uint32_t chunk, uint32_t, void *scratch) {
    const plan_step *s = &p->program->steps[step];
    switch (s->op) {
    case OP_EMBED: embed(p, s, chunk, (float *)scratch); break;
    case OP_ROPE_TABLE: rope_angles(&p->program->ropes[s->rope], p->pos[chunk], row_of_output(p, s->out, chunk)); break;
    case OP_NORM: norm(p, step, chunk, (float *)scratch); break;
    case OP_LINEAR: ref_linear(p, s, chunk); break;
    case OP_GLU_LINEAR: ref_glu_linear(p, s, chunk); break;
    case OP_QUANTISE:
        ref_quantise_row(row_of(p, s->in, chunk), p->program->buffers[s->in].cols, act8_row(p, s->out_act8, chunk));
        break;
    case OP_ROPE_STORE: ref_rope_store(p, step, chunk); break;
    case OP_ATTENTION: ref_attention(p, step, chunk, (float *)scratch); break;
    case OP_SELECT_OUTPUTS:
        memcpy(row_of_output(p, s->out, chunk), row_of(p, s->in, p->outputs[chunk]),
               p->program->buffers[s->in].cols * sizeof(float));
        break;
    default: elementwise(p, s, chunk); break;
    }
}

} // namespace

const backend backend_ref = {"ref",
                             ref_available,
                             ref_supports,
                             ref_weight_bytes,
                             1,
                             ref_pack,
                             ref_act8_bytes,
                             ref_scratch_bytes,
                             false,
                             ref_shared_bytes,
                             ref_begin_pass,
                             ref_kv_k_bytes,
                             ref_kv_v_bytes,
                             ref_n_chunks,
                             ref_run_chunk,
                             false,
                             nullptr,
                             nullptr};

} // namespace llm

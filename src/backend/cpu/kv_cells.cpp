#include "backend/cpu/kv_cells.h"
#include "quant/blocks.h"
#include <string.h>

namespace llm {
namespace {

// A head filled up with zeros and free of infinite values, and its blocks.
struct converted_row {
    float *numbers;
    void *blocks;
};

bool quantise_row(const cpu_kernels *kernels, const kv_cells *cells, const float *x, uint32_t n, void *scratch,
                  converted_row *out) {
    out->numbers = static_cast<float *>(scratch);
    out->blocks = out->numbers + cells->cols;
    memset(out->numbers + n, 0, (cells->cols - n) * sizeof(float));
    const bool finite = kernels->to_f32(x, out->numbers, n);
    cells->format->quantise(out->numbers, out->blocks, cells->cols);
    return finite;
}

template <class E> void scatter_key(const E *key, uint32_t n, uint32_t cell, E *k) {
    E *to = k + size_t(cell / PANEL_ROWS) * n * PANEL_ROWS + cell % PANEL_ROWS;
    for (uint32_t d = 0; d < n; d++) to[size_t(d) * PANEL_ROWS] = key[d];
}

template <class Block> void separate_scales(const Block *blocks, uint32_t n_blocks, uint32_t cell, uint8_t *v) {
    uint16_t *scales = reinterpret_cast<uint16_t *>(v) + size_t(cell) * n_blocks;
    uint8_t *codes = v + (size_t(KEY_TILE) * sizeof(uint16_t) + size_t(cell) * sizeof blocks->q) * n_blocks;
    for (uint32_t b = 0; b < n_blocks; b++) {
        scales[b] = blocks[b].d;
        memcpy(codes + b * sizeof blocks->q, blocks[b].q, sizeof blocks->q);
    }
}

} // namespace

kv_cells kv_cells_k(kv_element type, uint32_t head_k) {
    const block_format *format = kv_format(type);
    const panel_layout *layout = panel_layout_of(format);
    const uint32_t cols = kv_row_cols(type, head_k);
    return {format, layout->kind, cols, KEY_PANELS * panel_bytes(layout, cols)};
}
kv_cells kv_cells_v(kv_element type, uint32_t head_v) {
    const block_format *format = kv_format(type);
    const uint32_t cols = round_up(kv_row_cols(type, head_v), PANEL_ROWS);
    return {format, panel_layout_of(format)->kind, cols, KEY_TILE * format_bytes(format, cols)};
}

kv_layer_view kv_view(const pass *p, const attention_spec *a) {
    return {p, a, kv_cells_k(p->kv->type_k, a->head_k), kv_cells_v(p->kv->type_v, a->head_v)};
}

bool kv_store_key(const cpu_kernels *kernels, const kv_cells *cells, const float *key, uint32_t n, uint32_t cell,
                  uint8_t *k, void *scratch) {
    bool finite;
    if (cells->kind == PANEL_F16) {
        finite = kernels->to_f16(key, static_cast<uint16_t *>(scratch), n);
        scatter_key(static_cast<uint16_t *>(scratch), n, cell, reinterpret_cast<uint16_t *>(k));
    } else if (cells->kind == PANEL_F32) {
        finite = kernels->to_f32(key, static_cast<float *>(scratch), n);
        scatter_key(static_cast<float *>(scratch), n, cell, reinterpret_cast<float *>(k));
    } else {
        converted_row row;
        finite = quantise_row(kernels, cells, key, n, scratch, &row);
        const panel_layout *layout = panel_layout_of(cells->format);
        uint8_t *unit = k + cell / PANEL_ROWS * panel_bytes(layout, cells->cols);
        const uint8_t *block = static_cast<uint8_t *>(row.blocks);
        for (uint32_t d = 0; d < cells->cols; d += layout->unit_cols, unit += layout->unit_bytes) {
            layout->put(block, unit, cell % PANEL_ROWS);
            block += cells->format->block_bytes;
        }
    }
    return finite;
}

bool kv_store_value(const cpu_kernels *kernels, const kv_cells *cells, const float *value, uint32_t n, uint32_t cell,
                    uint8_t *v, void *scratch) {
    const size_t at = size_t(cell) * cells->cols;
    if (cells->kind == PANEL_F16) return kernels->to_f16(value, reinterpret_cast<uint16_t *>(v) + at, n);
    if (cells->kind == PANEL_F32) return kernels->to_f32(value, reinterpret_cast<float *>(v) + at, n);
    converted_row row;
    const bool finite = quantise_row(kernels, cells, value, n, scratch, &row);
    if (cells->kind == PANEL_Q8_0)
        separate_scales(static_cast<block_q8_0 *>(row.blocks), cells->cols / 32, cell, v);
    else
        separate_scales(static_cast<block_q4_0 *>(row.blocks), cells->cols / 32, cell, v);
    return finite;
}

size_t cpu_kv_k_bytes(const kv_layer_shape *layer, kv_element type) {
    return layer->n_head_kv * kv_cells_k(type, layer->head_k).head_bytes;
}
size_t cpu_kv_v_bytes(const kv_layer_shape *layer, kv_element type) {
    return layer->n_head_kv * kv_cells_v(type, layer->head_v).head_bytes;
}

} // namespace llm

// How keys and values lie in a block of the cache (64 places), per layer: K of all heads, then V of all heads.
//
//   K of a head: 4 panels of 16 keys, as weights (panel.h): a lane is a key. Heads are filled up with zeros to whole
//     blocks of the format.
//   V of a head: a row per key, a lane is a dimension; rows are filled up to 16 numbers, or 32 where V is quantised.
//     F32, F16   [64 keys][cols]
//     Q8_0       f16 scale [64][cols / 32], then s8 code [64][cols]
//     Q4_0       f16 scale [64][cols / 32], then 16 bytes of nibbles per key and block, as in the format
//
// The padding, and cells that no key has been stored in, are zeros.
#pragma once
#include "backend/cpu/ops.h"

namespace llm {

static_assert(KV_BLOCK == KEY_TILE, "a tile is a block");
constexpr uint32_t KEY_PANELS = KEY_TILE / PANEL_ROWS;

struct kv_cells {
    const block_format *format;
    panel_kind kind;
    uint32_t cols;     // numbers of a row, padded
    size_t head_bytes; // of one head in one block
};
kv_cells kv_cells_k(kv_element type, uint32_t head_k);
kv_cells kv_cells_v(kv_element type, uint32_t head_v);

// The cache of one layer.
struct kv_layer_view {
    const pass *p;
    const attention_spec *a;
    kv_cells k, v;
};
kv_layer_view kv_view(const pass *p, const attention_spec *a);

// K and V of one head in the block of a sequence that holds `place`.
struct head_tile {
    uint8_t *k, *v;
};
inline head_tile kv_tile(const kv_layer_view *view, const query_run *run, uint32_t head, uint32_t place) {
    const kv_shape *kv = view->p->kv;
    const uint32_t layer_id = view->a->kv_layer;
    uint8_t *layer = run->blocks[kv->layer_group[layer_id]][place / KEY_TILE] + kv->layer_offset[layer_id];
    return {layer + head * view->k.head_bytes,
            layer + view->a->n_head_kv * view->k.head_bytes + head * view->v.head_bytes};
}

// Stores one head of one token. `scratch` has room for kv_store_bytes. False: something was not finite; it is stored as
// zero.
bool kv_store_key(const cpu_kernels *kernels, const kv_cells *cells, const float *key, uint32_t n, uint32_t cell,
                  uint8_t *k, void *scratch);
bool kv_store_value(const cpu_kernels *kernels, const kv_cells *cells, const float *value, uint32_t n, uint32_t cell,
                    uint8_t *v, void *scratch);
inline size_t kv_store_bytes(uint32_t head) { return 2 * sizeof(float) * round_up(head, 32); }

} // namespace llm

#include "backend/backend.h"
#include "backend/cpu/cpu.h"
#include "backend/ref/ref.h"
#include <string.h>

namespace llm {

const block_format *kv_format(kv_element type) {
    static const format_id formats[KV_ELEMENTS] = {FORMAT_F16, FORMAT_F32, FORMAT_Q8_0, FORMAT_Q4_0};
    return format_by_id(formats[type]);
}

static uint32_t group_of(kv_shape *shape, uint32_t window) {
    uint32_t i = 0;
    while (i < shape->groups.size() && shape->groups[i].window != window) i++;
    if (i == shape->groups.size()) shape->groups.push_back({window, 0});
    return i;
}

void kv_shape_finish(kv_shape *shape, const backend *b) {
    shape->groups.clear();
    shape->layer_group.clear();
    shape->layer_offset.clear();
    shape->block_bytes = 0;
    for (const kv_layer_shape &layer : shape->layers) {
        uint32_t group = group_of(shape, layer.window);
        size_t bytes = b->kv_k_bytes(&layer, shape->type_k) + b->kv_v_bytes(&layer, shape->type_v);
        bytes = (bytes + 63) / 64 * 64;
        shape->layer_group.push_back(group);
        shape->layer_offset.push_back(shape->groups[group].block_bytes);
        shape->groups[group].block_bytes += bytes;
        shape->block_bytes += bytes;
    }
}

const backend *const *backend_table() {
    static const backend *const table[] = {
#if defined(__x86_64__) || defined(_M_X64)
        &backend_amx,
        &backend_avx512,
        &backend_avxvnni,
        &backend_avx2,
        &backend_sse41,
#elif defined(__aarch64__)
        &backend_neon_i8mm,
        &backend_neon_dotprod,
        &backend_neon,
#endif
        &backend_ref,
        nullptr
    };
    return table;
}

const backend *backend_best() {
    const backend *const *b = backend_table();
    while (!(*b)->available()) b++; // ref is always there
    return *b;
}

const backend *backend_find(const char *name) {
    for (const backend *const *b = backend_table(); *b; b++)
        if (strcmp((*b)->name, name) == 0) return *b;
    return nullptr;
}

} // namespace llm

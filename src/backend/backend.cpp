#include "backend/backend.h"
#include "backend/cpu/cpu.h"
#include "backend/ref/ref.h"
#include <string.h>

namespace llm {

void kv_shape_finish(kv_shape *shape, const backend *b) {
    size_t offset = 0;
    shape->layer_offset.clear();
    for (const kv_layer_shape &layer : shape->layers) {
        shape->layer_offset.push_back(offset);
        offset += b->kv_k_bytes(&layer, shape->type_k) + b->kv_v_bytes(&layer, shape->type_v);
        offset = (offset + 63) / 64 * 64;
    }
    shape->block_bytes = offset;
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

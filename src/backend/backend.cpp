#include "backend/backend.h"
#include "backend/cpu/cpu.h"
#include "backend/ref/ref.h"
#include <string.h>

namespace llm {

const block_format *kv_format(kv_element type) {
    static const format_id formats[KV_ELEMENTS] = {FORMAT_F16, FORMAT_F32, FORMAT_Q8_0, FORMAT_Q4_0};
    return format_by_id(formats[type]);
}

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
        &backend_avx512, &backend_avxvnni, &backend_avx2,
#endif
        &backend_ref, nullptr};
    return table;
}

const backend *backend_find(const char *name) {
    for (const backend *const *b = backend_table(); *b; b++)
        if (strcmp((*b)->name, name) == 0) return *b;
    return nullptr;
}

} // namespace llm

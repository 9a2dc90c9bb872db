#include "core/memory.h"
#include <stdlib.h>
#include <string.h>
#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#endif

namespace llm {

namespace {

constexpr size_t HUGE_PAGE = (size_t)2 << 20;

#if defined(__unix__) || defined(__APPLE__)
// Maps with room to spare and cuts to the alignment: huge pages need 2 MiB boundaries.
void *system_alloc(void *, llm_memory_kind, size_t bytes, size_t alignment) {
    size_t total = bytes + alignment;
    void *map = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return nullptr;
    uintptr_t begin = (uintptr_t)map, data = (begin + alignment - 1) / alignment * alignment;
    uintptr_t page = 65536, data_end = (data + bytes + page - 1) / page * page, end = begin + total;
    if (data > begin) munmap(map, data - begin);
    if (end > data_end) munmap((void *)data_end, end - data_end);
#ifdef MADV_HUGEPAGE
    if (bytes >= HUGE_PAGE) madvise((void *)data, bytes, MADV_HUGEPAGE);
#endif
    return (void *)data;
}
void system_free(void *, llm_memory_kind, void *memory, size_t bytes) { munmap(memory, bytes); }
#else
void *system_alloc(void *, llm_memory_kind, size_t bytes, size_t alignment) { return _aligned_malloc(bytes, alignment); }
void system_free(void *, llm_memory_kind, void *memory, size_t) { _aligned_free(memory); }
#endif

} // namespace

llm_allocator memory_allocator(const llm_allocator *hook) {
    if (hook && hook->alloc && hook->free) return *hook;
    return {system_alloc, system_free, nullptr};
}

llm_status memory_take(const llm_allocator *allocator, llm_memory_kind kind, size_t bytes, bool zero, const char *what,
                       memory_block *out, llm_error *err) {
    *out = {*allocator, kind, nullptr, bytes};
    if (bytes == 0) return LLM_OK;
    size_t alignment = bytes >= HUGE_PAGE ? HUGE_PAGE : 65536;
    out->data = (uint8_t *)allocator->alloc(allocator->user, kind, bytes, alignment);
    if (!out->data) {
        out->bytes = 0;
        return fail(err, LLM_ERR_NOMEM, "no memory for %s: %zu bytes were asked for", what, bytes);
    }
    // Fresh pages of the system are zero already.
    if (zero && allocator->alloc != system_alloc) memset(out->data, 0, bytes);
    return LLM_OK;
}

void memory_release(memory_block *block) {
    if (block->data) block->allocator.free(block->allocator.user, block->kind, block->data, block->bytes);
    block->data = nullptr;
    block->bytes = 0;
}

} // namespace llm

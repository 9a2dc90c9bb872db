#include "run/counting.h"
#include <new>
#include <stdlib.h>

// A sanitizer has its own malloc, and a static program cannot replace it: there operator new alone is counted.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&                           \
    !defined(LLM_STATIC_PROGRAM)
#define LLM_COUNTS_MALLOC
#endif

namespace llm_test {

heap_counters heap;

static void *take(void *user, llm_memory_kind, size_t bytes, size_t alignment) {
    auto *a = (counting_allocator *)user;
    if (a->fail_in >= 0 && a->fail_in-- == 0) return nullptr;
    void *memory = nullptr;
    if (posix_memalign(&memory, alignment, bytes)) return nullptr;
    a->n_alive++;
    a->n_taken++;
    return memory;
}
static void give_back(void *user, llm_memory_kind, void *memory, size_t) {
    ((counting_allocator *)user)->n_alive--;
    free(memory);
}

counting_allocator::counting_allocator() { hook = {take, give_back, this}; }

} // namespace llm_test

using namespace llm_test;

static void count_one() {
    if (heap.counting.load(std::memory_order_relaxed)) heap.n_taken.fetch_add(1, std::memory_order_relaxed);
}

#if defined(LLM_COUNTS_MALLOC)
extern "C" {
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *malloc(size_t bytes) {
    count_one();
    return __libc_malloc(bytes);
}
void *calloc(size_t n, size_t bytes) {
    count_one();
    return __libc_calloc(n, bytes);
}
void *realloc(void *memory, size_t bytes) {
    count_one();
    return __libc_realloc(memory, bytes);
}
}
#endif

static void *take_or_null(size_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    if (memory) heap.n_alive.fetch_add(1, std::memory_order_relaxed);
#if !defined(LLM_COUNTS_MALLOC)
    count_one();
#endif
    return memory;
}

void *operator new(size_t bytes) {
    if (heap.fail_in.load(std::memory_order_relaxed) >= 0 && heap.fail_in.fetch_sub(1) == 0) {
        heap.failed = true;
        throw std::bad_alloc();
    }
    void *memory = take_or_null(bytes);
    if (!memory) throw std::bad_alloc();
    return memory;
}
// Never fails on purpose: std::stable_sort does without the memory that it asks for here.
void *operator new(size_t bytes, const std::nothrow_t &) noexcept { return take_or_null(bytes); }
void operator delete(void *memory) noexcept {
    if (!memory) return;
    heap.n_alive.fetch_sub(1, std::memory_order_relaxed);
    free(memory);
}
void *operator new[](size_t bytes) { return operator new(bytes); }
void operator delete[](void *memory) noexcept { operator delete(memory); }
void operator delete(void *memory, const std::nothrow_t &) noexcept { operator delete(memory); }
void operator delete(void *memory, size_t) noexcept { operator delete(memory); }
void operator delete[](void *memory, size_t) noexcept { operator delete(memory); }

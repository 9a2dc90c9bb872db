// Large memory: weights, KV blocks, activations. Goes through the caller's hook or, without one, to the system in huge
// pages where it has them (a 2-thread read of 4 KiB pages loses 8 to 40 % of the bandwidth).
#pragma once
#include "core/status.h"

namespace llm {

// The hook to use: a copy of *hook, or the system's.
llm_allocator memory_allocator(const llm_allocator *hook);

struct memory_block {
    llm_allocator allocator = {};
    llm_memory_kind kind = LLM_MEMORY_ARENA;
    uint8_t *data = nullptr;
    size_t bytes = 0;
};
// Zero-filled only if `zero`. `what` names the use in the error: "the weights". bytes 0 gives data NULL.
llm_status memory_take(const llm_allocator *allocator, llm_memory_kind kind, size_t bytes, bool zero, const char *what,
                       memory_block *out, llm_error *err);
void memory_release(memory_block *block);

} // namespace llm

// The public opaque types.
#pragma once
#include "api/object.h"
#include "run/chat.h"
#include "run/context.h"
#include "run/sampler.h"
#include <string.h>

struct llm_pool {
    llm::pool *p = nullptr;
    std::atomic<uint32_t> references{1};
};

struct llm_model {
    llm::model *m = nullptr;
};

struct llm_checkpoint {
    llm::kv_sequence sequence;
    llm_checkpoint *next = nullptr;
};

struct llm_context {
    llm::call_state call;
    llm::context *c = nullptr;
    llm_pool *pool = nullptr;
    llm_checkpoint *checkpoints = nullptr; // those not freed yet
};

struct llm_sampler {
    llm::call_state call;
    llm::sampler s;
};

struct llm_chat {
    llm::call_state call;
    llm::chat *c = nullptr;
    llm_pool *pool = nullptr;
};

namespace llm {

// Copies what fits into a caller's buffer; *n_out: how much there is.
template <class T> llm_status api_give(const T *from, size_t n, T *to, size_t capacity, size_t *n_out, llm_error *err) {
    if (n_out) *n_out = n;
    const size_t fits = n < capacity ? n : capacity;
    if (fits) memcpy(to, from, fits * sizeof(T));
    if (n <= capacity) return LLM_OK;
    return fail(err, LLM_ERR_TOO_SMALL, "the buffer holds %zu; %zu are needed", capacity, n);
}

} // namespace llm

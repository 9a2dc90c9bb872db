// The public opaque types.
#pragma once
#include "api/object.h"
#include "run/chat.h"
#include "run/context.h"
#include "run/sampler.h"

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

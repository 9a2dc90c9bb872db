#pragma once
#include "core/pool.h"

struct llm_pool;
namespace llm {
// The pool inside; NULL for NULL. A context or model that uses a shared pool keeps it alive.
pool *shared_pool_retain(llm_pool *pool);
void shared_pool_release(llm_pool *pool);
} // namespace llm

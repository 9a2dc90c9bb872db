// Threads that run a list of phases together. Work is claimed in chunks, so a slow or interrupted core gates nothing but
// the chunk it holds; there are no barriers that wait for a thread as such.
#pragma once
#include "core/status.h"
#include <atomic>

namespace llm {

struct pool;

// n_threads counts the calling thread; 0: default_thread_count().
llm_status pool_create(uint32_t n_threads, pool **out, llm_error *err);
void pool_free(pool *p);
uint32_t pool_n_threads(const pool *p);
size_t pool_thread_ids(const pool *p, int64_t *ids, size_t capacity);

// Phase i has n_chunks[i] pieces that may run at once; phase i + 1 starts when all pieces of i are done.
struct pool_program {
    uint32_t n_phases;
    const uint32_t *n_chunks;
    void (*run)(void *user, uint32_t phase, uint32_t chunk, uint32_t thread);
    void *user;
};
// Returns when all is done. n_threads: how many take part at most. Calls from several threads take turns.
// No allocation. Programs of more phases than pool_reserve was told run on the calling thread. Fails only when a chunk on
// a worker threw (bad_alloc); on the calling thread the exception passes through.
llm_status pool_execute(pool *p, const pool_program *program, uint32_t n_threads, llm_error *err);
llm_status pool_reserve(pool *p, uint32_t n_phases, llm_error *err);

} // namespace llm

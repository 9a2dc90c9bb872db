#include "api/objects.h"
#include "api/pool_api.h"

namespace llm {

pool *shared_pool_retain(llm_pool *pool) {
    if (!pool) return nullptr;
    pool->references.fetch_add(1, std::memory_order_relaxed);
    return pool->p;
}

void shared_pool_release(llm_pool *pool) {
    if (!pool || pool->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    pool_free(pool->p);
    delete pool;
}

} // namespace llm

using namespace llm;

llm_status llm_pool_create(const llm_pool_options *options, llm_pool **out, llm_error *err) {
    return api_run(err, [&] {
        if (!out) return fail(err, LLM_ERR_ARGUMENT, "out is NULL");
        llm_pool_options o;
        LLM_TRY(read_options(options, "llm_pool_options", &o, err));
        std::unique_ptr<llm_pool> made(new llm_pool);
        LLM_TRY(pool_create(o.n_threads, &made->p, err));
        *out = made.release();
        return LLM_OK;
    });
}

void llm_pool_free(llm_pool *pool) { shared_pool_release(pool); }
uint32_t llm_pool_n_threads(const llm_pool *pool) { return pool ? pool_n_threads(pool->p) : 0; }
size_t llm_pool_thread_ids(const llm_pool *pool, int64_t *ids, size_t capacity) {
    return pool ? pool_thread_ids(pool->p, ids, ids ? capacity : 0) : 0;
}

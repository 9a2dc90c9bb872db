#include "run/roofline.h"
#include "core/machine.h"
#include "core/memory.h"
#include <algorithm>
#include <chrono>
#include <memory>

namespace llm {

namespace {

// Far larger than the caches of most machines; of a server that shares 260 MiB between guests it is twice as much.
constexpr uint64_t READ_BYTES = (uint64_t)512 << 20, READ_CHUNK = (uint64_t)1 << 20;
constexpr uint64_t DOT_ROUNDS = 20000; // per chunk: 0.1 to 1 ms
constexpr uint32_t DOT_CHUNKS = 8;     // per thread
constexpr double READ_SECONDS = 0.2, DOT_SECONDS = 0.05;
constexpr int MIN_RUNS = 3;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct measurement {
    const uint8_t *data;
    uint64_t (*dots)(uint64_t rounds);
    std::atomic<uint64_t> result; // so that the work is not left out
};

// One word of each line of 64 bytes: the line travels as a whole. Adding up all words is slower than the memory where
// vectors are not used: 9 instead of 15 GB/s a core of a Sapphire Rapids.
void read_chunk(void *user, uint32_t, uint32_t chunk, uint32_t) {
    measurement *m = (measurement *)user;
    const uint64_t *p = (const uint64_t *)(m->data + chunk * READ_CHUNK), *end = p + READ_CHUNK / 8;
    uint64_t a = 0, b = 0, c = 0, d = 0;
    for (; p < end; p += 32) {
        a += p[0];
        b += p[8];
        c += p[16];
        d += p[24];
    }
    m->result.fetch_add(a + b + c + d, std::memory_order_relaxed);
}

// Fresh memory is one shared page of zeros until it is written to.
void touch_chunk(void *user, uint32_t, uint32_t chunk, uint32_t) {
    measurement *m = (measurement *)user;
    uint8_t *p = const_cast<uint8_t *>(m->data) + chunk * READ_CHUNK;
    for (size_t i = 0; i < READ_CHUNK; i += 4096) p[i] = (uint8_t)chunk;
}

void dot_chunk(void *user, uint32_t, uint32_t, uint32_t) {
    measurement *m = (measurement *)user;
    m->result.fetch_add(m->dots(DOT_ROUNDS), std::memory_order_relaxed);
}

// The shortest of a few runs: what disturbs a run only makes it longer.
llm_status shortest_run(pool *threads, const pool_program &program, double enough, double *out, llm_error *err) {
    double total = 0;
    for (int run = 0; run < MIN_RUNS || total < enough; run++) {
        double begin = seconds();
        LLM_TRY(pool_execute(threads, &program, pool_n_threads(threads), err));
        double taken = seconds() - begin;
        if (run == 0 || taken < *out) *out = taken;
        total += taken;
    }
    return LLM_OK;
}

// Memory as weights have it, in huge pages where there are any, read in claimed chunks as weights are.
llm_status measure_reading(pool *threads, roofline *out, llm_error *err) {
    const machine_memory before = machine_memory_read("");
    const uint64_t share = before.available / 4 / READ_CHUNK; // of a machine with little of it a quarter
    uint32_t n_chunks = (uint32_t)(READ_BYTES / READ_CHUNK);
    if (share) n_chunks = (uint32_t)std::clamp<uint64_t>(share, 16, n_chunks);
    const uint64_t bytes = n_chunks * READ_CHUNK;
    memory_block block;
    const llm_allocator system = memory_allocator(nullptr);
    LLM_TRY(memory_take(&system, LLM_MEMORY_ARENA, bytes, false, "measuring the memory", &block, err));
    std::unique_ptr<memory_block, void (*)(memory_block *)> guard(&block, memory_release);
    measurement m = {block.data, nullptr, {0}};
    const pool_program touch = {1, &n_chunks, touch_chunk, &m}, read = {1, &n_chunks, read_chunk, &m};
    LLM_TRY(pool_execute(threads, &touch, pool_n_threads(threads), err));
    const uint64_t huge = machine_memory_read("").huge_bytes_used;
    out->huge_share =
        huge > before.huge_bytes_used ? std::min(1.0, (double)(huge - before.huge_bytes_used) / (double)bytes) : 0;
    double shortest = 0;
    LLM_TRY(shortest_run(threads, read, READ_SECONDS, &shortest, err));
    out->read_gbps = (double)bytes / shortest * 1e-9;
    return LLM_OK;
}

llm_status measure_dots(pool *threads, const backend *b, double *out, llm_error *err) {
    *out = 0;
    if (!b->dots) return LLM_OK;
    measurement m = {nullptr, b->dots, {0}};
    uint32_t n_chunks = DOT_CHUNKS * pool_n_threads(threads);
    const pool_program program = {1, &n_chunks, dot_chunk, &m};
    double shortest = 0;
    LLM_TRY(shortest_run(threads, program, DOT_SECONDS, &shortest, err));
    *out = (double)b->dots(DOT_ROUNDS) * n_chunks / shortest * 1e-9;
    return LLM_OK;
}

} // namespace

llm_status roofline_measure(const backend *b, uint32_t n_threads, roofline *out, llm_error *err) {
    pool *made = nullptr;
    LLM_TRY(pool_create(n_threads, &made, err));
    std::unique_ptr<pool, void (*)(pool *)> threads(made, pool_free);
    LLM_TRY(pool_reserve(made, 1, err));
    out->n_threads = pool_n_threads(made);
    LLM_TRY(measure_reading(made, out, err));
    return measure_dots(made, b, &out->dot_gmacs, err);
}

} // namespace llm

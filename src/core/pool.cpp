#include "core/pool.h"
#include "core/fpenv.h"
#include "core/topology.h"
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>
#include <pthread.h>
#include <signal.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace llm {

namespace {

// A worker that was interrupted may look at these counters long after the program it belonged to has ended. Therefore
// they live as long as the pool, and a claim carries the number of its program (epoch): claiming for an ended program
// fails, and nobody ever waits for a thread that holds no chunk.
struct phase_state {
    std::atomic<uint64_t> claim{
        0}; // epoch, number of chunks, next chunk: in one word, so that they always fit together
    std::atomic<uint32_t> n_done{0};
};
constexpr int CHUNK_BITS = 22;
constexpr uint32_t CHUNK_MASK = (1u << CHUNK_BITS) - 1, EPOCH_MASK = (1u << (64 - 2 * CHUNK_BITS)) - 1;
inline uint64_t claim_of(uint32_t epoch, uint32_t n_chunks) {
    return (uint64_t)epoch << 2 * CHUNK_BITS | (uint64_t)n_chunks << CHUNK_BITS;
}

constexpr int SPINS = 2000; // some 30 to 100 microseconds before giving the core away

inline void pause_core() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

struct spin_wait {
    int n = 0;
    void once() {
        if (++n < SPINS)
            pause_core();
        else
            std::this_thread::yield();
    }
};

// On a core that another program wants too, the system takes a thread away when its slice is over, and whoever needs
// the chunk it holds waits for milliseconds. So the core is offered between chunks, before the slice is over: then
// nobody waits. With nobody waiting for the core the offer costs a microsecond.
struct time_slice {
    using clock = std::chrono::steady_clock;
    static constexpr std::chrono::microseconds LENGTH{2000}; // slices of Linux end after 3 to 4 ms
    clock::time_point began = clock::now();
    void offer() {
        if (clock::now() - began < LENGTH) return;
        std::this_thread::yield();
        began = clock::now();
    }
};

} // namespace

struct pool {
    std::vector<pthread_t> threads;
    std::vector<std::atomic<int64_t>> ids;
    std::unique_ptr<phase_state[]> phases;
    uint32_t capacity = 0; // phases
    std::atomic<phase_state *> shared{nullptr};
    std::vector<std::unique_ptr<phase_state[]>> outgrown; // a late worker may still look at them
    std::atomic<uint32_t> epoch{0};
    std::atomic<uint32_t> n_phases{0}, n_taking_part{0};
    pool_program program = {};      // valid while a chunk is held
    std::atomic<bool> threw{false}; // a chunk of the program ended by an exception
    std::mutex turn;                // one program at a time
    std::mutex sleep;
    std::condition_variable wake;
    std::atomic<uint32_t> n_asleep{0};
    std::atomic<bool> ending{false};
};

namespace {

struct worker_start {
    pool *p;
    uint32_t thread;
};

// Claims the next chunk of the phase for this epoch. 1: got it; 0: none left; -1: the program has ended.
int claim_chunk(phase_state *phase, uint32_t epoch, uint32_t *chunk, uint32_t *n_chunks) {
    uint64_t seen = phase->claim.load(std::memory_order_acquire);
    for (;;) {
        if ((uint32_t)(seen >> 2 * CHUNK_BITS) != epoch) return -1;
        uint32_t next = (uint32_t)seen & CHUNK_MASK;
        *n_chunks = (uint32_t)(seen >> CHUNK_BITS) & CHUNK_MASK;
        if (next >= *n_chunks) return 0;
        if (phase->claim.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) {
            *chunk = next;
            return 1;
        }
    }
}

// An exception must neither end the thread nor leave a chunk undone for those who wait.
void run_caught(pool *p, uint32_t phase, uint32_t chunk, uint32_t thread) {
    try {
        p->program.run(p->program.user, phase, chunk, thread);
    } catch (...) {
        p->threw.store(true, std::memory_order_relaxed);
    }
}

void take_part(pool *p, phase_state *phases, uint32_t n_phases, uint32_t epoch, uint32_t thread) {
    time_slice slice;
    for (uint32_t i = 0; i < n_phases; i++) {
        phase_state *phase = &phases[i];
        uint32_t chunk, n_chunks = 0;
        int got;
        for (;;) {
            slice.offer();
            if ((got = claim_chunk(phase, epoch, &chunk, &n_chunks)) != 1) break;
            run_caught(p, i, chunk, thread);
            phase->n_done.fetch_add(1, std::memory_order_release);
        }
        if (got < 0) return;
        spin_wait wait;
        while (phase->n_done.load(std::memory_order_acquire) < n_chunks) {
            if (p->epoch.load(std::memory_order_relaxed) != epoch) return;
            wait.once();
        }
    }
}

bool wait_for_work(pool *p, uint32_t seen) {
    for (int i = 0; i < SPINS; i++) {
        if (p->epoch.load(std::memory_order_acquire) != seen || p->ending.load(std::memory_order_relaxed))
            return !p->ending.load(std::memory_order_relaxed);
        pause_core();
    }
    std::unique_lock<std::mutex> lock(p->sleep);
    p->n_asleep.fetch_add(1, std::memory_order_seq_cst);
    p->wake.wait(lock, [&] {
        return p->epoch.load(std::memory_order_seq_cst) != seen || p->ending.load(std::memory_order_relaxed);
    });
    p->n_asleep.fetch_sub(1, std::memory_order_relaxed);
    return !p->ending.load(std::memory_order_relaxed);
}

void *worker(void *argument) {
    std::unique_ptr<worker_start> start((worker_start *)argument);
    pool *p = start->p;
    fp_guard environment;
#if defined(__linux__)
    p->ids[start->thread - 1].store((int64_t)syscall(SYS_gettid), std::memory_order_relaxed);
#endif
    uint32_t seen = 0;
    while (wait_for_work(p, seen)) {
        seen = p->epoch.load(std::memory_order_acquire);
        if (start->thread >= p->n_taking_part.load(std::memory_order_relaxed)) continue;
        take_part(p, p->shared.load(std::memory_order_acquire), p->n_phases.load(std::memory_order_relaxed), seen,
                  start->thread);
    }
    return nullptr;
}

// Workers take no signals of the host and need little stack.
int start_worker(pool *p, uint32_t thread, pthread_t *out) {
    std::unique_ptr<worker_start> start(new worker_start{p, thread});
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)1 << 20);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int result = pthread_create(out, &attributes, worker, start.get());
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    if (result == 0) start.release();
    return result;
}

void run_alone(const pool_program *program) {
    for (uint32_t i = 0; i < program->n_phases; i++)
        for (uint32_t chunk = 0; chunk < program->n_chunks[i]; chunk++) program->run(program->user, i, chunk, 0);
}

} // namespace

llm_status pool_create(uint32_t n_threads, pool **out, llm_error *err) {
    if (n_threads == 0) n_threads = default_thread_count();
    if (n_threads > 1024)
        return fail(err, LLM_ERR_ARGUMENT, "%u threads asked for; at most 1024 are possible", n_threads);
    std::unique_ptr<pool, void (*)(pool *)> p(new pool, pool_free); // joins what has been started
    p->ids = std::vector<std::atomic<int64_t>>(n_threads - 1);
    p->threads.reserve(n_threads);
    for (uint32_t i = 1; i < n_threads; i++) {
        pthread_t thread;
        int result = start_worker(p.get(), i, &thread);
        if (result != 0)
            return fail_os(err, LLM_ERR_NOMEM, result, "thread %u of %u could not be started", i + 1, n_threads);
        p->threads.push_back(thread);
    }
    *out = p.release();
    return LLM_OK;
}

void pool_free(pool *p) {
    if (!p) return;
    {
        std::lock_guard<std::mutex> lock(p->sleep);
        p->ending.store(true);
    }
    p->wake.notify_all();
    for (pthread_t thread : p->threads) pthread_join(thread, nullptr);
    delete p;
}

uint32_t pool_n_threads(const pool *p) { return (uint32_t)p->threads.size() + 1; }

size_t pool_thread_ids(const pool *p, int64_t *ids, size_t capacity) {
    for (size_t i = 0; i < p->ids.size() && i < capacity; i++) ids[i] = p->ids[i].load(std::memory_order_relaxed);
    return p->ids.size();
}

llm_status pool_reserve(pool *p, uint32_t n_phases, llm_error *) {
    std::lock_guard<std::mutex> lock(p->turn);
    if (n_phases <= p->capacity) return LLM_OK;
    p->outgrown.reserve(p->outgrown.size() + 1);
    std::unique_ptr<phase_state[]> larger(new phase_state[n_phases]);
    if (p->phases) p->outgrown.push_back(std::move(p->phases));
    p->phases = std::move(larger);
    p->shared.store(p->phases.get(), std::memory_order_release);
    p->capacity = n_phases;
    return LLM_OK;
}

llm_status pool_execute(pool *p, const pool_program *program, uint32_t n_threads, llm_error *err) {
    if (n_threads <= 1 || p->threads.empty() || program->n_phases > p->capacity) {
        run_alone(program);
        return LLM_OK;
    }
    std::lock_guard<std::mutex> lock(p->turn);
    uint32_t epoch = (p->epoch.load(std::memory_order_relaxed) + 1) & EPOCH_MASK;
    p->program = *program;
    p->n_phases.store(program->n_phases, std::memory_order_relaxed);
    p->n_taking_part.store(n_threads, std::memory_order_relaxed);
    for (uint32_t i = 0; i < program->n_phases; i++) {
        phase_state *phase = &p->phases[i];
        phase->n_done.store(0, std::memory_order_relaxed);
        phase->claim.store(claim_of(epoch, program->n_chunks[i]), std::memory_order_release);
    }
    p->epoch.store(epoch, std::memory_order_seq_cst);
    if (p->n_asleep.load(std::memory_order_seq_cst) > 0) {
        std::lock_guard<std::mutex> sleepers(p->sleep);
        p->wake.notify_all();
    }
    take_part(p, p->phases.get(), program->n_phases, epoch, 0);
    if (!p->threw.exchange(false)) return LLM_OK;
    return fail(err, LLM_ERR_NOMEM, "out of memory in a worker thread");
}

} // namespace llm

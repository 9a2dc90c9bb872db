// The KV cache: blocks of 64 positions, a block table per sequence, shared prefixes by reference count, copy on write.
// Blocks are taken from memory as they fill and kept for reuse.
//
// Layers of equal attention window form a group with blocks and tables of its own. Blocks wholly behind a group's window
// are given back, so a sequence can be cut back only as far as its windows reach: KV_SLACK tokens always, 0 always.
#pragma once
#include "backend/backend.h"
#include "core/memory.h"

namespace llm {

constexpr uint32_t KV_SLACK = 64;
constexpr uint32_t KV_NONE = UINT32_MAX;

// Blocks of a sequence in one group. Behind the window: KV_NONE and NULL.
struct kv_table {
    std::vector<uint32_t> ids;     // ceil(n / KV_BLOCK), more during a pass; capacity is reserved
    std::vector<uint8_t *> blocks; // the same as addresses: what the kernels read
    uint32_t first = 0;            // all before it is behind the window
};

// A sequence of tokens: how many, and the blocks that hold them.
struct kv_sequence {
    uint32_t n = 0;                 // committed tokens
    uint32_t pinned = KV_NONE;      // a length that it must be able to go back to
    std::vector<kv_table> tables;   // per group
    std::vector<uint8_t *const *> blocks; // their addresses: query_run::blocks
};

// The blocks of one group.
struct kv_pool {
    std::vector<memory_block> memory; // per block id
    std::vector<uint32_t> references;
    std::vector<uint32_t> unused; // ids with memory and no reference
    std::vector<uint32_t> vacant; // ids without memory
};

struct kv_cache {
    kv_shape shape;
    llm_allocator allocator = {};
    uint32_t n_ctx = 0;               // places per sequence
    uint64_t bytes = 0, max_bytes = 0;
    std::vector<kv_pool> pools;       // per group
    std::vector<kv_sequence> sequences;
};

void kv_create(kv_cache *kv, kv_shape shape, const llm_allocator *allocator, uint32_t n_ctx, uint32_t n_seq,
               uint64_t max_bytes);
void kv_destroy(kv_cache *kv);

// The most bytes of one full sequence that is read in passes of n_batch tokens.
uint64_t kv_sequence_bytes(const kv_shape *shape, uint32_t n_ctx, uint32_t n_batch);

// A batch appends `more` places: kv_extend; then, for every pass, kv_begin_pass before places [begin, end) are written;
// then kv_commit, or kv_roll_back. kv_extend takes the blocks without a window at once, so that a lack of memory shows
// early, and makes private copies of shared last blocks; those with a window come and go from pass to pass. After a
// failure kv_roll_back leaves the sequence as it was.
llm_status kv_extend(kv_cache *kv, uint32_t seq, uint32_t more, llm_error *err);
llm_status kv_begin_pass(kv_cache *kv, uint32_t seq, uint32_t begin, uint32_t end, llm_error *err);
void kv_commit(kv_cache *kv, uint32_t seq, uint32_t more);
void kv_roll_back(kv_cache *kv, uint32_t seq);

// Whether a sequence can be cut back to `length`: no window has dropped what the next token would see.
bool kv_reaches(const kv_cache *kv, const kv_sequence *s, uint32_t length);
// length <= n. A sequence that does not reach is emptied instead: it must be read again.
void kv_truncate(kv_cache *kv, uint32_t seq, uint32_t length);

// Truncates a sequence to what it was unless `keep` was set: however a function ends, by a status or by bad_alloc.
// Guards of one sequence nest at the same length.
struct kv_guard {
    kv_cache *kv;
    uint32_t seq, n, outer;
    bool keep = false;
    kv_guard(kv_cache *cache, uint32_t sequence)
        : kv(cache), seq(sequence), n(cache->sequences[sequence].n), outer(cache->sequences[sequence].pinned) {
        kv->sequences[seq].pinned = n;
    }
    ~kv_guard() {
        if (!keep) kv_truncate(kv, seq, n);
        kv->sequences[seq].pinned = outer;
    }
    kv_guard(const kv_guard &) = delete;
};

// `to` (an empty sequence, or one to be replaced) becomes the first `length` tokens of `from`, which reaches that far,
// sharing blocks.
void kv_share(kv_cache *kv, const kv_sequence *from, kv_sequence *to, uint32_t length);
void kv_drop(kv_cache *kv, kv_sequence *sequence); // empties it

} // namespace llm

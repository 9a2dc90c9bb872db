// The KV cache: blocks of 64 positions (all layers), a block table per sequence, shared prefixes by reference count,
// copy on write. Blocks are taken from memory as they fill and kept for reuse.
#pragma once
#include "backend/backend.h"
#include "core/memory.h"

namespace llm {

// A sequence of tokens: how many, and the blocks that hold them.
struct kv_sequence {
    uint32_t n = 0;                // committed tokens
    std::vector<uint32_t> ids;     // blocks in use: ceil(n / KV_BLOCK), more during a pass; capacity is reserved
    std::vector<uint8_t *> blocks; // the same as addresses: what the kernels read
};

struct kv_cache {
    kv_shape shape;
    llm_allocator allocator = {};
    uint32_t n_ctx = 0;               // places per sequence
    uint32_t max_blocks = 0;          // by memory limit
    std::vector<memory_block> memory; // per block id
    std::vector<uint32_t> references;
    std::vector<uint32_t> unused; // ids with memory and no reference
    std::vector<kv_sequence> sequences;
};

void kv_create(kv_cache *kv, kv_shape shape, const llm_allocator *allocator, uint32_t n_ctx, uint32_t n_seq,
               uint32_t max_blocks);
void kv_destroy(kv_cache *kv);

// Makes places [n, n + more) of the sequence writable: new blocks, and a private copy of a shared last block. On
// failure the sequence is as before.
llm_status kv_extend(kv_cache *kv, uint32_t seq, uint32_t more, llm_error *err);
// After a pass: the places become part of the sequence, or the blocks beyond `n` are given back.
void kv_commit(kv_cache *kv, uint32_t seq, uint32_t more);
void kv_roll_back(kv_cache *kv, uint32_t seq);
void kv_truncate(kv_cache *kv, uint32_t seq, uint32_t length); // length <= n

// Truncates a sequence to what it was unless `keep` was set: however a function ends, by a status or by bad_alloc.
struct kv_guard {
    kv_cache *kv;
    uint32_t seq, n;
    bool keep = false;
    kv_guard(kv_cache *cache, uint32_t sequence) : kv(cache), seq(sequence), n(cache->sequences[sequence].n) {}
    ~kv_guard() {
        if (!keep) kv_truncate(kv, seq, n);
    }
    kv_guard(const kv_guard &) = delete;
};

// `to` (an empty sequence, or one to be replaced) becomes the first `length` tokens of `from`, sharing blocks.
void kv_share(kv_cache *kv, const kv_sequence *from, kv_sequence *to, uint32_t length);
void kv_drop(kv_cache *kv, kv_sequence *sequence); // empties it

uint64_t kv_bytes(const kv_cache *kv); // memory taken so far

} // namespace llm

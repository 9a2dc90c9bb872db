#include "run/kv.h"
#include <string.h>

namespace llm {

static uint32_t blocks_for(uint32_t n) { return (n + KV_BLOCK - 1) / KV_BLOCK; }

static void reserve(kv_cache *kv, kv_sequence *s) {
    s->ids.reserve(blocks_for(kv->n_ctx));
    s->blocks.reserve(blocks_for(kv->n_ctx));
}

void kv_create(kv_cache *kv, kv_shape shape, const llm_allocator *allocator, uint32_t n_ctx, uint32_t n_seq,
               uint32_t max_blocks) {
    kv->shape = std::move(shape);
    kv->allocator = *allocator;
    kv->n_ctx = n_ctx;
    kv->max_blocks = max_blocks;
    kv->memory.reserve(max_blocks);
    kv->references.reserve(max_blocks);
    kv->unused.reserve(max_blocks);
    kv->sequences.resize(n_seq);
    for (kv_sequence &s : kv->sequences) reserve(kv, &s);
}

void kv_destroy(kv_cache *kv) {
    for (memory_block &block : kv->memory) memory_release(&block);
    *kv = kv_cache();
}

static llm_status take_block(kv_cache *kv, uint32_t *id, llm_error *err) {
    if (kv->unused.empty()) {
        if (kv->memory.size() >= kv->max_blocks)
            return fail(err, LLM_ERR_BUDGET, "the KV cache is at its limit of %u blocks of %u positions", kv->max_blocks,
                        KV_BLOCK);
        memory_block block;
        LLM_TRY(memory_take(&kv->allocator, LLM_MEMORY_KV, kv->shape.block_bytes, true, "a KV block", &block, err));
        kv->memory.push_back(block);
        kv->references.push_back(0);
        kv->unused.push_back((uint32_t)kv->memory.size() - 1);
    }
    *id = kv->unused.back();
    kv->unused.pop_back();
    kv->references[*id] = 1;
    return LLM_OK;
}

static void drop_block(kv_cache *kv, uint32_t id) {
    if (--kv->references[id] == 0) kv->unused.push_back(id);
}

static void pop_block(kv_cache *kv, kv_sequence *s) {
    drop_block(kv, s->ids.back());
    s->ids.pop_back();
    s->blocks.pop_back();
}

static llm_status append_block(kv_cache *kv, kv_sequence *s, llm_error *err) {
    uint32_t id;
    LLM_TRY(take_block(kv, &id, err));
    s->ids.push_back(id);
    s->blocks.push_back(kv->memory[id].data);
    return LLM_OK;
}

// A block that is not full will be written: it must not be shared.
static llm_status own_last_block(kv_cache *kv, kv_sequence *s, llm_error *err) {
    if (s->n % KV_BLOCK == 0 || kv->references[s->ids.back()] == 1) return LLM_OK;
    uint32_t id;
    LLM_TRY(take_block(kv, &id, err));
    memcpy(kv->memory[id].data, s->blocks.back(), kv->shape.block_bytes);
    pop_block(kv, s);
    s->ids.push_back(id);
    s->blocks.push_back(kv->memory[id].data);
    return LLM_OK;
}

llm_status kv_extend(kv_cache *kv, uint32_t seq, uint32_t more, llm_error *err) {
    kv_sequence *s = &kv->sequences[seq];
    llm_status status = own_last_block(kv, s, err);
    while (status == LLM_OK && s->ids.size() < blocks_for(s->n + more)) status = append_block(kv, s, err);
    if (status != LLM_OK) kv_roll_back(kv, seq);
    return status;
}

void kv_commit(kv_cache *kv, uint32_t seq, uint32_t more) { kv->sequences[seq].n += more; }

void kv_roll_back(kv_cache *kv, uint32_t seq) {
    kv_sequence *s = &kv->sequences[seq];
    while (s->ids.size() > blocks_for(s->n)) pop_block(kv, s);
}

void kv_truncate(kv_cache *kv, uint32_t seq, uint32_t length) {
    kv->sequences[seq].n = length;
    kv_roll_back(kv, seq);
}

void kv_share(kv_cache *kv, const kv_sequence *from, kv_sequence *to, uint32_t length) {
    reserve(kv, to);
    for (uint32_t i = 0; i < blocks_for(length); i++) kv->references[from->ids[i]]++;
    kv_drop(kv, to);
    to->ids.assign(from->ids.begin(), from->ids.begin() + blocks_for(length));
    to->blocks.assign(from->blocks.begin(), from->blocks.begin() + blocks_for(length));
    to->n = length;
}

void kv_drop(kv_cache *kv, kv_sequence *s) {
    while (!s->ids.empty()) pop_block(kv, s);
    s->n = 0;
}

uint64_t kv_bytes(const kv_cache *kv) { return (uint64_t)kv->memory.size() * kv->shape.block_bytes; }

} // namespace llm

#include "run/kv.h"
#include <algorithm>
#include <string.h>

namespace llm {

namespace {

uint32_t blocks_for(uint32_t n) { return (n + KV_BLOCK - 1) / KV_BLOCK; }

// The first key that is kept for a sequence of `length` tokens which may lose `slack` of them. One more than the window
// needs: a last block that is not full is then always kept.
uint32_t first_kept(const kv_group *group, uint32_t length, uint32_t slack) {
    const uint64_t behind = (uint64_t)group->window + slack;
    return group->window && length > behind ? (uint32_t)(length - behind) : 0;
}

// A block that a sequence of `length` tokens needs.
bool block_needed(const kv_group *group, uint32_t block, uint32_t length, uint32_t slack) {
    return length != KV_NONE && block * KV_BLOCK < length &&
           (block + 1) * KV_BLOCK > first_kept(group, length, slack);
}

void prepare(kv_cache *kv, kv_sequence *s) {
    s->tables.resize(kv->shape.groups.size());
    s->blocks.clear();
    for (kv_table &t : s->tables) {
        t.ids.reserve(blocks_for(kv->n_ctx));
        t.blocks.reserve(blocks_for(kv->n_ctx));
        s->blocks.push_back(t.blocks.data());
    }
}

bool release_unused(kv_cache *kv) {
    for (size_t i = 0; i < kv->pools.size(); i++) {
        kv_pool *p = &kv->pools[i];
        if (p->unused.empty()) continue;
        p->vacant.push_back(p->unused.back());
        memory_release(&p->memory[p->unused.back()]);
        p->unused.pop_back();
        kv->bytes -= kv->shape.groups[i].block_bytes;
        return true;
    }
    return false;
}

llm_status add_block(kv_cache *kv, uint32_t group, llm_error *err) {
    const size_t bytes = kv->shape.groups[group].block_bytes;
    while (kv->bytes + bytes > kv->max_bytes)
        if (!release_unused(kv)) // of other groups: this one has none
            return fail(err, LLM_ERR_BUDGET, "the KV cache is at its limit of %llu bytes; a block of %u positions takes %zu",
                        (unsigned long long)kv->max_bytes, KV_BLOCK, bytes);
    kv_pool *p = &kv->pools[group];
    if (p->vacant.empty()) {
        const size_t n = p->memory.size() + 1;
        p->references.reserve(n);
        p->unused.reserve(n);
        p->vacant.reserve(n);
        p->memory.push_back(memory_block());
        p->references.push_back(0);
        p->vacant.push_back((uint32_t)n - 1);
    }
    LLM_TRY(memory_take(&kv->allocator, LLM_MEMORY_KV, bytes, true, "a KV block", &p->memory[p->vacant.back()], err));
    p->unused.push_back(p->vacant.back());
    p->vacant.pop_back();
    kv->bytes += bytes;
    return LLM_OK;
}

llm_status take_block(kv_cache *kv, uint32_t group, uint32_t *id, llm_error *err) {
    kv_pool *p = &kv->pools[group];
    if (p->unused.empty()) LLM_TRY(add_block(kv, group, err));
    *id = p->unused.back();
    p->unused.pop_back();
    p->references[*id] = 1;
    return LLM_OK;
}

void drop_block(kv_pool *p, uint32_t id) {
    if (id != KV_NONE && --p->references[id] == 0) p->unused.push_back(id);
}

void pop_block(kv_pool *p, kv_table *t) {
    drop_block(p, t->ids.back());
    t->ids.pop_back();
    t->blocks.pop_back();
    t->first = std::min(t->first, (uint32_t)t->ids.size());
}

llm_status append_blocks(kv_cache *kv, kv_sequence *s, uint32_t group, uint32_t n, llm_error *err) {
    kv_table *t = &s->tables[group];
    while (t->ids.size() < blocks_for(n)) {
        uint32_t id;
        LLM_TRY(take_block(kv, group, &id, err));
        t->ids.push_back(id);
        t->blocks.push_back(kv->pools[group].memory[id].data);
    }
    return LLM_OK;
}

// A block that is not full will be written: it must not be shared.
llm_status own_last_block(kv_cache *kv, kv_sequence *s, uint32_t group, llm_error *err) {
    kv_table *t = &s->tables[group];
    kv_pool *p = &kv->pools[group];
    if (s->n % KV_BLOCK == 0 || p->references[t->ids.back()] == 1) return LLM_OK;
    uint32_t id;
    LLM_TRY(take_block(kv, group, &id, err));
    memcpy(p->memory[id].data, t->blocks.back(), kv->shape.groups[group].block_bytes);
    drop_block(p, t->ids.back());
    t->ids.back() = id;
    t->blocks.back() = p->memory[id].data;
    return LLM_OK;
}

// What neither a sequence of `length` tokens needs, nor one of the lengths that this one may go back to.
void free_behind(kv_cache *kv, kv_sequence *s, uint32_t length) {
    for (size_t i = 0; i < s->tables.size(); i++) {
        const kv_group *group = &kv->shape.groups[i];
        kv_table *t = &s->tables[i];
        const uint32_t end = first_kept(group, length, KV_SLACK) / KV_BLOCK;
        for (uint32_t block = t->first; block < end; block++) {
            if (block_needed(group, block, s->n, KV_SLACK) || block_needed(group, block, s->pinned, KV_SLACK)) continue;
            drop_block(&kv->pools[i], t->ids[block]);
            t->ids[block] = KV_NONE;
            t->blocks[block] = nullptr;
        }
        while (t->first < end && t->ids[t->first] == KV_NONE) t->first++;
    }
}

} // namespace

void kv_create(kv_cache *kv, kv_shape shape, const llm_allocator *allocator, uint32_t n_ctx, uint32_t n_seq,
               uint64_t max_bytes) {
    kv->shape = std::move(shape);
    kv->allocator = *allocator;
    kv->n_ctx = n_ctx;
    kv->max_bytes = max_bytes;
    kv->pools.resize(kv->shape.groups.size());
    for (kv_pool &p : kv->pools) { // enough for all sequences and as many blocks again in checkpoints
        const size_t n = (size_t)2 * blocks_for(n_ctx) * n_seq + 64;
        p.memory.reserve(n);
        for (std::vector<uint32_t> *v : {&p.references, &p.unused, &p.vacant}) v->reserve(n);
    }
    kv->sequences.resize(n_seq);
    for (kv_sequence &s : kv->sequences) prepare(kv, &s);
}

void kv_destroy(kv_cache *kv) {
    for (kv_pool &p : kv->pools)
        for (memory_block &block : p.memory) memory_release(&block);
    *kv = kv_cache();
}

uint64_t kv_sequence_bytes(const kv_shape *shape, uint32_t n_ctx, uint32_t n_batch) {
    uint64_t total = 0;
    for (const kv_group &g : shape->groups) {
        uint64_t n = blocks_for(n_ctx);
        // Keys of the length to go back to, and of the pass; each begins and ends within a block.
        const uint64_t kept = (uint64_t)g.window + KV_SLACK, window = 2 * kept + n_batch + 4 * KV_BLOCK;
        if (g.window) n = std::min<uint64_t>(n, (window + KV_BLOCK - 1) / KV_BLOCK);
        total += n * g.block_bytes;
    }
    return total;
}

llm_status kv_extend(kv_cache *kv, uint32_t seq, uint32_t more, llm_error *err) {
    kv_sequence *s = &kv->sequences[seq];
    for (uint32_t i = 0; i < s->tables.size(); i++) {
        LLM_TRY(own_last_block(kv, s, i, err));
        if (!kv->shape.groups[i].window) LLM_TRY(append_blocks(kv, s, i, s->n + more, err));
    }
    return LLM_OK;
}

llm_status kv_begin_pass(kv_cache *kv, uint32_t seq, uint32_t begin, uint32_t end, llm_error *err) {
    kv_sequence *s = &kv->sequences[seq];
    free_behind(kv, s, begin);
    for (uint32_t i = 0; i < s->tables.size(); i++) LLM_TRY(append_blocks(kv, s, i, end, err));
    return LLM_OK;
}

void kv_commit(kv_cache *kv, uint32_t seq, uint32_t more) {
    kv->sequences[seq].n += more;
    free_behind(kv, &kv->sequences[seq], kv->sequences[seq].n);
}

void kv_roll_back(kv_cache *kv, uint32_t seq) {
    kv_sequence *s = &kv->sequences[seq];
    for (size_t i = 0; i < s->tables.size(); i++)
        while (s->tables[i].ids.size() > blocks_for(s->n)) pop_block(&kv->pools[i], &s->tables[i]);
}

bool kv_reaches(const kv_cache *kv, const kv_sequence *s, uint32_t length) {
    for (size_t i = 0; i < s->tables.size(); i++)
        for (uint32_t block = 0; block < blocks_for(length); block++)
            if (s->tables[i].ids[block] == KV_NONE && block_needed(&kv->shape.groups[i], block, length, 0)) return false;
    return true;
}

void kv_truncate(kv_cache *kv, uint32_t seq, uint32_t length) {
    kv_sequence *s = &kv->sequences[seq];
    s->n = kv_reaches(kv, s, length) ? length : 0;
    kv_roll_back(kv, seq);
}

void kv_share(kv_cache *kv, const kv_sequence *from, kv_sequence *to, uint32_t length) {
    prepare(kv, to);
    for (size_t i = 0; i < from->tables.size(); i++)
        for (uint32_t block = 0; block < blocks_for(length); block++)
            if (from->tables[i].ids[block] != KV_NONE) kv->pools[i].references[from->tables[i].ids[block]]++;
    kv_drop(kv, to);
    for (size_t i = 0; i < from->tables.size(); i++) {
        const kv_table &t = from->tables[i];
        to->tables[i].ids.assign(t.ids.begin(), t.ids.begin() + blocks_for(length));
        to->tables[i].blocks.assign(t.blocks.begin(), t.blocks.begin() + blocks_for(length));
        to->tables[i].first = std::min(t.first, blocks_for(length));
    }
    to->n = length;
}

void kv_drop(kv_cache *kv, kv_sequence *s) {
    for (size_t i = 0; i < s->tables.size(); i++)
        while (!s->tables[i].ids.empty()) pop_block(&kv->pools[i], &s->tables[i]);
    s->n = 0;
}

} // namespace llm

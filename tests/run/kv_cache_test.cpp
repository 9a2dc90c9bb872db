// Blocks of the cache with and without windows: what is kept, what is given back, and what a sequence can go back to.
#include "backend/ref/ref.h"
#include "run/kv.h"
#include "test.h"
#include <string.h>

using namespace llm;

namespace {

constexpr uint32_t N_CTX = 4096, N_BATCH = 128, WINDOW = 100;

struct test_cache {
    kv_cache kv;
    test_cache(uint32_t window = WINDOW, uint64_t max_bytes = 1 << 26) {
        kv_shape shape;
        shape.type_k = KV_F16;
        shape.type_v = KV_Q8_0;
        for (uint32_t w : {window, 0u, window, window}) shape.layers.push_back({1, 8, 8, w});
        kv_shape_finish(&shape, &backend_ref);
        llm_allocator allocator = memory_allocator(nullptr);
        kv_create(&kv, shape, &allocator, N_CTX, 2, max_bytes);
    }
    ~test_cache() { kv_destroy(&kv); }
    test_cache(const test_cache &) = delete;
};

// Every place holds its number in the first bytes of its 64th of a block, in every group.
void mark(kv_cache *kv, uint32_t seq, uint32_t place) {
    kv_sequence *s = &kv->sequences[seq];
    for (size_t g = 0; g < s->tables.size(); g++) {
        const size_t step = kv->shape.groups[g].block_bytes / KV_BLOCK;
        memcpy(s->blocks[g][place / KV_BLOCK] + place % KV_BLOCK * step, &place, sizeof place);
    }
}
bool marked(const kv_cache *kv, const kv_sequence *s, size_t g, uint32_t place) {
    const uint8_t *block = s->blocks[g][place / KV_BLOCK];
    const size_t step = kv->shape.groups[g].block_bytes / KV_BLOCK;
    return block && memcmp(block + place % KV_BLOCK * step, &place, sizeof place) == 0;
}

// A batch of n tokens in passes of `step`.
llm_status append(kv_cache *kv, uint32_t seq, uint32_t n, uint32_t step) {
    const uint32_t before = kv->sequences[seq].n;
    LLM_TRY(kv_extend(kv, seq, n, nullptr));
    for (uint32_t done = 0; done < n; done += step) {
        const uint32_t end = done + step < n ? done + step : n;
        LLM_TRY(kv_begin_pass(kv, seq, before + done, before + end, nullptr));
        for (uint32_t place = before + done; place < before + end; place++) mark(kv, seq, place);
    }
    return LLM_OK;
}
void grow(kv_cache *kv, uint32_t seq, uint32_t n, uint32_t step) {
    REQUIRE(append(kv, seq, n, step) == LLM_OK);
    kv_commit(kv, seq, n);
}

// All that the next token sees is there and holds what was stored.
bool sees_all(const kv_cache *kv, const kv_sequence *s) {
    for (size_t g = 0; g < s->tables.size(); g++) {
        const uint32_t w = kv->shape.groups[g].window, first = w && s->n + 1 > w ? s->n + 1 - w : 0;
        for (uint32_t place = first; place < s->n; place++)
            if (!marked(kv, s, g, place)) return false;
    }
    return true;
}
size_t in_use(const kv_cache *kv, size_t group) {
    const kv_pool &p = kv->pools[group];
    return p.memory.size() - p.unused.size() - p.vacant.size();
}

} // namespace

TEST_CASE("layers of equal window share a group of blocks", "[kv]") {
    test_cache c;
    CHECK(c.kv.shape.layer_group == std::vector<uint32_t>{0, 1, 0, 0});
    REQUIRE(c.kv.shape.groups.size() == 2);
    CHECK(c.kv.shape.groups[0].block_bytes == 3 * c.kv.shape.groups[1].block_bytes);
    CHECK(c.kv.shape.block_bytes == 4 * c.kv.shape.groups[1].block_bytes);
}

TEST_CASE("blocks behind a window are given back, and what is seen stays", "[kv]") {
    for (uint32_t window : {1u, 63u, 64u, 65u, 100u, 1000u})
        for (uint32_t step : {1u, 7u, 64u, 128u}) {
            test_cache c(window);
            size_t most = 0;
            for (uint32_t n = 0; n < 1500; n += step) {
                grow(&c.kv, 0, step, step);
                if (!sees_all(&c.kv, &c.kv.sequences[0])) FAIL("window " << window << ", step " << step << ", " << n);
                most = std::max(most, in_use(&c.kv, 0));
            }
            CAPTURE(window, step, most);
            CHECK(most <= (window + KV_SLACK + step) / KV_BLOCK + 2);
            CHECK(in_use(&c.kv, 1) == (c.kv.sequences[0].n + 63) / 64);
        }
}

TEST_CASE("a sequence goes back as far as its windows reach", "[kv]") {
    test_cache c;
    grow(&c.kv, 0, 1000, N_BATCH);
    const kv_sequence *s = &c.kv.sequences[0];
    for (uint32_t length : {1000u, 999u, 1000 - KV_SLACK, 0u}) CHECK(kv_reaches(&c.kv, s, length));
    for (uint32_t length : {1u, 64u, 500u, 800u}) CHECK_FALSE(kv_reaches(&c.kv, s, length));
    kv_truncate(&c.kv, 0, 1000 - KV_SLACK);
    CHECK(sees_all(&c.kv, s));
    grow(&c.kv, 0, 40, 3);
    CHECK(sees_all(&c.kv, s));
    kv_truncate(&c.kv, 0, 300); // does not reach: emptied
    CHECK(s->n == 0);
    CHECK(in_use(&c.kv, 0) + in_use(&c.kv, 1) == 0);
}

TEST_CASE("a batch of many passes can be rolled back, and takes no more than was said", "[kv]") {
    for (uint32_t before : {0u, 1u, 64u, 130u, 700u, 1001u}) {
        test_cache c;
        grow(&c.kv, 0, before, N_BATCH);
        REQUIRE(append(&c.kv, 0, 2000, N_BATCH) == LLM_OK);
        CHECK(c.kv.bytes <= kv_sequence_bytes(&c.kv.shape, N_CTX, N_BATCH));
        kv_roll_back(&c.kv, 0);
        CAPTURE(before);
        CHECK(c.kv.sequences[0].n == before);
        CHECK(sees_all(&c.kv, &c.kv.sequences[0]));
        CHECK(kv_reaches(&c.kv, &c.kv.sequences[0], before > KV_SLACK ? before - KV_SLACK : 0));
        grow(&c.kv, 0, 50, 9);
        CHECK(sees_all(&c.kv, &c.kv.sequences[0]));
    }
}

TEST_CASE("a guard brings a sequence back after any number of batches", "[kv]") {
    for (bool keep : {false, true}) {
        test_cache c;
        grow(&c.kv, 0, 777, N_BATCH);
        {
            kv_guard outer(&c.kv, 0);
            {
                kv_guard inner(&c.kv, 0);
                for (int i = 0; i < 20; i++) grow(&c.kv, 0, 60, 30);
                CHECK(c.kv.bytes <= kv_sequence_bytes(&c.kv.shape, N_CTX, N_BATCH));
                inner.keep = keep;
            }
            outer.keep = keep;
        }
        CHECK(c.kv.sequences[0].n == (keep ? 777 + 1200 : 777));
        CHECK(sees_all(&c.kv, &c.kv.sequences[0]));
        grow(&c.kv, 0, 1, 1);
        CHECK(sees_all(&c.kv, &c.kv.sequences[0]));
        CHECK(in_use(&c.kv, 0) <= (WINDOW + KV_SLACK) / KV_BLOCK + 2);
    }
}

TEST_CASE("shared sequences keep what one of them has left behind", "[kv]") {
    test_cache c;
    grow(&c.kv, 0, 500, N_BATCH);
    kv_sequence kept;
    kv_share(&c.kv, &c.kv.sequences[0], &kept, 500);
    grow(&c.kv, 0, 900, N_BATCH);
    CHECK(sees_all(&c.kv, &kept));
    kv_share(&c.kv, &kept, &c.kv.sequences[1], 500 - KV_SLACK);
    grow(&c.kv, 1, 70, 33);
    CHECK(sees_all(&c.kv, &c.kv.sequences[1]));
    CHECK(sees_all(&c.kv, &kept));
    CHECK(sees_all(&c.kv, &c.kv.sequences[0]));
    kv_drop(&c.kv, &kept);
    kv_truncate(&c.kv, 0, 0);
    kv_truncate(&c.kv, 1, 0);
    CHECK(in_use(&c.kv, 0) + in_use(&c.kv, 1) == 0);
}

TEST_CASE("at its limit the cache gives up unused blocks of other groups, then refuses", "[kv]") {
    test_cache probe;
    const std::vector<kv_group> groups = probe.kv.shape.groups;
    test_cache c(WINDOW, 12 * groups[0].block_bytes);
    grow(&c.kv, 0, 500, N_BATCH);
    kv_truncate(&c.kv, 0, 0); // blocks of both groups are unused now
    llm_status status = LLM_OK;
    while (status == LLM_OK && c.kv.sequences[0].n < N_CTX) {
        status = append(&c.kv, 0, 64, 64);
        if (status == LLM_OK) kv_commit(&c.kv, 0, 64);
        CHECK(c.kv.bytes <= c.kv.max_bytes);
    }
    CHECK(status == LLM_ERR_BUDGET);
    kv_roll_back(&c.kv, 0);
    CHECK(sees_all(&c.kv, &c.kv.sequences[0]));
    CHECK(c.kv.sequences[0].n > 500);
}

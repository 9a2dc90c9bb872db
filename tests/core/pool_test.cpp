#include "core/pool.h"
#include "test.h"
#include <atomic>
#include <thread>
#include <vector>

namespace {
struct counted {
    std::vector<std::atomic<uint32_t>> hits;
    std::atomic<uint32_t> in_phase{0};
    std::atomic<bool> order_broken{false};
    std::vector<uint32_t> first;
};
void hit(void *user, uint32_t phase, uint32_t chunk, uint32_t) {
    counted *c = (counted *)user;
    if (phase > 0 && c->hits[c->first[phase] - 1].load() == 0) c->order_broken = true;
    c->hits[c->first[phase] + chunk].fetch_add(1);
}
} // namespace

TEST_CASE("every chunk of a program runs once and phases keep their order", "[core]") {
    for (uint32_t n_threads : {1u, 2u, 3u, 5u}) {
        llm::pool *p = nullptr;
        REQUIRE(llm::pool_create(n_threads, &p, nullptr) == LLM_OK);
        REQUIRE(llm::pool_reserve(p, 40, nullptr) == LLM_OK);
        for (uint32_t round = 0; round < 300; round++) {
            std::vector<uint32_t> n_chunks;
            counted c;
            uint32_t total = 0;
            for (uint32_t i = 0; i < 40; i++) {
                n_chunks.push_back(1 + (i * 7 + round) % 9);
                c.first.push_back(total);
                total += n_chunks.back();
            }
            c.hits = std::vector<std::atomic<uint32_t>>(total);
            llm::pool_program program = {40, n_chunks.data(), hit, &c};
            llm::pool_execute(p, &program, 1 + round % n_threads, nullptr);
            bool once = true;
            for (auto &h : c.hits) once = once && h.load() == 1;
            REQUIRE(once);
            REQUIRE_FALSE(c.order_broken.load());
        }
        llm::pool_free(p);
    }
}

TEST_CASE("callers of one pool take turns", "[core]") {
    llm::pool *p = nullptr;
    REQUIRE(llm::pool_create(2, &p, nullptr) == LLM_OK);
    llm::pool_reserve(p, 4, nullptr);
    std::atomic<uint32_t> sum{0};
    auto add = [](void *user, uint32_t, uint32_t, uint32_t) { ((std::atomic<uint32_t> *)user)->fetch_add(1); };
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; i++)
        callers.emplace_back([&] {
            uint32_t n_chunks[4] = {3, 1, 8, 2};
            llm::pool_program program = {4, n_chunks, add, &sum};
            for (int k = 0; k < 200; k++) llm::pool_execute(p, &program, 2, nullptr);
        });
    for (auto &t : callers) t.join();
    REQUIRE(sum.load() == 4 * 200 * 14);
    llm::pool_free(p);
}

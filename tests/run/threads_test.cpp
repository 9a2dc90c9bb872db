// One model, many contexts on many threads; what `make config=tsan test` is for.
#include "run/library.h"
#include <atomic>
#include <thread>

using namespace llm_test;

namespace {

ids greedy(llm_context *context, llm_sampler *sampler, const ids &prompt) {
    llm_generate_options o = {};
    o.n_predict = 12;
    o.ignore_eog = true;
    ids out(12);
    llm_result result;
    llm_error err = {};
    if (llm_generate(context, sampler, &o, prompt.data(), prompt.size(), nullptr, nullptr, out.data(), out.size(),
                     &result, &err) != LLM_OK)
        out.clear();
    return out;
}

ids answer_of(llm_model *model, llm_pool *pool) {
    llm_context_options co = context_options(64);
    co.pool = pool;
    co.n_threads = pool ? 0 : 2;
    context_handle context = make_context(model, co);
    llm_sampler *sampler = nullptr;
    llm_error err = {};
    expect_ok(llm_sampler_create(nullptr, &sampler, &err), err);
    sampler_handle owned(sampler);
    return greedy(context.get(), sampler, {5, 6, 7, 8, 9});
}

} // namespace

TEST_CASE("eight contexts of one model on eight threads give what one gives alone", "[threads]") {
    model_handle model = load_model(own_data("qmodel-q4_0.gguf"));
    ids alone = answer_of(model.get(), nullptr);
    REQUIRE(alone.size() == 12);
    llm_pool_options po = {};
    po.n_threads = 2;
    llm_pool *pool = nullptr;
    llm_error err = {};
    expect_ok(llm_pool_create(&po, &pool, &err), err);
    std::atomic<int> n_equal{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++)
        threads.emplace_back([&, i] {
            for (int round = 0; round < 4; round++)
                if (answer_of(model.get(), i % 2 ? pool : nullptr) == alone) n_equal++;
        });
    for (std::thread &t : threads) t.join();
    llm_pool_free(pool);
    REQUIRE(n_equal == 32);
}

TEST_CASE("a call on a context that is in another call is refused, and a cancel ends the first", "[threads]") {
    model_handle model = load_model(own_data("stories260K-f32.gguf"));
    context_handle context = make_context(model.get(), context_options(256));
    llm_sampler *made = nullptr;
    llm_error err = {};
    expect_ok(llm_sampler_create(nullptr, &made, &err), err);
    sampler_handle sampler(made);
    std::atomic<bool> inside{false}, refused{false};
    struct shared_state {
        std::atomic<bool> *inside, *refused;
    } state = {&inside, &refused};
    auto wait_inside = [](void *user, const llm_event *) {
        auto *s = (shared_state *)user;
        s->inside->store(true);
        while (!s->refused->load()) std::this_thread::yield();
        return true;
    };
    llm_result result = {};
    std::thread caller([&] {
        llm_generate_options o = {};
        o.ignore_eog = true;
        llm_token prompt[] = {1, 5, 6};
        llm_generate(context.get(), sampler.get(), &o, prompt, 3, wait_inside, &state, nullptr, 0, &result, nullptr);
    });
    while (!inside.load()) std::this_thread::yield();
    llm_status status = llm_seq_clear(context.get(), 0, nullptr);
    llm_cancel(context.get());
    refused = true;
    caller.join();
    REQUIRE(status == LLM_ERR_BUSY);
    REQUIRE(result.finish == LLM_FINISH_CANCELLED);
}

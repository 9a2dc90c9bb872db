// The library as a guest in a process: what it takes, what it gives back, and that it can be stopped and freed anyhow.
#include "run/counting.h"
#include "run/library.h"
#include "temporary.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <random>
#include <thread>
#include <unistd.h>

using namespace llm_test;

namespace {

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

sampler_handle make_sampler(const llm_sampler_options &options) {
    llm_error err = {};
    llm_sampler *sampler = nullptr;
    expect_ok(llm_sampler_create(&options, &sampler, &err), err);
    return sampler_handle(sampler);
}

llm_sampler_options warm_sampler() {
    llm_sampler_options o = {};
    o.temperature = 0.8f;
    o.top_k = 40;
    o.top_p = 0.9f;
    o.min_p = 0.01f;
    o.repeat_penalty = 1.1f;
    return o;
}

std::string bundled_model() { return std::string(LLM_SOURCE_DIR) + "/models/libllm-chat-3m.gguf"; }

// A program's life in one call, in C style: it allocates nothing of its own. The first failure ends it.
llm_status whole_life(const char *path, const llm_allocator *hook) {
    llm_model *model = nullptr;
    llm_context *context = nullptr;
    llm_sampler *sampler = nullptr;
    llm_checkpoint *checkpoint = nullptr;
    llm_model_options mo = {};
    mo.allocator = hook;
    llm_context_options co = {};
    co.n_ctx = 128;
    co.n_threads = 2;
    co.n_seq_max = 2;
    llm_generate_options go = {};
    go.n_predict = 4;
    llm_string stop = {"zzz", 3};
    go.stops = &stop;
    go.n_stops = 1;
    llm_token prompt[70], made[4];
    for (int i = 0; i < 70; i++) prompt[i] = 10 + i;
    llm_batch batch = {};
    batch.n_tokens = 5;
    batch.tokens = prompt;
    size_t n;
    llm_status s = llm_model_load(path, &mo, &model, nullptr);
    if (s == LLM_OK) s = llm_context_create(model, &co, &context, nullptr);
    if (s == LLM_OK) s = llm_sampler_create(nullptr, &sampler, nullptr);
    if (s == LLM_OK) s = llm_decode(context, &batch, nullptr);
    if (s == LLM_OK) s = llm_seq_checkpoint(context, 0, &checkpoint, nullptr);
    if (s == LLM_OK) s = llm_seq_share(context, 0, 1, 3, nullptr);
    if (s == LLM_OK) s = llm_generate(context, sampler, &go, prompt, 70, nullptr, nullptr, made, 4, nullptr, nullptr);
    if (s == LLM_OK) s = llm_seq_restore(context, 0, checkpoint, nullptr);
    if (s == LLM_OK) s = llm_context_set_threads(context, 3, nullptr);
    if (s == LLM_OK) s = llm_tokenize(model, "Once upon", 9, 0, prompt, 70, &n, nullptr);
    llm_sampler_free(sampler);
    llm_model_free(model);
    llm_context_free(context);
    return s;
}

// A conversation's, on a loaded model. A failed message leaves it as it was.
bool fits(const llm_chat *chat, size_t n_messages, uint32_t n_used_before) {
    uint32_t n_used, n_ctx;
    llm_chat_usage(chat, &n_used, &n_ctx);
    return llm_chat_n_messages(chat) == n_messages && n_used == n_used_before;
}
llm_status conversation_life(llm_model *model, const char *session) {
    llm_chat *chat = nullptr;
    llm_chat_options o = {};
    o.context.n_ctx = 512;
    o.context.n_threads = 1;
    o.n_predict = 3;
    o.system = {"Be kind.", 8};
    llm_string stop = {"zzz", 3};
    o.stops = &stop;
    o.n_stops = 1;
    llm_status s = llm_chat_create(model, &o, &chat, nullptr);
    if (s == LLM_OK) s = llm_chat_send(chat, "Hello", 5, nullptr, nullptr, nullptr, nullptr);
    uint32_t n_used = 0, n_ctx;
    llm_chat_usage(chat, &n_used, &n_ctx);
    if (chat && s != LLM_OK && !fits(chat, 1, 0)) s = LLM_ERR_INTERNAL;
    if (s == LLM_OK && (s = llm_chat_send(chat, "And now?", 8, nullptr, nullptr, nullptr, nullptr)) != LLM_OK)
        if (!fits(chat, 3, n_used)) s = LLM_ERR_INTERNAL;
    if (s == LLM_OK) s = llm_chat_save(chat, session, nullptr);
    if (s == LLM_OK) s = llm_chat_drop_oldest(chat, 1, nullptr, nullptr);
    if (s == LLM_OK) s = llm_chat_load(chat, session, nullptr);
    llm_chat_free(chat);
    return s;
}

size_t n_open_files() {
    std::error_code none;
    return (size_t)std::distance(std::filesystem::directory_iterator("/proc/self/fd", none), {});
}

// Fails one allocation after another: always LLM_ERR_NOMEM, and neither memory nor files stay behind.
template <class Life> void fail_each_allocation(Life life) {
    REQUIRE(life() == LLM_OK); // what is made once and kept is made here
    const size_t files = n_open_files();
    int64_t alive = heap.n_alive, k = 0;
    for (;; k++) {
        heap.failed = false;
        heap.fail_in = k;
        llm_status status = life();
        heap.fail_in = -1;
        if (!heap.failed) break;
        int64_t left = heap.n_alive - alive;
        size_t files_left = n_open_files() - files;
        if (status == LLM_ERR_NOMEM && left == 0 && files_left == 0) continue;
        CAPTURE(k, llm_status_text(status), left, files_left);
        FAIL("expected \"out of memory\" and nothing left");
    }
    CHECK(k > 20);
    CHECK(life() == LLM_OK);
}

struct in_callback {
    std::function<void()> act;
    bool done = false;
};
bool act_once(void *user, const llm_event *event) {
    auto *c = (in_callback *)user;
    if (event->type == LLM_EVENT_PROMPT || c->done) return true;
    c->done = true;
    c->act();
    return true;
}

llm_status generate_some(llm_context *context, llm_sampler *sampler, in_callback *c, uint32_t n_predict = 20) {
    llm_token prompt[] = {1, 403, 407, 261};
    llm_generate_options o = {};
    o.n_predict = n_predict;
    o.ignore_eog = true;
    llm_result result;
    return llm_generate(context, sampler, &o, prompt, 4, c ? act_once : nullptr, c, nullptr, 0, &result, nullptr);
}

long resident_bytes() {
    long pages = 0, resident = 0;
    if (FILE *f = fopen("/proc/self/statm", "r")) {
        if (fscanf(f, "%ld %ld", &pages, &resident) != 2) resident = 0;
        fclose(f);
    }
    return resident * 4096;
}

} // namespace

TEST_CASE("a token allocates nothing once the shapes have been seen", "[guest]") {
    for (const char *file : {"qmodel-q4_0.gguf", "stories260K-f32.gguf", "gpt2.gguf"}) {
        model_handle model = load_model(own_data(file));
        const uint32_t n_vocab = model_info(model.get()).n_vocab, n = n_vocab == 512 ? 100 : 40;
        llm_context_options o = context_options(n_vocab == 512 ? 256 : 64);
        o.n_threads = 2;
        context_handle context = make_context(model.get(), o);
        sampler_handle sampler = make_sampler(warm_sampler());
        feed(context.get(), random_ids(10, n_vocab, 1));
        llm_token next = 5;
        uint8_t want = LLM_WANT_LOGITS | LLM_WANT_TOP | LLM_WANT_HIDDEN;
        llm_batch batch = {};
        batch.n_tokens = 1;
        batch.tokens = &next;
        batch.want = &want;
        uint64_t taken = 0;
        bool fine = true;
        for (uint32_t i = 0; i < n; i++) {
            count_allocations counter;
            fine =
                fine && llm_decode(context.get(), &batch, nullptr) == LLM_OK &&
                llm_sampler_sample(sampler.get(), llm_logits(context.get(), 0), n_vocab, i, &next, nullptr) == LLM_OK;
            llm_sampler_accept(sampler.get(), next, nullptr);
            if (i > 2) taken += counter.stop();
        }
        CAPTURE(file);
        CHECK(fine);
        CHECK(taken == 0);
    }
}

TEST_CASE("any failing allocation ends in LLM_ERR_NOMEM and leaves nothing behind", "[guest]") {
    const std::string path = own_data("llama-bias.gguf");
    fail_each_allocation([&] { return whole_life(path.c_str(), nullptr); });
}

TEST_CASE("any failing allocation of a conversation ends in LLM_ERR_NOMEM and leaves nothing behind", "[guest]") {
    model_handle model = load_model(bundled_model());
    temporary_folder folder;
    const std::string session = folder / "session";
    fail_each_allocation([&] { return conversation_life(model.get(), session.c_str()); });
}

TEST_CASE("any failing allocation of packing and loading packed leaves nothing behind", "[guest]") {
    temporary_folder folder;
    const std::string path = own_data("qwen2.gguf"), packed = folder / "packed.gguf", unfinished = packed + ".tmp";
    fail_each_allocation([&] {
        unlink(packed.c_str()); // without an allocation that would fail instead
        llm_status s = llm_pack(path.c_str(), packed.c_str(), nullptr, nullptr, nullptr);
        for (const std::string *file : {&packed, &unfinished})
            if (s != LLM_OK && access(file->c_str(), F_OK) == 0) return LLM_ERR_INTERNAL;
        return s;
    });
    for (const char *tier : {(const char *)nullptr, "ref"})
        fail_each_allocation([&] {
            llm_model_options o = {};
            o.cpu_tier = tier;
            o.n_threads = 1;
            llm_model *model = nullptr;
            llm_status s = llm_model_load(packed.c_str(), &o, &model, nullptr);
            llm_model_free(model);
            return s;
        });
}

TEST_CASE("a failing allocator hook ends in LLM_ERR_NOMEM and gets everything back", "[guest]") {
    const std::string path = own_data("llama-bias.gguf");
    for (int64_t k = 0;; k++) {
        counting_allocator hook;
        hook.fail_in = k;
        llm_status status = whole_life(path.c_str(), &hook.hook);
        CHECK(hook.n_alive == 0);
        if (status == LLM_OK) {
            CHECK(k > 3);
            break;
        }
        CAPTURE(k);
        REQUIRE(status == LLM_ERR_NOMEM);
    }
}

TEST_CASE("a generation that fails leaves the sequence as before the call", "[guest]") {
    counting_allocator hook;
    llm_model_options mo = {};
    mo.allocator = &hook.hook;
    llm_model *loaded = nullptr;
    REQUIRE(llm_model_load(own_data("stories260K-f32.gguf").c_str(), &mo, &loaded, nullptr) == LLM_OK);
    model_handle model(loaded);
    context_handle context = make_context(model.get(), context_options(256));
    sampler_handle sampler = make_sampler({});
    feed(context.get(), random_ids(50, 512, 1));
    hook.fail_in = 0; // the block of places 64 and on
    CHECK(generate_some(context.get(), sampler.get(), nullptr) == LLM_ERR_NOMEM);
    CHECK(llm_seq_length(context.get(), 0) == 50);
    CHECK(generate_some(context.get(), sampler.get(), nullptr) == LLM_OK);
}

TEST_CASE("loading, generating and freeing again and again takes no more memory", "[guest]") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__linux__)
    return; // a sanitizer keeps what was freed
#endif
    const std::string path = own_data("llama-gqa-tied.gguf");
    long before = 0;
    for (int i = 0; i < 220; i++) {
        if (i == 20) before = resident_bytes();
        REQUIRE(whole_life(path.c_str(), nullptr) == LLM_OK);
    }
    CHECK(resident_bytes() - before < 1 << 20);
}

TEST_CASE("objects are freed in any order", "[guest]") {
    const uint32_t seed = 5;
    std::mt19937 random(seed);
    INFO("seed " << seed);
    const std::string path = bundled_model();
    int64_t alive = 0;
    for (int i = 0; i < 12; i++) {
        llm_pool *pool = nullptr;
        llm_pool_options po = {};
        po.n_threads = 2;
        REQUIRE(llm_pool_create(&po, &pool, nullptr) == LLM_OK);
        llm_model *model = load_model(path).release();
        llm_context_options co = context_options(64);
        co.pool = pool;
        llm_context *first = make_context(model, co).release(), *second = make_context(model, co).release();
        llm_chat_options o = {};
        o.context = co;
        o.n_predict = 2;
        llm_chat *chat = nullptr;
        REQUIRE(llm_chat_create(model, &o, &chat, nullptr) == LLM_OK);
        std::vector<int> order = {0, 1, 2, 3, 4};
        std::shuffle(order.begin(), order.end(), random);
        for (int which : order) {
            if (which == 0) llm_pool_free(pool);
            if (which == 1) llm_model_free(model);
            if (which == 2) feed(first, {1, 2, 3}), llm_context_free(first);
            if (which == 3) feed(second, {1, 2, 3}), llm_context_free(second);
            if (which == 4) {
                CHECK(llm_chat_send(chat, "Hi", 2, nullptr, nullptr, nullptr, nullptr) == LLM_OK);
                llm_chat_free(chat);
            }
        }
        if (i == 1) alive = heap.n_alive;
    }
    CHECK(heap.n_alive <= alive + 16); // what Catch2 keeps per assertion
}

TEST_CASE("an object freed inside its own callback ends its call and is gone", "[guest]") {
    model_handle model = load_model(bundled_model());
    auto freed_in_callback = [&](bool of_chat) {
        sampler_handle sampler = make_sampler({});
        int64_t alive = heap.n_alive;
        llm_chat *chat = nullptr;
        llm_context *context = nullptr;
        llm_chat_options o = {};
        o.context.n_ctx = 128;
        if (of_chat)
            REQUIRE(llm_chat_create(model.get(), &o, &chat, nullptr) == LLM_OK);
        else
            context = make_context(model.get(), context_options(128)).release();
        in_callback c;
        c.act = [=] {
            llm_context_free(context);
            llm_chat_free(chat);
        };
        int64_t held = heap.n_alive;
        if (of_chat)
            llm_chat_send(chat, "Hi", 2, act_once, &c, nullptr, nullptr);
        else
            generate_some(context, sampler.get(), &c, 100);
        CHECK(c.done);
        return heap.n_alive < held && heap.n_alive <= alive + 16;
    };
    CHECK(freed_in_callback(false));
    CHECK(freed_in_callback(true));
}

TEST_CASE("an object freed by another thread ends its call first", "[guest]") {
    model_handle model = load_model(own_data("stories260K-f32.gguf"));
    sampler_handle sampler = make_sampler({});
    llm_context *context = make_context(model.get(), context_options(512)).release();
    std::thread other;
    in_callback c;
    c.act = [&] {
        other = std::thread([&] { llm_context_free(context); });
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    };
    generate_some(context, sampler.get(), &c, 500);
    other.join();
    CHECK(c.done);
}

TEST_CASE("an object in a call is busy for all others", "[guest]") {
    model_handle model = load_model(own_data("stories260K-f32.gguf"));
    context_handle context = make_context(model.get(), context_options(128));
    sampler_handle sampler = make_sampler({}), other_sampler = make_sampler({});
    auto all_busy = [&] {
        llm_token id = 5, out;
        llm_batch b = {};
        b.n_tokens = 1;
        b.tokens = &id;
        float logits[4] = {};
        llm_checkpoint *checkpoint = nullptr;
        return llm_decode(context.get(), &b, nullptr) == LLM_ERR_BUSY &&
               llm_seq_clear(context.get(), 0, nullptr) == LLM_ERR_BUSY &&
               llm_seq_checkpoint(context.get(), 0, &checkpoint, nullptr) == LLM_ERR_BUSY && !checkpoint &&
               llm_context_set_threads(context.get(), 1, nullptr) == LLM_ERR_BUSY &&
               llm_sampler_accept(sampler.get(), 1, nullptr) == LLM_ERR_BUSY &&
               llm_sampler_sample(sampler.get(), logits, 4, 0, &out, nullptr) == LLM_ERR_BUSY &&
               generate_some(context.get(), other_sampler.get(), nullptr) == LLM_ERR_BUSY;
    };
    bool here = false, there = false;
    in_callback c;
    c.act = [&] {
        here = all_busy();
        std::thread([&] { there = all_busy(); }).join();
    };
    CHECK(generate_some(context.get(), sampler.get(), &c) == LLM_OK);
    CHECK(here);
    CHECK(there);
    CHECK(llm_seq_length(context.get(), 0) == 4 + 19);
    CHECK(generate_some(context.get(), other_sampler.get(), nullptr) == LLM_OK);
}

TEST_CASE("a cancel from another thread ends the call at once and changes nothing", "[guest]") {
    const size_t n = 30000;
    model_handle model = load_model(own_data("qmodel-q4_0.gguf"));
    context_handle context = make_context(model.get(), context_options(n + 100));
    ids start = random_ids(10, 512, 1), text = random_ids(n, 512, 2);
    feed(context.get(), start);
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
        double cancelled_at = 0;
        std::thread other([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(60));
            cancelled_at = seconds_now();
            llm_cancel(context.get());
        });
        llm_batch b = {};
        b.n_tokens = (uint32_t)n;
        b.tokens = text.data();
        llm_status status = llm_decode(context.get(), &b, nullptr);
        double ended = seconds_now();
        other.join();
        REQUIRE(status == LLM_CANCELLED);
        CHECK(llm_seq_length(context.get(), 0) == 10);
        CHECK(llm_logits(context.get(), LLM_LAST) == nullptr);
        best = std::min(best, ended - cancelled_at);
    }
    INFO("the quickest of three took " << best * 1000 << " ms");
    CHECK(best < 0.1); // of three, as other programs may have the cores
    ids more = {7, 8, 9};
    std::vector<float> after = logits_of(context.get(), more, 512);
    context_handle fresh = make_context(model.get(), context_options(100));
    feed(fresh.get(), start);
    CHECK(same_bits(after, logits_of(fresh.get(), more, 512)));
}

TEST_CASE("a cancel is taken by the next call, or forgotten", "[guest]") {
    model_handle model = load_model(own_data("stories260K-f32.gguf"));
    context_handle context = make_context(model.get(), context_options(64));
    sampler_handle sampler = make_sampler({});
    llm_token id = 5;
    llm_batch b = {};
    b.n_tokens = 1;
    b.tokens = &id;
    llm_cancel(context.get());
    llm_cancel_reset(context.get());
    CHECK(llm_decode(context.get(), &b, nullptr) == LLM_OK);
    llm_cancel(context.get());
    CHECK(llm_decode(context.get(), &b, nullptr) == LLM_CANCELLED);
    CHECK(llm_decode(context.get(), &b, nullptr) == LLM_OK);
    CHECK(llm_seq_length(context.get(), 0) == 2);
    llm_cancel(context.get());
    CHECK(generate_some(context.get(), sampler.get(), nullptr) == LLM_CANCELLED);
    CHECK(llm_seq_length(context.get(), 0) == 2);
    in_callback c;
    c.act = [&] { llm_cancel(context.get()); };
    CHECK(generate_some(context.get(), sampler.get(), &c) == LLM_OK); // finish says it was cancelled
    CHECK(llm_decode(context.get(), &b, nullptr) == LLM_OK);
}

TEST_CASE("two contexts of one model on one pool answer at once", "[guest]") {
    llm_pool *pool = nullptr;
    llm_pool_options po = {};
    po.n_threads = 3;
    REQUIRE(llm_pool_create(&po, &pool, nullptr) == LLM_OK);
    model_handle model = load_model(own_data("qmodel-q4_0.gguf"));
    llm_context_options o = context_options(128);
    o.pool = pool;
    ids text = random_ids(100, 512, 3);
    context_handle alone = make_context(model.get(), context_options(128));
    std::vector<float> expected = logits_of(alone.get(), text, 512), got[2];
    std::vector<std::thread> threads;
    for (std::vector<float> &mine : got)
        threads.emplace_back([&] {
            for (int i = 0; i < 10; i++) {
                context_handle context = make_context(model.get(), o);
                mine = logits_in_steps(context.get(), text, 512, 9);
            }
        });
    for (std::thread &t : threads) t.join();
    llm_pool_free(pool);
    CHECK(same_bits(got[0], expected));
    CHECK(same_bits(got[1], expected));
}

// Sequences of a context: whatever led to a sequence's tokens, the next logits are those of a fresh one.
#include "run/library.h"

using namespace llm_test;

namespace {

constexpr uint32_t N_VOCAB = 512;

ids join(ids a, const ids &b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}
ids first(const ids &a, size_t n) { return ids(a.begin(), a.begin() + (ptrdiff_t)n); }

struct setting {
    model_handle model;
    llm_context_options options;
    context_handle context;
};
setting make_setting(const char *file, llm_kv_type kv, uint32_t n_batch = 0) {
    setting s;
    s.model = load_model(own_data(file));
    s.options = context_options(256, kv);
    s.options.n_seq_max = 4;
    s.options.n_batch = n_batch;
    s.context = make_context(s.model.get(), s.options);
    return s;
}

// What `more` gives after `before` in a context of its own.
std::vector<float> fresh(const setting &s, const ids &before, const ids &more) {
    context_handle context = make_context(s.model.get(), s.options);
    if (!before.empty()) feed(context.get(), before);
    return logits_of(context.get(), more, N_VOCAB);
}

void truncate(const setting &s, llm_seq seq, uint32_t length) {
    llm_error err = {};
    expect_ok(llm_seq_truncate(s.context.get(), seq, length, &err), err);
}

// Lengths around the edges of a block of 64.
const uint32_t lengths[] = {0, 1, 63, 64, 65, 100};

} // namespace

TEST_CASE("a truncated sequence goes on as if the rest had never been", "[kv]") {
    for (llm_kv_type kv : {LLM_KV_F16, LLM_KV_F32, LLM_KV_Q8_0, LLM_KV_Q4_0}) {
        setting s = make_setting("qmodel-q4_k_m.gguf", kv);
        ids text = random_ids(130, N_VOCAB, 1), more = random_ids(5, N_VOCAB, 2);
        for (uint32_t length : lengths) {
            truncate(s, 0, 0);
            feed(s.context.get(), text);
            truncate(s, 0, length);
            CHECK(llm_seq_length(s.context.get(), 0) == (int32_t)length);
            CAPTURE(kv, length);
            CHECK(same_bits(logits_of(s.context.get(), more, N_VOCAB), fresh(s, first(text, length), more)));
        }
    }
}

TEST_CASE("sequences that share a beginning do not see each other's ends", "[kv]") {
    setting s = make_setting("llama-bias.gguf", LLM_KV_F16);
    ids text = random_ids(130, N_VOCAB, 1), a = random_ids(70, N_VOCAB, 2), b = random_ids(70, N_VOCAB, 3);
    for (uint32_t length : lengths) {
        for (llm_seq seq : {0, 1, 2}) truncate(s, seq, 0);
        llm_error err = {};
        feed(s.context.get(), text, 0);
        feed(s.context.get(), a, 1); // is replaced
        expect_ok(llm_seq_share(s.context.get(), 0, 1, length, &err), err);
        expect_ok(llm_seq_share(s.context.get(), 1, 2, length, &err), err);
        CAPTURE(length);
        CHECK(same_bits(logits_of(s.context.get(), a, N_VOCAB, 1), fresh(s, first(text, length), a)));
        CHECK(same_bits(logits_of(s.context.get(), b, N_VOCAB, 2), fresh(s, first(text, length), b)));
        CHECK(same_bits(logits_of(s.context.get(), b, N_VOCAB, 0), fresh(s, text, b)));
        CHECK(same_bits(logits_of(s.context.get(), {5}, N_VOCAB, 1), fresh(s, join(first(text, length), a), {5})));
    }
    llm_error err = {};
    CHECK(llm_seq_share(s.context.get(), 0, 1, 1000, &err) == LLM_ERR_ARGUMENT);
    CHECK(llm_seq_share(s.context.get(), 0, 4, 1, &err) == LLM_ERR_ARGUMENT);
}

TEST_CASE("a checkpoint brings a sequence back any number of times, into any sequence", "[kv]") {
    setting s = make_setting("llama-bias.gguf", LLM_KV_F16);
    ids text = random_ids(70, N_VOCAB, 1), more = random_ids(9, N_VOCAB, 2);
    llm_error err = {};
    llm_checkpoint *kept = nullptr, *forgotten = nullptr;
    feed(s.context.get(), text);
    std::vector<float> expected = fresh(s, text, more);
    expect_ok(llm_seq_checkpoint(s.context.get(), 0, &kept, &err), err);
    expect_ok(llm_seq_checkpoint(s.context.get(), 0, &forgotten, &err), err); // the context frees it
    for (llm_seq to : {0, 3, 0}) {
        feed(s.context.get(), random_ids(50, N_VOCAB, 4), to);
        expect_ok(llm_seq_restore(s.context.get(), to, kept, &err), err);
        CHECK(llm_seq_length(s.context.get(), to) == 70);
        CHECK(same_bits(logits_of(s.context.get(), more, N_VOCAB, to), expected));
    }
    llm_checkpoint_free(s.context.get(), kept);
    CHECK(same_bits(logits_of(s.context.get(), {5}, N_VOCAB), fresh(s, join(text, more), {5})));
}

TEST_CASE("a full context says so and stays as it was", "[kv]") {
    setting s = make_setting("llama-bias.gguf", LLM_KV_F16);
    ids text = random_ids(250, N_VOCAB, 1);
    feed(s.context.get(), text);
    ids many = random_ids(7, N_VOCAB, 2);
    llm_batch b = {};
    b.n_tokens = 7;
    b.tokens = many.data();
    llm_error err = {};
    CHECK(llm_decode(s.context.get(), &b, &err) == LLM_ERR_CONTEXT_FULL);
    for (const char *number : {"7", "6", "256"}) CHECK(std::string(err.message).find(number) != std::string::npos);
    CHECK(llm_seq_length(s.context.get(), 0) == 250);
    CHECK(same_bits(logits_of(s.context.get(), first(many, 6), N_VOCAB), fresh(s, text, first(many, 6))));
    b.n_tokens = 1;
    CHECK(llm_decode(s.context.get(), &b, &err) == LLM_ERR_CONTEXT_FULL);
}

TEST_CASE("tokens of a span see each other both ways", "[kv]") {
    setting s = make_setting("llama-bias.gguf", LLM_KV_F16), small = make_setting("llama-bias.gguf", LLM_KV_F16, 6);
    const int32_t span[] = {0, 0, 0, 0, 4, 4, 4, 4, 4, 0, 0, 6};
    auto run = [&](const setting &in, ids text, bool with_span) {
        std::vector<uint8_t> want(text.size(), LLM_WANT_LOGITS);
        llm_batch b = {};
        b.n_tokens = (uint32_t)text.size();
        b.tokens = text.data();
        b.want = want.data();
        b.span = with_span ? span : nullptr;
        llm_error err = {};
        truncate(in, 0, 0);
        expect_ok(llm_decode(in.context.get(), &b, &err), err);
        const float *rows = llm_logits(in.context.get(), 0);
        return std::vector<float>(rows, rows + text.size() * N_VOCAB);
    };
    auto row = [](const std::vector<float> &all, size_t i) {
        return std::vector<float>(all.begin() + (ptrdiff_t)(i * N_VOCAB), all.begin() + (ptrdiff_t)((i + 1) * N_VOCAB));
    };
    ids text = random_ids(12, N_VOCAB, 1), changed = text;
    changed[8] ^= 1; // the span's last
    std::vector<float> a = run(s, text, true), b = run(s, changed, true), causal = run(s, text, false);
    CHECK_FALSE(same_bits(row(a, 4), row(b, 4)));
    CHECK(same_bits(row(a, 3), row(b, 3)));
    CHECK(same_bits(row(a, 3), row(causal, 3)));
    CHECK_FALSE(same_bits(row(a, 4), row(causal, 4)));
    CHECK(same_bits(run(small, text, true), a));
    setting tiny = make_setting("llama-bias.gguf", LLM_KV_F16, 4);
    CHECK_THROWS(run(tiny, text, true)); // the span is longer than n_batch
    CHECK(llm_seq_length(tiny.context.get(), 0) == 0);
}

TEST_CASE("half precision of keys and values costs little and is not ignored", "[kv]") {
    for (const char *file : {"llama-bias.gguf", "llama-gqa-tied.gguf", "qmodel-q4_0.gguf"}) {
        setting half = make_setting(file, LLM_KV_F16), full = make_setting(file, LLM_KV_F32);
        ids text = random_ids(100, N_VOCAB, 1);
        std::vector<float> a = logits_of(half.context.get(), text, N_VOCAB),
                           b = logits_of(full.context.get(), text, N_VOCAB);
        distance d = distance_of(a.data(), b.data(), text.size(), N_VOCAB);
        CAPTURE(file, d.max_abs, d.rms);
        CHECK(d.rms > 0);
        CHECK(d.kl_mean < 1e-3);
    }
}

TEST_CASE("written positions are the places where they are equal, and move the tokens where not", "[kv]") {
    setting s = make_setting("llama-bias.gguf", LLM_KV_F16);
    ids text = random_ids(8, N_VOCAB, 1);
    std::vector<int32_t> pos = {0, 1, 2, 3, 4, 5, 6, 7};
    llm_batch b = {};
    b.n_tokens = 8;
    b.tokens = text.data();
    auto last = [&] {
        llm_error err = {};
        truncate(s, 0, 0);
        expect_ok(llm_decode(s.context.get(), &b, &err), err);
        return std::vector<float>(llm_logits(s.context.get(), LLM_LAST),
                                  llm_logits(s.context.get(), LLM_LAST) + N_VOCAB);
    };
    std::vector<float> plain = last();
    b.pos = pos.data();
    CHECK(same_bits(last(), plain));
    pos[7] = 20;
    CHECK_FALSE(same_bits(last(), plain));
}

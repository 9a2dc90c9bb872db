// llm.h: every status that a caller can meet, what was wanted of tokens, embeddings as input, memory estimates.
#include "gguf/gguf.h"
#include "run/library.h"
#include "temporary.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <set>

using namespace llm_test;

namespace {

std::string bundled_model() { return std::string(LLM_SOURCE_DIR) + "/models/libllm-chat-3m.gguf"; }

llm_status load_bytes(const std::string &bytes, llm_error *err) {
    llm_model *model = nullptr;
    llm_status status = llm_model_load_buffer(bytes.data(), bytes.size(), nullptr, &model, err);
    llm_model_free(model);
    return status;
}

// The values of a tensor's rows as the file stores them.
std::vector<float> tensor_values(const std::string &path, const char *name) {
    llm_error err = {};
    llm::gguf_file file;
    expect_ok(llm::gguf_open(path.c_str(), &file, &err), err);
    const llm::gguf_tensor *t = llm::gguf_find_tensor(&file, name);
    std::string bytes = read_bytes(path).substr(t->offset, t->bytes);
    std::vector<float> out(t->shape[0] * t->shape[1]);
    llm::format_by_id(t->format)->dequantise(bytes.data(), out.data(), out.size());
    llm::gguf_close(&file);
    return out;
}

struct status_case {
    llm_status expected;
    const char *what;
    std::function<llm_status(llm_error *)> call;
};

std::string broken_copy(const char *file, const char *from, const char *to) {
    std::string bytes = read_bytes(own_data(file));
    size_t at = bytes.find(from);
    REQUIRE(at != std::string::npos);
    return bytes.replace(at, strlen(from), to);
}

llm_status load_with(const llm_model_options &o, llm_error *err) {
    llm_model *model = nullptr;
    llm_status status = llm_model_load(own_data("llama-bias.gguf").c_str(), &o, &model, err);
    llm_model_free(model);
    return status;
}

void *no_memory(void *, llm_memory_kind, size_t, size_t) { return nullptr; }
void no_free(void *, llm_memory_kind, void *, size_t) {}
bool stop_progress(void *, float) { return false; }

} // namespace

TEST_CASE("every status comes with its sentence and leaves the out-pointer alone", "[api]") {
    temporary_folder folder;
    model_handle model = load_model(own_data("llama-bias.gguf")), talking = load_model(bundled_model());
    context_handle context = make_context(model.get(), context_options(64));
    const std::string good = read_bytes(own_data("llama-bias.gguf")), session = folder / "session";
    auto decode = [&](uint32_t n, llm_token id, llm_error *err) {
        ids tokens(n, id);
        llm_batch b = {};
        b.n_tokens = n;
        b.tokens = tokens.data();
        return llm_decode(context.get(), &b, err);
    };
    auto chat_of = [&](llm_model *of, const char *name, llm_error *err, llm_chat **out) {
        llm_chat_options o = {};
        o.context.n_ctx = 256;
        o.template_name = name;
        o.n_predict = 2;
        return llm_chat_create(of, &o, out, err);
    };
    const status_case cases[] = {
        {LLM_ERR_ARGUMENT, "an id beyond the vocabulary", [&](llm_error *e) { return decode(1, 512, e); }},
        {LLM_ERR_ARGUMENT, "no tokens", [&](llm_error *e) { return decode(0, 1, e); }},
        {LLM_ERR_ARGUMENT, "a sequence that is not there",
         [&](llm_error *e) { return llm_seq_clear(context.get(), 1, e); }},
        {LLM_ERR_CONTEXT_FULL, "65 tokens in 64 places", [&](llm_error *e) { return decode(65, 1, e); }},
        {LLM_CANCELLED, "cancelled before",
         [&](llm_error *e) {
             llm_cancel(context.get());
             return decode(1, 1, e);
         }},
        {LLM_CANCELLED, "progress says stop",
         [&](llm_error *e) {
             llm_model_options o = {};
             o.progress = stop_progress;
             return load_with(o, e);
         }},
        {LLM_ERR_NOMEM, "a hook without memory",
         [&](llm_error *e) {
             llm_allocator none = {no_memory, no_free, nullptr};
             llm_model_options o = {};
             o.allocator = &none;
             return load_with(o, e);
         }},
        {LLM_ERR_BUDGET, "weights over the limit",
         [&](llm_error *e) {
             llm_model_options o = {};
             o.mem_limit = 1000;
             return load_with(o, e);
         }},
        {LLM_ERR_BUDGET, "a context over the limit",
         [&](llm_error *e) {
             llm_context_options o = context_options(4096);
             o.mem_limit = 1000;
             llm_context *out = nullptr;
             llm_status status = llm_context_create(model.get(), &o, &out, e);
             CHECK(out == nullptr);
             return status;
         }},
        {LLM_ERR_IO, "no such file",
         [&](llm_error *e) {
             llm_model *out = nullptr;
             llm_status status = llm_model_load((folder / "none.gguf").c_str(), nullptr, &out, e);
             CHECK(out == nullptr);
             return status;
         }},
        {LLM_ERR_NOT_GGUF, "text", [&](llm_error *e) { return load_bytes("once upon a time there was a file", e); }},
        {LLM_ERR_DAMAGED, "half a file", [&](llm_error *e) { return load_bytes(good.substr(0, good.size() / 2), e); }},
        {LLM_ERR_TOO_NEW, "version 4",
         [&](llm_error *e) {
             std::string newer = good;
             newer[4] = 4;
             return load_bytes(newer, e);
         }},
        {LLM_ERR_UNSUPPORTED, "an unknown family",
         [&](llm_error *e) { return load_bytes(broken_copy("gpt2.gguf", "gpt2", "gptX"), e); }},
        {LLM_ERR_UNSUPPORTED, "no encoder",
         [&](llm_error *e) {
             llm_batch b = {};
             return llm_encode(context.get(), &b, e);
         }},
        {LLM_ERR_UNSUPPORTED, "no such tier",
         [&](llm_error *e) {
             llm_model_options o = {};
             o.cpu_tier = "abacus";
             return load_with(o, e);
         }},
        {LLM_ERR_TOO_SMALL, "room for no id",
         [&](llm_error *e) {
             size_t n = 0;
             llm_status status = llm_tokenize(model.get(), "once", 4, 0, nullptr, 0, &n, e);
             CHECK(n > 0);
             return status;
         }},
        {LLM_ERR_REFUSED, "adapters of tokens that are there",
         [&](llm_error *e) {
             llm_status status = decode(1, 1, e);
             return status == LLM_OK ? llm_seq_set_adapters(context.get(), 0, nullptr, nullptr, 0, e) : status;
         }},
        {LLM_ERR_TEMPLATE, "a model that does not say how to talk",
         [&](llm_error *e) {
             llm_chat *out = nullptr;
             llm_status status = chat_of(model.get(), nullptr, e, &out);
             llm_chat_free(out);
             return status;
         }},
        {LLM_ERR_MISMATCH, "a conversation with half-precision keys, loaded by another",
         [&](llm_error *e) {
             llm_chat *saved = nullptr, *other = nullptr;
             llm_chat_options o = {};
             o.context = context_options(256, LLM_KV_F32);
             REQUIRE(chat_of(talking.get(), nullptr, nullptr, &saved) == LLM_OK);
             REQUIRE(llm_chat_create(talking.get(), &o, &other, nullptr) == LLM_OK);
             REQUIRE(llm_chat_save(saved, session.c_str(), nullptr) == LLM_OK);
             CHECK(llm_chat_load(saved, session.c_str(), nullptr) == LLM_OK);
             llm_status status = llm_chat_load(other, session.c_str(), e);
             llm_chat_free(saved);
             llm_chat_free(other);
             return status;
         }},
    };
    for (const status_case &c : cases) {
        llm_error err = {};
        CAPTURE(c.what);
        CHECK(c.call(&err) == c.expected);
        CAPTURE(err.message);
        CHECK(err.code == c.expected);
        CHECK(strlen(err.message) > 10);
    }
    std::set<std::string> texts;
#define ADD(name, value, text) texts.insert(llm_status_text(name));
    LLM_STATUS_LIST(ADD)
#undef ADD
    CHECK(texts.size() == LLM_ERR_INTERNAL + 1);
}

TEST_CASE("a model with a value that is not a number says where, and the context stays usable", "[api]") {
    const std::string path = own_data("llama-bias.gguf");
    std::string bytes = read_bytes(path);
    llm_error err = {};
    llm::gguf_file file;
    expect_ok(llm::gguf_open(path.c_str(), &file, &err), err);
    const llm::gguf_tensor *embeddings = llm::gguf_find_tensor(&file, "token_embd.weight");
    const float nan = NAN;
    memcpy(&bytes[embeddings->offset + 7 * embeddings->shape[0] * sizeof(float)], &nan, sizeof nan); // of token 7
    llm::gguf_close(&file);
    for (size_t i = 0; const char *tier = llm_cpu_tier(i); i++) {
        llm_model_options o = {};
        o.cpu_tier = tier;
        llm_model *loaded = nullptr;
        expect_ok(llm_model_load_buffer(bytes.data(), bytes.size(), &o, &loaded, &err), err);
        model_handle model(loaded), sound = load_model(path, tier);
        context_handle context = make_context(model.get(), context_options(64));
        feed(context.get(), {1, 2, 3});
        llm_token bad[] = {4, 7, 5};
        llm_batch b = {};
        b.n_tokens = 3;
        b.tokens = bad;
        CAPTURE(tier);
        CHECK(llm_decode(context.get(), &b, &err) == LLM_ERR_NUMERIC);
        CHECK(strstr(err.message, "\"") != nullptr); // the step's name
        CHECK(llm_seq_length(context.get(), 0) == 3);
        context_handle fresh = make_context(sound.get(), context_options(64));
        feed(fresh.get(), {1, 2, 3});
        CHECK(same_bits(logits_of(context.get(), {4, 5}, 512), logits_of(fresh.get(), {4, 5}, 512)));
    }
}

TEST_CASE("tokens give what was wanted of them and nothing else", "[api]") {
    model_handle model = load_model(own_data("qmodel-q4_k_m.gguf"));
    context_handle context = make_context(model.get(), context_options(64)),
                   all = make_context(model.get(), context_options(64));
    ids text = random_ids(6, 512, 1);
    const uint8_t want[] = {LLM_WANT_NOTHING,
                            LLM_WANT_LOGITS,
                            LLM_WANT_HIDDEN,
                            LLM_WANT_TOP,
                            LLM_WANT_LOGITS | LLM_WANT_TOP | LLM_WANT_HIDDEN,
                            LLM_WANT_NOTHING};
    llm_batch b = {};
    b.n_tokens = 6;
    b.tokens = text.data();
    b.want = want;
    b.top_k = 17;
    llm_error err = {};
    expect_ok(llm_decode(context.get(), &b, &err), err);
    std::vector<float> expected = logits_of(all.get(), text, 512);
    for (int32_t i = 0; i < 6; i++) {
        size_t n = 0;
        const llm_candidate *top = llm_top(context.get(), i, &n);
        CHECK((llm_logits(context.get(), i) != nullptr) == ((want[i] & LLM_WANT_LOGITS) != 0));
        CHECK((llm_hidden_state(context.get(), i) != nullptr) == ((want[i] & LLM_WANT_HIDDEN) != 0));
        CHECK((top != nullptr) == ((want[i] & LLM_WANT_TOP) != 0));
        const float *row = &expected[(size_t)i * 512];
        if (const float *ours = llm_logits(context.get(), i)) CHECK(memcmp(ours, row, 512 * sizeof(float)) == 0);
        if (!top) continue;
        std::vector<llm_token> order(512);
        for (llm_token id = 0; id < 512; id++) order[(size_t)id] = id;
        std::stable_sort(order.begin(), order.end(), [row](llm_token x, llm_token y) { return row[x] > row[y]; });
        REQUIRE(n == 17);
        for (size_t k = 0; k < n; k++) {
            CHECK(top[k].id == order[k]);
            CHECK(top[k].logit == row[order[k]]);
        }
    }
    CHECK(llm_logits(context.get(), LLM_LAST) == llm_logits(context.get(), 4));
    CHECK(llm_logits(context.get(), 6) == nullptr);
    CHECK(llm_logits(context.get(), -2) == llm_logits(context.get(), LLM_LAST));
}

TEST_CASE("the best candidates are the same without the logits beside them", "[api]") {
    llm_error err = {};
    ids text = random_ids(20, 512, 5);
    for (size_t i = 0; const char *tier = llm_cpu_tier(i); i++)
        for (uint32_t threads : {1u, 2u, 3u})
            for (uint32_t top_k : {1u, 40u, 511u}) { // 20 rows of 511 are more than threads keep
                model_handle model = load_model(own_data("qmodel-q4_k_m.gguf"), tier);
                llm_context_options o = context_options(64);
                o.n_threads = threads;
                o.n_batch = 7;
                context_handle alone = make_context(model.get(), o), both = make_context(model.get(), o);
                std::vector<uint8_t> top(20, LLM_WANT_TOP), all(20, LLM_WANT_TOP | LLM_WANT_LOGITS);
                llm_batch b = {};
                b.n_tokens = 20;
                b.tokens = text.data();
                b.top_k = top_k;
                b.want = top.data();
                expect_ok(llm_decode(alone.get(), &b, &err), err);
                b.want = all.data();
                expect_ok(llm_decode(both.get(), &b, &err), err);
                CAPTURE(tier, threads, top_k);
                for (int32_t row = 0; row < 20; row++) {
                    size_t n = 0, n_expected = 0;
                    const llm_candidate *ours = llm_top(alone.get(), row, &n);
                    const llm_candidate *expected = llm_top(both.get(), row, &n_expected);
                    REQUIRE((n == top_k && n_expected == top_k));
                    CHECK(memcmp(ours, expected, n * sizeof(llm_candidate)) == 0);
                    CHECK(llm_logits(alone.get(), row) == nullptr);
                }
            }
}

TEST_CASE("a prompt of several passes whose last token alone wants logits gives the same bits", "[api]") {
    for (const char *file : {"llama-gqa-tied.gguf", "llama-bias.gguf", "qmodel-q4_0.gguf"})
        for (size_t i = 0; const char *tier = llm_cpu_tier(i); i++) {
            model_handle model = load_model(own_data(file), tier);
            llm_context_options o = context_options(128);
            context_handle whole = make_context(model.get(), o);
            o.n_batch = 5;
            context_handle cut = make_context(model.get(), o);
            ids text = random_ids(23, 512, 1);
            const float *a = feed(whole.get(), text), *b = feed(cut.get(), text);
            CAPTURE(file, tier);
            CHECK(memcmp(a, b, 512 * sizeof(float)) == 0);
        }
}

TEST_CASE("a token's embedding as input gives the token's logits", "[api]") {
    for (const char *file : {"llama-bias.gguf", "gpt2.gguf", "qwen2.gguf", "qmodel-q4_0.gguf", "qmodel-q4_k_m.gguf"}) {
        model_handle model = load_model(own_data(file));
        llm_model_info info = model_info(model.get());
        std::vector<float> table = tensor_values(own_data(file), "token_embd.weight");
        ids text = random_ids(9, info.n_vocab, 1), mixed = text;
        std::vector<float> rows;
        for (llm_token id : text)
            rows.insert(rows.end(), &table[(size_t)id * info.n_embd], &table[(size_t)id * info.n_embd] + info.n_embd);
        mixed[3] = mixed[8] = -1;
        std::vector<uint8_t> want(9, LLM_WANT_LOGITS);
        context_handle tokens = make_context(model.get(), context_options(64));
        std::vector<float> expected = logits_of(tokens.get(), text, info.n_vocab);
        for (const llm_token *ids_given : {(const llm_token *)nullptr, (const llm_token *)mixed.data()}) {
            context_handle context = make_context(model.get(), context_options(64));
            llm_batch b = {};
            b.n_tokens = 9;
            b.tokens = ids_given;
            b.embd = rows.data();
            b.want = want.data();
            llm_error err = {};
            expect_ok(llm_decode(context.get(), &b, &err), err);
            CAPTURE(file, ids_given != nullptr);
            CHECK(memcmp(llm_logits(context.get(), 0), expected.data(), expected.size() * sizeof(float)) == 0);
        }
    }
}

TEST_CASE("memory is known before it is taken, and files are closed again", "[api]") {
    auto n_open = [] {
        std::error_code none;
        return std::distance(std::filesystem::directory_iterator("/proc/self/fd", none), {});
    };
    const auto before = n_open();
    llm_error err = {};
    llm_estimate estimate = {};
    llm_context_options o = context_options(1000);
    expect_ok(llm_estimate_memory(own_data("qmodel-q4_0.gguf").c_str(), nullptr, &o, &estimate, &err), err);
    CHECK(n_open() == before);
    model_handle model = load_model(own_data("qmodel-q4_0.gguf"));
    CHECK(n_open() == before);
    CHECK(estimate.weights == model_info(model.get()).weight_bytes);
    CHECK(estimate.n_ctx == 1000);
    o.mem_limit = estimate.kv + estimate.scratch;
    CHECK(make_context(model.get(), o));
    o.mem_limit--;
    llm_context *out = nullptr;
    CHECK(llm_context_create(model.get(), &o, &out, &err) == LLM_ERR_BUDGET);
    CHECK(out == nullptr);
}

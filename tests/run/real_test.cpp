// Published models, as users have them: their numbers against a float64 program's. The bounds are those of
// real/README.md of the conformance data. The weights are fetched by models/get.sh; LLM_REQUIRE_REAL=1 makes their
// absence a failure.
#include "json.h"
#include "run/library.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace llm_test;

namespace {

struct published {
    const char *name, *file;
};
const published models[] = {{"smollm2-135m", "SmolLM2-135M-Instruct.Q4_1.gguf"},
                            {"gemma3-270m", "gemma-3-270m-q4_k_m.gguf"}};

struct real_model {
    const char *name;
    std::string folder;
    rapidjson::Document expected;
    model_handle model;
    uint32_t n_vocab = 0;
};

bool required() {
    const char *value = getenv("LLM_REQUIRE_REAL");
    return value && *value && std::string(value) != "0";
}

// False, with a line on stderr, when the model or the expected numbers are not there.
bool open_real(const published &which, real_model *r) {
    const std::string file = user_model(which.file);
    if (!have_test_data("real") || !file_exists(file)) {
        fprintf(stderr, "NOT TESTED: real model %s: \"%s\" or conformance data \"real\" is not there\n", which.name,
                file.c_str());
        REQUIRE_FALSE(required());
        return false;
    }
    r->name = which.name;
    r->folder = test_data() + "/real";
    r->expected = read_json(r->folder + "/" + which.name + ".json");
    r->model = load_model(file);
    r->n_vocab = r->expected["n_vocab"].GetUint();
    return true;
}

double larger(const rapidjson::Value &of, const char *number) {
    return std::max(of["peer_vs_gold"][number].GetDouble(), of["act32_vs_gold"][number].GetDouble());
}

// Prompt and ids as one prompt: the best id after each position is the next, where no rounding can decide.
void check_forced(const real_model &r, const rapidjson::Value &text) {
    ids prompt = json_ids(text["prompt"]), made = json_ids(text["ids"]);
    size_t first = prompt.size() - 1;
    prompt.insert(prompt.end(), made.begin(), made.end());
    context_handle context = make_context(r.model.get(), context_options(256, LLM_KV_F32));
    std::vector<float> logits = logits_of(context.get(), prompt, r.n_vocab);
    for (size_t i = 0; i < made.size(); i++) {
        CAPTURE(i, text["gaps"][(unsigned)i].GetDouble());
        if (text["gaps"][(unsigned)i].GetDouble() >= 0.5)
            CHECK((llm_token)best_of(&logits[(first + i) * r.n_vocab], r.n_vocab) == made[i]);
    }
}

void check_generated(const real_model &r, const rapidjson::Value &text) {
    llm_error err = {};
    llm_sampler *made_sampler = nullptr;
    expect_ok(llm_sampler_create(nullptr, &made_sampler, &err), err);
    sampler_handle sampler(made_sampler);
    context_handle context = make_context(r.model.get(), context_options(256, LLM_KV_F32));
    ids prompt = json_ids(text["prompt"]), want = json_ids(text["ids"]), made(want.size());
    llm_generate_options o = {};
    o.n_predict = (uint32_t)want.size();
    llm_result result = {};
    expect_ok(llm_generate(context.get(), sampler.get(), &o, prompt.data(), prompt.size(), nullptr, nullptr,
                           made.data(), made.size(), &result, &err),
              err);
    for (size_t i = 0; i < want.size() && text["gaps"][(unsigned)i].GetDouble() >= 0.5; i++) {
        CAPTURE(i);
        REQUIRE(made[i] == want[i]);
    }
}

void check_logits(const real_model &r) {
    const rapidjson::Value &expected = r.expected["logits"];
    ids prompt = json_ids(expected["ids"]);
    context_handle context = make_context(r.model.get(), context_options(256, LLM_KV_F32));
    std::vector<float> all = logits_of(context.get(), prompt, r.n_vocab);
    const float *ours = &all[expected["first"].GetUint() * (size_t)r.n_vocab];
    std::vector<float> gold = read_floats(r.folder + "/" + expected["file"].GetString());
    size_t n_rows = gold.size() / r.n_vocab;
    distance d = distance_of(ours, gold.data(), n_rows, r.n_vocab);
    CAPTURE(d.kl_mean, larger(expected, "kl_mean"), d.rms_centred, larger(expected, "rms_centred"));
    CHECK(d.kl_mean <= 1.5 * larger(expected, "kl_mean"));
    CHECK(d.rms_centred <= 1.3 * larger(expected, "rms_centred"));
    for (size_t i = 0; i < n_rows; i++)
        if (expected["gap"][(unsigned)i].GetDouble() > 0.5)
            CHECK(best_of(ours + i * r.n_vocab, r.n_vocab) == expected["best"][(unsigned)i].GetUint());
    printf("%s logits: mean KL %.3g (largest allowed %.3g), centred RMS %.3g (%.3g)\n", r.name, d.kl_mean,
           1.5 * larger(expected, "kl_mean"), d.rms_centred, 1.3 * larger(expected, "rms_centred"));
}

void check_perplexity(const real_model &r) {
    const rapidjson::Value &expected = r.expected["perplexity"];
    uint32_t window = expected["n_ctx"].GetUint();
    context_handle context = make_context(r.model.get(), context_options(window, LLM_KV_F32));
    llm_token bos = llm_adds_bos(r.model.get()) ? llm_token_special(r.model.get(), LLM_SPECIAL_BOS) : -1;
    double ours = perplexity(context.get(), r.n_vocab, json_ids(expected["ids"]), window, bos);
    CAPTURE(ours, expected["gold"].GetDouble());
    CHECK(std::fabs(std::log(ours / expected["gold"].GetDouble())) <= 0.005);
    printf("%s perplexity: %.4f, exact %.4f\n", r.name, ours, expected["gold"].GetDouble());
}

void check_text(const real_model &r) {
    std::string text = read_bytes(r.folder + "/text.txt");
    ids expected = json_ids(r.expected["perplexity"]["ids"]), ours(text.size());
    size_t n = 0;
    llm_error err = {};
    expect_ok(llm_tokenize(r.model.get(), text.data(), text.size(), LLM_TOKENIZE_ADD_SPECIAL, ours.data(), ours.size(),
                           &n, &err),
              err);
    REQUIRE(n >= expected.size());
    ours.resize(expected.size());
    CHECK((ours == expected)); // a thousand ids of either would hide what else failed
}

void check_answers(const real_model &r) {
    for (const auto &text : r.expected["greedy"].GetObject()) {
        CAPTURE(text.name.GetString());
        check_forced(r, text.value);
        check_generated(r, text.value);
    }
}

void for_each_model(void (*check)(const real_model &r)) {
    for (const published &which : models) {
        real_model r;
        CAPTURE(which.name);
        if (open_real(which, &r)) check(r);
    }
}

} // namespace

TEST_CASE("logits of a published model are close to the exact ones", "[real]") { for_each_model(check_logits); }
TEST_CASE("perplexity of a published model is the exact one", "[real]") { for_each_model(check_perplexity); }
TEST_CASE("the text is the expected tokens", "[real]") { for_each_model(check_text); }
TEST_CASE("a published model answers as the exact one does", "[real]") { for_each_model(check_answers); }

// Logits, greedy texts and perplexities against the conformance data: what the numbers mean is in its README.
#include "json.h"
#include "run/library.h"
#include <cmath>

using namespace llm_test;

namespace {

const char *const families[] = {
    "llama-mha", "llama-gqa-tied", "llama-bias", "llama-rope-linear", "llama-rope-yarn", "llama-rope-llama3",
    "gpt2",      "qwen2",          "qwen3",           "gemma3"};

// Rows of the prompt read at once, then of the further tokens one by one.
std::vector<float> prefill_then_decode(llm_context *context, const rapidjson::Value &prompt, uint32_t n_vocab) {
    std::vector<float> all = logits_of(context, json_ids(prompt["tokens"]), n_vocab);
    std::vector<float> steps = logits_in_steps(context, json_ids(prompt["decode_tokens"]), n_vocab, 1);
    all.insert(all.end(), steps.begin(), steps.end());
    return all;
}

void check_family(const std::string &folder) {
    rapidjson::Document expected = read_json(folder + "/expected.json");
    model_handle model = load_model(folder + "/model.gguf");
    for (const rapidjson::Value &prompt : expected["prompts"].GetArray()) {
        context_handle context = make_context(model.get(), context_options(expected["n_ctx"].GetUint(), LLM_KV_F32));
        uint32_t n_vocab = prompt["n_vocab"].GetUint();
        std::vector<float> ours = prefill_then_decode(context.get(), prompt, n_vocab);
        std::vector<float> theirs = read_floats(folder + "/" + prompt["prefill"].GetString());
        std::vector<float> steps = read_floats(folder + "/" + prompt["decode"].GetString());
        theirs.insert(theirs.end(), steps.begin(), steps.end());
        REQUIRE(ours.size() == theirs.size());
        CAPTURE(folder, prompt["name"].GetString());
        CHECK(distance_of(ours.data(), theirs.data(), ours.size() / n_vocab, n_vocab).max_abs <=
              prompt["atol"].GetDouble());
    }
}

distance qmodel_distance(const std::string &folder, const rapidjson::Document &expected, const std::string &name) {
    const uint32_t n_vocab = 512;
    model_handle model = load_model(folder + "/" + name + ".gguf");
    std::vector<float> ours, gold;
    for (const rapidjson::Value &prompt : expected["prompts"].GetArray()) {
        context_handle context = make_context(model.get(), context_options(64, LLM_KV_F32));
        std::vector<float> rows = prefill_then_decode(context.get(), prompt, n_vocab);
        std::vector<float> theirs = read_floats(folder + "/" + name + "." + prompt["name"].GetString() + ".gold.bin");
        ours.insert(ours.end(), rows.begin(), rows.end());
        gold.insert(gold.end(), theirs.begin(), theirs.end());
    }
    REQUIRE(ours.size() == gold.size());
    return distance_of(ours.data(), gold.data(), ours.size() / n_vocab, n_vocab);
}

} // namespace

TEST_CASE("logits of every family are within the tolerance of the conformance data", "[conformance]") {
    if (!have_test_data("arch")) return;
    for (const char *name : families) check_family(test_data() + "/arch/" + name);
}

TEST_CASE("activations per 32 cost what the contract says", "[conformance]") {
    if (!have_test_data("qmodel")) return;
    struct bound {
        const char *name;
        double rms, kl; // times the peer's; 0: none
    };
    const bound bounds[] = {{"q8_0", 1.05, 1.10}, {"q4_0", 1.05, 1.10}, {"q4_k_m", 0.65, 0}, {"q6_k", 0.65, 0},
                            {"q5_k_m", 0.65, 0},  {"q2_k", 0.65, 0},    {"q3_k_m", 0.65, 0}, {"iq4_xs", 0.65, 0}};
    std::string folder = test_data() + "/qmodel";
    rapidjson::Document expected = read_json(folder + "/expected.json");
    CHECK(qmodel_distance(folder, expected, "f32").max_abs <= 1e-4);
    for (const bound &b : bounds) {
        distance d = qmodel_distance(folder, expected, b.name);
        const rapidjson::Value &peer = expected["models"][b.name]["peer_vs_gold"];
        CAPTURE(b.name, d.rms / peer["rms"].GetDouble(), d.kl_mean / peer["kl_mean"].GetDouble());
        CHECK(d.rms <= b.rms * peer["rms"].GetDouble());
        if (b.kl > 0) CHECK(d.kl_mean <= b.kl * peer["kl_mean"].GetDouble());
    }
}

TEST_CASE("stories260K tells the expected stories", "[conformance]") {
    if (!have_test_data("stories260k")) return;
    std::string folder = test_data() + "/stories260k";
    rapidjson::Document expected = read_json(folder + "/expected.json");
    model_handle model = load_model(folder + "/stories260K.f32.gguf");
    for (const rapidjson::Value &story : expected["greedy"].GetArray()) {
        context_handle context =
            make_context(model.get(), context_options(expected["n_ctx_greedy"].GetUint(), LLM_KV_F32));
        ids next = json_ids(story["prompt_ids"]), made, want = json_ids(story["ids"]);
        while (made.size() < want.size()) {
            made.push_back((llm_token)best_of(feed(context.get(), next), 512));
            next = {made.back()};
        }
        CHECK(made == want);
    }
}

TEST_CASE("stories260K has the expected perplexity", "[conformance]") {
    if (!have_test_data("stories260k")) return;
    std::string folder = test_data() + "/stories260k";
    rapidjson::Document expected = read_json(folder + "/expected.json");
    std::string text = read_bytes(folder + "/eval.txt");
    for (const rapidjson::Value &one : expected["perplexity"].GetArray()) {
        std::string name = one["model"].GetString();
        double tolerance = name == "f32" ? 1e-4 : name == "q8_0" ? 2e-3 : 5e-3;
        model_handle model = load_model(folder + "/stories260K." + name + ".gguf");
        uint32_t window = one["n_ctx"].GetUint();
        context_handle context = make_context(model.get(), context_options(window, LLM_KV_F32));
        ids tokens(text.size() + 1);
        size_t n = 0;
        llm_error err = {};
        expect_ok(llm_tokenize(model.get(), text.data(), text.size(), LLM_TOKENIZE_ADD_SPECIAL, tokens.data(),
                               tokens.size(), &n, &err),
                  err);
        tokens.resize(n);
        REQUIRE(n == expected["eval_tokens"].GetUint());
        double ours = perplexity(context.get(), 512, tokens, window, llm_token_special(model.get(), LLM_SPECIAL_BOS));
        double exact = one["exact_ppl"].GetDouble();
        CAPTURE(name, window, ours, exact);
        CHECK(std::fabs(ours / exact - 1) <= tolerance);
    }
}

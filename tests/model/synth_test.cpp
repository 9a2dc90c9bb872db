// Models of random weights: published sizes, all formats, same seed same file, text that goes on.
#include "test.h"
#include "model/random_weights.h"
#include "model/synth.h"
#include "temporary.h"
#include <math.h>
#include <set>
#include <string.h>

using namespace llm;

static llm_cost cost_of(const char *shape, const char *type) {
    llm_cost cost = {};
    cost.size = sizeof cost;
    llm_error err = {};
    INFO(shape << " " << type);
    REQUIRE(llm_shape_get_cost(shape, type, &cost, &err) == LLM_OK);
    return cost;
}

TEST_CASE("shapes have the parameters of the published models", "[model]") {
    const struct {
        const char *name;
        uint64_t n_params;
    } published[] = {{"stories-15m", 15191712},    {"smol-135m", 134515008},    {"qwen2-0.5b", 494032768},
                     {"llama-3.2-1b", 1235814432}, {"llama-2-7b", 6738415616},  {"llama-3-8b", 8030261248},
                     {"qwen3-0.6b", 596049920},    {"gemma3-270m", 268098176},  {"gemma3-1b", 999885952},
                     {"llama-2-13b", 13015864320}, {"llama-3-70b", 70553706496}};
    // Llama 3.2 has 32 rotary factors besides its 1,235,814,400 parameters.
    for (const auto &row : published) {
        INFO(row.name);
        CHECK(cost_of(row.name, "Q8_0").n_params == row.n_params);
    }
    uint64_t before = 0;
    for (size_t i = 0; const char *name = llm_shape_name(i); i++) {
        INFO(name);
        CHECK(cost_of(name, "Q8_0").n_params > before); // from small to large
        before = cost_of(name, "Q8_0").n_params;
    }
}

TEST_CASE("costs of a shape", "[model]") {
    llm_cost tied = cost_of("llama-3.2-1b", "Q8_0"), own = cost_of("llama-3-8b", "Q8_0");
    CHECK(tied.head_macs == 128256ull * 2048);
    CHECK(tied.layer_macs == 16ull * 2048 * (2 * 2048 + 2 * 512 + 3 * 8192));
    CHECK(tied.token_bytes == tied.weight_bytes); // the embedding is the head
    CHECK(own.weight_bytes - own.token_bytes == 128256ull * 4096 / 32 * 34);
    CHECK(own.kv_bytes == 32ull * 2 * 8 * 128 * 2);
}

TEST_CASE("mixes spend bits where files do", "[model]") {
    synth_type type;
    REQUIRE(synth_type_find("q4_k_m", &type));
    std::vector<synth_tensor> tensors;
    synth_tensors(synth_shape_find("llama-3.2-1b"), &type, &tensors);
    std::string more; // layers whose value projection has six bits
    for (const synth_tensor &t : tensors) {
        INFO(t.name);
        if (t.rows == 0)
            CHECK(t.format->id == FORMAT_F32);
        else if (t.id == ROLE_TOKEN_EMBD)
            CHECK(t.format->id == FORMAT_Q6_K);
        else if (t.id != ROLE_ATTN_V && t.id != ROLE_FFN_DOWN)
            CHECK(t.format->id == FORMAT_Q4_K);
        if (t.id == ROLE_ATTN_V && t.format->id == FORMAT_Q6_K) more += t.name.substr(4, t.name.find('.', 4) - 4) + " ";
    }
    CHECK(more == "0 1 4 7 10 13 14 15 ");
    // 576 is no multiple of 256.
    CHECK(synth_format(&type, synth_shape_find("smol-135m"), ROLE_ATTN_Q, 5, 576)->id == FORMAT_Q5_0);
    CHECK(synth_format(&type, synth_shape_find("smol-135m"), ROLE_TOKEN_EMBD, 0, 576)->id == FORMAT_Q8_0);
}

TEST_CASE("random weights of every format are finite, spread as asked and distinct", "[model]") {
    for (const block_format *f = format_table(nullptr); f->name; f++) {
        if (!format_supported(f)) continue;
        INFO(f->name);
        random_weights pool;
        llm_error err = {};
        REQUIRE(random_weights_make(f, 0.05, 7, &pool, &err) == LLM_OK);
        constexpr size_t COLS = 2048, ROWS = 64;
        random_bits bits = {3};
        std::vector<uint8_t> row(format_bytes(f, COLS));
        std::vector<float> values(COLS);
        std::set<std::vector<uint8_t>> seen;
        double squares = 0, sum = 0;
        for (size_t i = 0; i < ROWS; i++) {
            random_weights_row(&pool, &bits, COLS, row.data());
            seen.insert(row);
            f->dequantise(row.data(), values.data(), COLS);
            for (float v : values) squares += double(v) * double(v), sum += double(v);
        }
        CHECK(seen.size() == ROWS);
        double deviation = sqrt(squares / (ROWS * COLS)); // NaN fails
        // Formats of one and two bits have no fine values, and random bytes are within a factor of 1.4.
        CHECK(deviation > 0.05 * 0.6);
        CHECK(deviation < 0.05 * 1.7);
        CHECK(fabs(sum / (ROWS * COLS)) < 0.25 * deviation);
    }
}

static std::string written(const char *shape, const char *type, uint64_t seed, const std::string &path) {
    llm_error err = {};
    INFO(err.message);
    REQUIRE(llm_synth(shape, type, seed, path.c_str(), nullptr, nullptr, &err) == LLM_OK);
    return read_bytes(path);
}

TEST_CASE("same seed, same file", "[model]") {
    temporary_folder folder;
    std::string first = written("stories-15m", "Q4_0", 5, folder / "a"),
                again = written("stories-15m", "q4_0", 5, folder / "b");
    std::string other = written("stories-15m", "Q4_0", 6, folder / "c");
    CHECK(first == again);
    CHECK(first.size() == other.size());
    CHECK(first != other);
}

// The bits of random logits say whether a kernel works only if they differ from row to row.
TEST_CASE("a model of random weights goes on with ever other tokens", "[model]") {
    temporary_folder folder;
    written("stories-15m", "Q8_0", 1, folder / "m.gguf");
    llm_model *model = nullptr;
    llm_context *context = nullptr;
    llm_error err = {};
    REQUIRE(llm_model_load((folder / "m.gguf").c_str(), nullptr, &model, &err) == LLM_OK);
    REQUIRE(llm_context_create(model, nullptr, &context, &err) == LLM_OK);
    std::set<llm_token> seen;
    llm_token id = 1;
    for (int i = 0; i < 32; i++) {
        llm_batch batch = {};
        batch.n_tokens = 1;
        batch.tokens = &id;
        REQUIRE(llm_decode(context, &batch, &err) == LLM_OK);
        const float *logits = llm_logits(context, LLM_LAST);
        std::set<float> values(logits, logits + 32000);
        CHECK(values.size() > 31000); // ties are chance
        for (int k = 1; k < 32000; k++)
            if (k == 1 || logits[k] > logits[id]) id = k;
        CHECK(logits[id] > 6);
        CHECK(logits[id] < 40);
        seen.insert(id);
    }
    CHECK(seen.size() > 8);
    llm_context_free(context);
    llm_model_free(model);
}

TEST_CASE("unknown shapes and types are refused with the choices", "[model]") {
    temporary_folder folder;
    llm_error err = {};
    std::string path = folder / "x";
    CHECK(llm_synth("llama-9", "Q4_0", 1, path.c_str(), nullptr, nullptr, &err) == LLM_ERR_NOT_FOUND);
    CHECK(std::string(err.message).find("llama-3.2-1b") != std::string::npos);
    CHECK(llm_synth("smol-135m", "Q9", 1, path.c_str(), nullptr, nullptr, &err) == LLM_ERR_NOT_FOUND);
    CHECK(std::string(err.message).find("Q4_K_M") != std::string::npos);
    CHECK(llm_synth("smol-135m", "I32", 1, path.c_str(), nullptr, nullptr, &err) == LLM_ERR_NOT_FOUND);
    auto stop = [](void *, float) { return false; };
    CHECK(llm_synth("smol-135m", "Q4_0", 1, path.c_str(), stop, nullptr, &err) == LLM_CANCELLED);
    CHECK(llm_synth("smol-135m", "Q4_0", 1, (folder / "no/x").c_str(), nullptr, nullptr, &err) == LLM_ERR_IO);
    CHECK(std::filesystem::is_empty(folder.path));
}

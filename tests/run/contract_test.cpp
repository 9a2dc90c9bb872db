// One answer everywhere: the logits of a model and an input are the same bits for any tier, number of threads, split of
// the input, other sequences beside it, floating-point environment of the caller and machine. golden.tsv holds a hash
// of them; `llm_tests "[.regenerate]"` prints the table anew, which is right only together with a new arithmetic
// version.
#include "quant/format.h"
#include "run/library.h"
#include "temporary.h"
#include <algorithm>
#include <cfenv>
#include <cinttypes>
#include <cstring>
#include <map>
#include <sstream>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace llm_test;

namespace {

struct golden {
    int arithmetic;
    std::string model, kv, input, hash;
};

std::string golden_path() { return std::string(LLM_SOURCE_DIR) + "/tests/golden.tsv"; }

std::vector<golden> read_golden() {
    std::vector<golden> rows;
    std::istringstream lines(read_bytes(golden_path()));
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line[0] == '#') continue;
        golden g;
        std::istringstream fields(line);
        fields >> g.arithmetic >> g.model >> g.kv >> g.input >> g.hash;
        rows.push_back(g);
    }
    return rows;
}

// A file of random weights, SHAPE/FORMAT, made once and kept until the tests end.
std::string made_model(const std::string &name) {
    static temporary_folder folder;
    const size_t slash = name.find('/');
    const std::string path = folder / name.substr(slash + 1);
    llm_error err = {};
    if (!file_exists(path))
        expect_ok(llm_synth(name.substr(0, slash).c_str(), name.substr(slash + 1).c_str(), 1, path.c_str(), nullptr,
                            nullptr, &err),
                  err);
    return path;
}

// "own:" a file of tests/data, "bundled:" of models, "user:" one that users fetch, "data:" conformance data, "synth:"
// random weights.
std::string path_of(const std::string &model) {
    size_t colon = model.find(':');
    std::string kind = model.substr(0, colon), name = model.substr(colon + 1);
    if (kind == "own") return own_data(name);
    if (kind == "bundled") return std::string(LLM_SOURCE_DIR) + "/models/" + name;
    if (kind == "user") return user_model(name);
    if (kind == "synth") return made_model(name);
    return have_test_data(name.substr(0, name.find('/'))) ? test_data() + "/" + name : "";
}

bool is_large(const golden &g) { return g.model.compare(0, 5, "user:") == 0; }

// Ids as written, or "random:N".
ids input_of(const golden &g, uint32_t n_vocab) {
    if (g.input.compare(0, 7, "random:") == 0) return random_ids(std::stoul(g.input.substr(7)), n_vocab, 1);
    ids out;
    std::istringstream fields(g.input);
    for (std::string id; std::getline(fields, id, ',');) out.push_back(std::stoi(id));
    return out;
}

std::string hash_of(const std::vector<float> &values) {
    uint64_t hash = 14695981039346656037ull;
    std::vector<uint8_t> bytes(values.size() * sizeof(float));
    memcpy(bytes.data(), values.data(), bytes.size());
    for (uint8_t byte : bytes) hash = (hash ^ byte) * 1099511628211ull;
    char text[17];
    snprintf(text, sizeof text, "%016" PRIx64, hash);
    return text;
}

// One way of running: everything that must not matter.
struct way {
    std::string tier;
    uint32_t n_threads;
    size_t step;      // tokens per decode, 0: all
    uint32_t n_batch; // 0: the default
    bool beside;      // another sequence in the same decodes
};

std::string words(const way &w) {
    return "tier " + w.tier + ", " + std::to_string(w.n_threads) + " threads, steps of " + std::to_string(w.step) +
           ", n_batch " + std::to_string(w.n_batch) + (w.beside ? ", beside another sequence" : "");
}

// Tokens of sequence 1, with another one's tokens before, between and after them; logits of sequence 1.
std::vector<float> logits_beside(llm_context *context, const ids &tokens, uint32_t n_vocab, size_t step) {
    std::vector<float> all;
    ids other = random_ids(tokens.size() + 3, n_vocab, 7);
    logits_of(context, {other[0], other[1], other[2]}, n_vocab, 0);
    for (size_t first = 0; first < tokens.size(); first += step) {
        ids batch;
        std::vector<llm_seq> seq;
        std::vector<int32_t> ours;
        for (size_t i = first; i < tokens.size() && i < first + step; i++) {
            if (i % 3 == 0) batch.push_back(other[i + 3]), seq.push_back(0);
            ours.push_back((int32_t)batch.size());
            batch.push_back(tokens[i]), seq.push_back(1);
            if (i % 5 == 0) batch.push_back(other[i + 2]), seq.push_back(0);
        }
        std::vector<uint8_t> want(batch.size(), LLM_WANT_LOGITS);
        llm_batch b = {};
        b.n_tokens = (uint32_t)batch.size();
        b.tokens = batch.data();
        b.seq = seq.data();
        b.want = want.data();
        llm_error err = {};
        expect_ok(llm_decode(context, &b, &err), err);
        for (int32_t i : ours) all.insert(all.end(), llm_logits(context, i), llm_logits(context, i) + n_vocab);
    }
    return all;
}

// "f16", or K:V such as "q8_0:f32".
void set_kv_types(llm_context_options *o, const std::string &text) {
    const std::map<std::string, llm_kv_type> types = {
        {"f16", LLM_KV_F16}, {"f32", LLM_KV_F32}, {"q8_0", LLM_KV_Q8_0}, {"q4_0", LLM_KV_Q4_0}};
    const size_t colon = text.find(':');
    o->kv_type_k = types.at(text.substr(0, colon));
    o->kv_type_v = types.at(colon == std::string::npos ? text : text.substr(colon + 1));
}

std::vector<float> run(llm_model *model, const golden &g, const way &w) {
    const uint32_t n_vocab = model_info(model).n_vocab;
    const ids tokens = input_of(g, n_vocab);
    llm_context_options o = context_options((uint32_t)tokens.size() * 2 + 3);
    set_kv_types(&o, g.kv);
    if (const uint32_t trained = model_info(model).n_ctx_train) o.n_ctx = std::min(o.n_ctx, trained);
    o.n_threads = w.n_threads;
    o.n_batch = w.n_batch;
    o.n_seq_max = 2;
    context_handle context = make_context(model, o);
    if (w.beside) return logits_beside(context.get(), tokens, n_vocab, w.step ? w.step : tokens.size());
    return logits_in_steps(context.get(), tokens, n_vocab, w.step);
}

// What hosts do to a thread: flush denormals, round elsewhere. The library must neither see it nor change it.
struct odd_environment {
    int rounding = fegetround();
#if defined(__x86_64__)
    unsigned control = _mm_getcsr(), odd;
#elif defined(__aarch64__)
    uint64_t control, odd;
#endif
    odd_environment() {
        fesetround(FE_UPWARD);
#if defined(__x86_64__)
        _mm_setcsr(odd = _mm_getcsr() | 0x8040); // FTZ, DAZ
#elif defined(__aarch64__)
        __asm__ volatile("mrs %0, fpcr" : "=r"(control));
        odd = control | 1u << 24; // FZ
        __asm__ volatile("msr fpcr, %0" ::"r"(odd));
#endif
    }
    bool untouched() const {
#if defined(__x86_64__)
        return (_mm_getcsr() & ~0x3Fu) == (odd & ~0x3Fu) && fegetround() == FE_UPWARD; // flags may be raised
#elif defined(__aarch64__)
        uint64_t now;
        __asm__ volatile("mrs %0, fpcr" : "=r"(now));
        return now == odd && fegetround() == FE_UPWARD;
#else
        return fegetround() == FE_UPWARD;
#endif
    }
    ~odd_environment() {
#if defined(__x86_64__)
        _mm_setcsr(control);
#elif defined(__aarch64__)
        __asm__ volatile("msr fpcr, %0" ::"r"(control));
#endif
        fesetround(rounding);
    }
};

// All ways for small models on the best tier. The other tiers share its code but for the kernels; the portable one is
// slow, and so is a large model.
std::vector<way> ways_of(const golden &g, const std::string &tier) {
    std::vector<way> ways;
    if (tier == "ref" && is_large(g)) return {{tier, 2, 0, 0, false}};
    if (tier == "ref") return {{tier, 2, 0, 0, false}, {tier, 3, 7, 3, true}, {tier, 1, 1, 0, false}};
    if (is_large(g) || tier != llm_cpu_tier(0))
        return {{tier, 1, 1, 0, false}, {tier, 2, 7, 0, true}, {tier, 3, 0, 3, false}, {tier, 5, 0, 0, true}};
    for (uint32_t n_threads : {1u, 2u, 3u, 5u})
        for (size_t step : {(size_t)1, (size_t)7, (size_t)0})
            for (bool beside : {false, true}) {
                ways.push_back({tier, n_threads, step, 0, beside});
                if (step == 0) ways.push_back({tier, n_threads, step, 3, beside});
            }
    return ways;
}

std::vector<std::string> tiers() {
    std::vector<std::string> names;
    for (size_t i = 0; llm_cpu_tier(i); i++) names.push_back(llm_cpu_tier(i));
    return names;
}

// The portable tier takes a second per hundred million weights and token: long inputs of large models are not for it.
bool worth_running(const golden &g, const std::string &tier) {
    return tier != "ref" || !is_large(g) || std::count(g.input.begin(), g.input.end(), ',') < 4;
}

// Enough to meet every kernel: an emulator makes of a second a minute.
std::vector<way> few_ways(const golden &, const std::string &tier) { return {{tier, 2, 7, 0, tier != "ref"}}; }

void check_row(const golden &g, std::vector<way> (*ways)(const golden &, const std::string &) = ways_of) {
    const std::string path = path_of(g.model);
    if (!file_exists(path)) {
        fprintf(stderr, "NOT TESTED: \"%s\" of golden.tsv is not there\n", g.model.c_str());
        return;
    }
    for (const std::string &tier : tiers()) {
        if (!worth_running(g, tier)) continue;
        model_handle model = load_model(path, tier.c_str());
        for (const way &w : ways(g, tier)) {
            CAPTURE(g.model, g.kv, g.input, words(w));
            CHECK(hash_of(run(model.get(), g, w)) == g.hash);
        }
    }
}

} // namespace

TEST_CASE("the logits of a model and an input are the same bits everywhere", "[contract]") {
    const std::vector<golden> rows = read_golden();
    REQUIRE(rows.size() > 10);
    for (const golden &g : rows) {
        REQUIRE(g.arithmetic == LLM_ARITH_VERSION);
        check_row(g);
    }
}

TEST_CASE("every block format has a golden hash", "[contract]") {
    std::string models;
    for (const golden &g : read_golden()) models += g.model + " ";
    std::transform(models.begin(), models.end(), models.begin(), [](char c) { return (char)toupper(c); });
    for (const llm::block_format *f = llm::format_table(nullptr); f->name; f++) {
        CAPTURE(f->name);
        if (llm::format_supported(f)) CHECK(models.find(f->name) != std::string::npos);
    }
}

// For a CPU model of an emulator: LLM_TEST_TIERS names the tiers it must have, best first.
TEST_CASE("an emulated CPU has its tiers, and one way of running each gives the bits of small models", "[.emulated]") {
    const char *expected = getenv("LLM_TEST_TIERS");
    REQUIRE(expected);
    std::string found;
    for (const std::string &tier : tiers()) found += (found.empty() ? "" : " ") + tier;
    REQUIRE(found == expected);
    for (const golden &g : read_golden())
        if (!is_large(g)) check_row(g, few_ways);
}

TEST_CASE("the floating-point environment of the caller changes no bit and is left as it was", "[contract]") {
    for (const golden &g : read_golden()) {
        if (is_large(g) || !file_exists(path_of(g.model))) continue;
        for (const std::string &tier : tiers()) {
            std::string hash;
            bool untouched;
            {
                odd_environment odd;
                model_handle model = load_model(path_of(g.model), tier.c_str());
                std::vector<float> logits = run(model.get(), g, {tier, 2, 7, 0, false});
                untouched = odd.untouched();
                hash = hash_of(logits);
            }
            CAPTURE(g.model, g.kv, tier);
            CHECK(untouched);
            CHECK(hash == g.hash);
        }
    }
}

TEST_CASE("prints golden.tsv anew", "[.regenerate]") {
    std::istringstream lines(read_bytes(golden_path()));
    for (std::string line; std::getline(lines, line) && (line.empty() || line[0] == '#');) puts(line.c_str());
    for (golden g : read_golden()) {
        if (file_exists(path_of(g.model))) {
            model_handle model = load_model(path_of(g.model));
            g.hash = hash_of(run(model.get(), g, {llm_cpu_tier(0), 2, 0, 0, false}));
        }
        printf("%d\t%s\t%s\t%s\t%s\n", LLM_ARITH_VERSION, g.model.c_str(), g.kv.c_str(), g.input.c_str(),
               g.hash.c_str());
    }
}

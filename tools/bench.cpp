// llm bench: how fast a model, or random weights with a known shape, reads prompts and generates on this machine.
#include "common.h"
#include "interrupt.h"
#include "json.h"
#include "temporary_file.h"
#include <algorithm>
#include <numeric>
#include <random>
#include <stdio.h>
#include <thread>

struct bench_options {
    common_options common;
    std::string shape, type = "Q4_0";
    number_list depths;
    uint32_t n_prompt = 512, n_generate = 64, n_repeat = 3;
};

struct speeds {
    uint32_t depth, n;
    std::vector<double> tokens_per_second;
};

struct bench_result {
    std::string tier;
    uint32_t n_threads = 0;
    uint64_t peak_bytes = 0;
    double load_seconds = 0, first_token_seconds = 0, read_gbps = 0;
    std::vector<speeds> prompt, generation;
};

struct bench_run {
    const bench_options &options;
    llm_context *context;
    uint32_t n_vocab;
    std::mt19937 random{1};
};

// ---- the machine

// Reads a buffer that no cache holds, four independent sums wide: what limits generation. 64-bit words are enough to
// saturate the memory of every machine tried.
static uint64_t sum_words(const std::vector<uint64_t> &words) {
    uint64_t a = 0, b = 0, c = 0, d = 0;
    for (size_t i = 0; i + 8 <= words.size(); i += 8) {
        a += words[i] ^ words[i + 1];
        b += words[i + 2] ^ words[i + 3];
        c += words[i + 4] ^ words[i + 5];
        d += words[i + 6] ^ words[i + 7];
    }
    return a + b + c + d;
}

// Best of several passes of all threads together, in 10^9 bytes a second. 256 MiB a thread, at most 2 GiB in all.
static double measure_read_gbps(uint32_t n_threads) {
    size_t bytes = std::min<size_t>(size_t(256) << 20, (size_t(2) << 30) / n_threads);
    std::vector<std::vector<uint64_t>> buffers(n_threads);
    std::vector<uint64_t> sums(n_threads);
    auto on_all = [&](auto work) {
        std::vector<std::thread> threads;
        for (uint32_t i = 1; i < n_threads; i++) threads.emplace_back(work, i);
        work(0);
        for (std::thread &thread : threads) thread.join();
    };
    on_all([&](uint32_t i) { buffers[i].assign(bytes / sizeof(uint64_t), i + 1); });
    double best = 0;
    for (int pass = 0; pass < 5; pass++) {
        double begin = seconds_now();
        on_all([&](uint32_t i) { sums[i] += sum_words(buffers[i]); });
        best = std::max(best, double(bytes) * n_threads / (seconds_now() - begin) * 1e-9);
    }
    // The sums must be used, or the compiler may leave the reading out.
    static volatile uint64_t used;
    used = std::accumulate(sums.begin(), sums.end(), uint64_t(0));
    (void)used;
    return best;
}

// ---- the model

static std::vector<llm_token> random_tokens(bench_run &run, size_t n) {
    std::vector<llm_token> ids(n);
    for (llm_token &id : ids) id = static_cast<llm_token>(run.random() % run.n_vocab);
    return ids;
}

static llm_status decode(bench_run &run, const std::vector<llm_token> &ids, llm_error *err) {
    if (ids.empty()) return LLM_OK;
    llm_batch batch = {};
    batch.size = sizeof batch;
    batch.n_tokens = static_cast<uint32_t>(ids.size());
    batch.tokens = ids.data();
    return llm_decode(run.context, &batch, err);
}

static llm_status measure_prompt(bench_run &run, speeds &out, llm_error *err) {
    std::vector<llm_token> ids = random_tokens(run, out.n);
    for (uint32_t i = 0; i <= run.options.n_repeat; i++) { // the first one warms up
        if (llm_status status = llm_seq_clear(run.context, 0, err)) return status;
        double begin = seconds_now();
        if (llm_status status = decode(run, ids, err)) return status;
        if (i > 0) out.tokens_per_second.push_back(out.n / (seconds_now() - begin));
    }
    return LLM_OK;
}

// One token a call, as generation does it, after `depth` tokens of context.
static llm_status measure_generation(bench_run &run, speeds &out, llm_error *err) {
    std::vector<llm_token> ids = random_tokens(run, out.n);
    if (llm_status status = llm_seq_clear(run.context, 0, err)) return status;
    if (llm_status status = decode(run, random_tokens(run, out.depth), err)) return status;
    for (uint32_t i = 0; i <= run.options.n_repeat; i++) {
        if (llm_status status = llm_seq_truncate(run.context, 0, out.depth, err)) return status;
        double begin = seconds_now();
        for (llm_token id : ids)
            if (llm_status status = decode(run, {id}, err)) return status;
        if (i > 0) out.tokens_per_second.push_back(out.n / (seconds_now() - begin));
    }
    return LLM_OK;
}

// From the prompt to the first token of an answer, cold: the first call after creation.
static llm_status measure_first_token(bench_run &run, double &seconds, llm_error *err) {
    std::vector<llm_token> ids = random_tokens(run, std::max(1u, run.options.n_prompt));
    double begin = seconds_now();
    llm_status status = decode(run, ids, err);
    if (const float *logits = status == LLM_OK ? llm_logits(run.context, LLM_LAST) : nullptr) {
        static volatile const float *best;
        best = std::max_element(logits, logits + run.n_vocab);
        (void)best;
    }
    seconds = seconds_now() - begin;
    return status;
}

static llm_status measure_all(bench_run &run, bench_result &result, llm_error *err) {
    const bench_options &options = run.options;
    if (llm_status status = measure_first_token(run, result.first_token_seconds, err)) return status;
    if (options.n_prompt) {
        result.prompt.push_back({0, options.n_prompt, {}});
        if (llm_status status = measure_prompt(run, result.prompt.back(), err)) return status;
    }
    for (size_t i = 0; options.n_generate && i < options.depths.size(); i++) {
        result.generation.push_back({static_cast<uint32_t>(options.depths[i]), options.n_generate, {}});
        if (llm_status status = measure_generation(run, result.generation.back(), err)) return status;
    }
    return LLM_OK;
}

// ---- output

static double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    size_t half = values.size() / 2;
    return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

static void json_speeds(json_writer &json, const char *key, const std::vector<speeds> &rows, bool with_depth) {
    json.Key(key);
    json.StartArray();
    for (const speeds &row : rows) {
        json.StartObject();
        if (with_depth) json_field(json, "depth", row.depth);
        json_field(json, "n", row.n);
        json_list(json, "tps", row.tokens_per_second);
        json.EndObject();
    }
    json.EndArray();
}

static void print_result(const bench_options &options, const bench_result &result) {
    double peak_mib = double(result.peak_bytes) / (1 << 20);
    if (options.common.json) {
        print_json([&](json_writer &json) {
            json_field(json, "tier", result.tier);
            json_field(json, "threads", result.n_threads);
            json_field(json, "load_s", result.load_seconds);
            json_field(json, "ttft_s", result.first_token_seconds);
            json_field(json, "peak_rss_mib", peak_mib);
            json_field(json, "read_gbps", result.read_gbps);
            json_field(json, "int8_gops", nullptr);
            json_speeds(json, "prompt", result.prompt, false);
            json_speeds(json, "gen", result.generation, true);
        });
        return;
    }
    printf("tier %s, %u threads, memory read at %.1f GB/s\n", result.tier.c_str(), result.n_threads, result.read_gbps);
    printf("load %.2f s, first token after %.3f s, peak memory %.0f MiB\n", result.load_seconds,
           result.first_token_seconds, peak_mib);
    for (const speeds &row : result.prompt)
        printf("prompt      %6u tokens            %10.1f tokens/s (median of %zu)\n", row.n,
               median(row.tokens_per_second), row.tokens_per_second.size());
    for (const speeds &row : result.generation)
        printf("generation  %6u tokens after %5u %10.1f tokens/s (median of %zu)\n", row.n, row.depth,
               median(row.tokens_per_second), row.tokens_per_second.size());
}

// ---- command

static int create_context(const bench_options &options, llm_model *model, context_ptr &out) {
    llm_context_options context_options;
    if (int status = context_options_from(options.common, model, context_options)) return status;
    int32_t deepest = *std::max_element(options.depths.begin(), options.depths.end());
    uint32_t needed = std::max(options.n_prompt, static_cast<uint32_t>(deepest) + options.n_generate);
    if (!context_options.n_ctx) context_options.n_ctx = std::max(needed, 1u);
    llm_context *context = nullptr;
    llm_error err = {};
    if (llm_context_create(model, &context_options, &context, &err) != LLM_OK) return report(err);
    out.reset(context);
    return EXIT_OK;
}

static int measure_model(const bench_options &options, loaded_model &loaded) {
    context_ptr context;
    if (int status = create_context(options, loaded.model.get(), context)) return status;
    llm_model_info info = {};
    info.size = sizeof info;
    llm_error err = {};
    if (llm_model_get_info(loaded.model.get(), &info, &err) != LLM_OK) return report(err);
    bench_result result;
    result.tier = info.cpu_tier;
    result.n_threads = llm_context_n_threads(context.get());
    result.load_seconds = loaded.load_seconds;
    bench_run run{options, context.get(), info.n_vocab};
    interruptible guard(context.get());
    llm_status status = measure_all(run, result, &err);
    if (status == LLM_CANCELLED) return EXIT_INTERRUPTED;
    if (status != LLM_OK) return report(err);
    result.peak_bytes = peak_resident_bytes(); // before the buffers of the next measurement count
    result.read_gbps = measure_read_gbps(std::max(1u, result.n_threads));
    print_result(options, result);
    return EXIT_OK;
}

static int load_shape(bench_options &options, loaded_model &loaded) {
    temporary_file file("llm-bench");
    if (file.path.empty()) return report_failure("cannot create a temporary file in " + temporary_folder());
    progress_bar bar{"writing", stderr_is_terminal() && !options.common.quiet};
    llm_error err = {};
    llm_status status =
        llm_synth(options.shape.c_str(), options.type.c_str(), 1, file.path.c_str(), progress_step, &bar, &err);
    progress_clear(bar);
    if (status != LLM_OK) return report(err);
    options.common.model = file.path;
    return load_model(options.common, false, loaded);
}

int run_bench(const command &self, int argc, char **argv) {
    bench_options options;
    // clang-format off
    option_table rows = {
        {"-p,--n-prompt", &options.n_prompt, "N", "tokens of the prompt, 0: not measured (default 512)"},
        {"-n,--n-generate", &options.n_generate, "N", "tokens to generate, 0: not measured (default 64)"},
        {"-r,--repeat", &options.n_repeat, "N", "repetitions (default 3)"},
        {"--depth", &options.depths, "LIST", "tokens in the context before generation: 0,4096 (default 0)"},
        {"--shape", &options.shape, "NAME", "measure random weights of this shape (see llm synth --list)"},
        {"--type", &options.type, "TYPE", "with --shape: format of the weights (default Q4_0)"},
    };
    // clang-format on
    add_model_options(rows, options.common);
    add_context_options(rows, options.common);
    add_output_options(rows, options.common);
    if (auto status = parse_options(self, rows, argc, argv)) return *status;
    if (options.depths.empty()) options.depths = {0};
    bool negative = *std::min_element(options.depths.begin(), options.depths.end()) < 0;
    if (negative) return usage_error(self, "--depth wants numbers from 0");
    if (!options.n_repeat) return usage_error(self, "-r wants at least 1");
    if (!options.shape.empty() && !options.common.model.empty())
        return usage_error(self, "-m and --shape exclude each other");
    loaded_model loaded;
    int status = options.shape.empty() ? load_model(options.common, false, loaded) : load_shape(options, loaded);
    return status ? status : measure_model(options, loaded);
}

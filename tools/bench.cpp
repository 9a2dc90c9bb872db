// llm bench: how fast a model, or random weights with a known shape, reads prompts and generates on this machine, and
// how much of what the machine allows that is.
#include "bench.h"
#include "interrupt.h"
#include "temporary_file.h"
#include <algorithm>
#include <stdio.h>

static void add_rows(const bench_options &options, bench_result &result) {
    auto u32 = [](int32_t n) { return static_cast<uint32_t>(n); };
    auto add = [&](bench_kind kind, uint32_t n, uint32_t depth) {
        for (int32_t threads : options.threads) result.rows.push_back({kind, n, depth, u32(threads), {}});
    };
    for (int32_t n : options.prompts)
        if (n) add(bench_kind::prompt, u32(n), 0);
    for (int32_t depth : options.depths)
        if (options.n_generate) add(bench_kind::generation, options.n_generate, u32(depth));
    for (int32_t n : options.batches) add(bench_kind::batch, u32(n), u32(options.depths[0]));
    result.first_token_prompt = std::max(1u, u32(options.prompts[0]));
}

static int create_context(const bench_options &options, const bench_result &result, llm_model *model,
                          context_ptr &out) {
    llm_context_options context_options;
    if (int status = context_options_from(options.common, model, context_options)) return status;
    uint32_t needed = result.first_token_prompt;
    for (const bench_row &row : result.rows) needed = std::max(needed, row.depth + row.n);
    if (!context_options.n_ctx) context_options.n_ctx = needed;
    context_options.n_threads =
        static_cast<uint32_t>(*std::max_element(options.threads.begin(), options.threads.end()));
    llm_context *context = nullptr;
    llm_error err = {};
    if (llm_context_create(model, &context_options, &context, &err) != LLM_OK) return report(err);
    out.reset(context);
    return EXIT_OK;
}

static llm_status describe(const bench_options &options, const loaded_model &loaded, bench_result &result,
                           llm_model_info &info, llm_error *err) {
    info = {};
    info.size = sizeof info;
    if (llm_status status = llm_model_get_info(loaded.model.get(), &info, err)) return status;
    char hash[20];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)info.hash);
    result.model = *info.name ? info.name : loaded.path.substr(loaded.path.find_last_of('/') + 1);
    if (!options.shape.empty()) result.model = options.shape + " " + options.type;
    result.hash = hash;
    result.tier = info.cpu_tier;
    result.kv_type = options.common.kv_type;
    result.n_params = info.n_params;
    result.weight_bytes = info.weight_bytes;
    result.load_seconds = loaded.load_seconds;
    return LLM_OK;
}

// After the model's own numbers, so that its peak memory is only its own.
static llm_status measure_limits(const bench_options &options, const llm_model *model, bench_result &result,
                                 llm_error *err) {
    for (int32_t threads : options.threads) {
        llm_roofline limits = {};
        limits.size = sizeof limits;
        if (llm_status status = llm_roofline_measure(result.tier.c_str(), static_cast<uint32_t>(threads), &limits, err))
            return status;
        result.limits.push_back(limits);
    }
    llm_cost cost = {};
    cost.size = sizeof cost;
    if (llm_status status = llm_model_get_cost(model, &cost, err)) return status;
    bench_limits(cost, result);
    return LLM_OK;
}

static int measure_model(const bench_options &options, loaded_model &loaded) {
    bench_result result;
    llm_model_info info;
    llm_error err = {};
    if (describe(options, loaded, result, info, &err) != LLM_OK) return report(err);
    add_rows(options, result);
    context_ptr context;
    if (int status = create_context(options, result, loaded.model.get(), context)) return status;
    interruptible guard(context.get());
    llm_status status = bench_measure(options, context.get(), info.n_vocab, result, &err);
    result.peak_bytes = peak_resident_bytes();
    if (status == LLM_OK) status = measure_limits(options, loaded.model.get(), result, &err);
    if (status != LLM_OK && status != LLM_CANCELLED) return report(err);
    if (status == LLM_CANCELLED && options.common.json) return EXIT_INTERRUPTED; // half a result is none to a machine
    bench_print(options, result);
    return status == LLM_CANCELLED ? EXIT_INTERRUPTED : EXIT_OK;
}

static int load_shape(const command &self, bench_options &options, loaded_model &loaded) {
    temporary_file file("llm-bench");
    if (file.path.empty()) return report_failure("cannot create a temporary file in " + temporary_folder());
    progress_bar bar{"writing", stderr_is_terminal() && !options.common.quiet};
    llm_error err = {};
    llm_status status =
        llm_synth(options.shape.c_str(), options.type.c_str(), 1, file.path.c_str(), progress_step, &bar, &err);
    progress_clear(bar);
    if (status == LLM_ERR_NOT_FOUND) return usage_error(self, err.message);
    if (status != LLM_OK) return report(err);
    options.common.model = file.path;
    return load_model(options.common, false, loaded);
}

static int32_t default_threads() {
    llm_machine_info machine = {};
    machine.size = sizeof machine;
    return llm_machine_get_info(&machine, nullptr) == LLM_OK ? static_cast<int32_t>(machine.n_threads) : 1;
}

static bool all_from(const number_list &list, int32_t least, int32_t most) {
    return std::all_of(list.begin(), list.end(), [&](int32_t n) { return n >= least && n <= most; });
}

// A sentence about what cannot be measured; empty when all is well.
static std::string wrong_usage(const bench_options &options) {
    if (!all_from(options.depths, 0, 1 << 24)) return "--depth wants numbers from 0";
    if (!all_from(options.prompts, 0, 1 << 24)) return "-p wants numbers from 0";
    if (!all_from(options.threads, 1, 1024)) return "-t wants numbers from 1 to 1024";
    if (!all_from(options.batches, 1, 512)) return "--batch-sizes wants numbers from 1 to 512";
    if (!options.n_repeat) return "-r wants at least 1";
    if (options.n_generate > 1 << 24) return "-n wants less than 16777217";
    if (!options.shape.empty() && !options.common.model.empty()) return "-m and --shape exclude each other";
    return "";
}

int run_bench(const command &self, int argc, char **argv) {
    bench_options options;
    // clang-format off
    option_table rows = {
        {"-p,--n-prompt", &options.prompts, "LIST", "tokens of prompts, 0: none (default 512)"},
        {"-n,--n-generate", &options.n_generate, "N", "tokens to generate, 0: none (default 64)"},
        {"--depth", &options.depths, "LIST", "tokens in the context before generation: 0,4096 (default 0)"},
        {"--batch", &options.batch, "", "passes of 1, 2, 3, 4, 6 and 8 tokens too: the price of checking drafts"},
        {"--batch-sizes", &options.batches, "LIST", "passes of these numbers of tokens"},
        {"-t,--threads", &options.threads, "LIST", "numbers of threads: 1,2 (default: as for other commands)"},
        {"-r,--repeat", &options.n_repeat, "N", "rounds (default 3)"},
        {"--shape", &options.shape, "NAME", "measure random weights of this shape (see llm synth --list)"},
        {"--type", &options.type, "TYPE", "with --shape: format or mix of the weights: Q4_K_M, ... (default Q4_0)"},
        {"--compare", &options.compare, "A B", "compare two results of --json: B against A"},
    };
    // clang-format on
    add_load_options(rows, options.common);
    add_context_options(rows, options.common);
    add_output_options(rows, options.common);
    if (auto status = parse_options(self, rows, argc, argv)) return *status;
    if (options.depths.empty()) options.depths = {0};
    if (options.prompts.empty()) options.prompts = {512};
    if (options.threads.empty()) options.threads = {default_threads()};
    if (options.batch && options.batches.empty()) options.batches = {1, 2, 3, 4, 6, 8};
    std::string wrong = wrong_usage(options);
    if (!wrong.empty()) return usage_error(self, wrong);
    if (!options.compare[0].empty()) return bench_compare(options.compare[0], options.compare[1]);
    loaded_model loaded;
    int status = options.shape.empty() ? load_model(options.common, false, loaded) : load_shape(self, options, loaded);
    return status ? status : measure_model(options, loaded);
}

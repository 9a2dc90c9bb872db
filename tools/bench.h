// What the files of `llm bench` share: what is asked for (bench.cpp), measuring it (bench_measure.cpp), telling it
// (bench_report.cpp), and comparing two runs (bench_compare.cpp).
#pragma once
#include "common.h"

struct bench_options {
    common_options common;
    std::string shape, type = "Q4_0";
    number_list prompts, depths, threads, batches;
    string_pair compare;
    uint32_t n_generate = 64, n_repeat = 3;
    bool batch = false;
};

enum class bench_kind { prompt, generation, batch };

// One line of the result: what was done, and how fast each time.
struct bench_row {
    bench_kind kind;
    uint32_t n, depth, n_threads; // tokens of the prompt, to generate, or of one pass; tokens of context before them
    std::vector<double> tokens_per_second;
    double limit = 0; // tokens a second that the machine allows; 0: unknown
};

struct bench_result {
    std::string model, hash, tier, kv_type;
    uint64_t n_params = 0, weight_bytes = 0, peak_bytes = 0;
    double load_seconds = 0, first_token_seconds = 0;
    uint32_t first_token_prompt = 0;
    std::vector<llm_roofline> limits; // one per number of threads
    std::vector<bench_row> rows;
};

// Fills result.rows (whose kinds, sizes and threads are set) and the first token's time.
llm_status bench_measure(const bench_options &options, llm_context *context, uint32_t n_vocab, bench_result &result,
                         llm_error *err);

// The speed that the machine's limits allow for each row.
void bench_limits(const llm_cost &cost, bench_result &result);
void bench_print(const bench_options &options, const bench_result &result);

struct statistics {
    double median = 0, spread = 0; // spread: largest minus smallest, as a share of the median
};
statistics statistics_of(std::vector<double> values);
// "prompt of 512", "generation of 64 after 4096", "pass of 4 after 0"
std::string bench_row_name(bench_kind kind, uint32_t n, uint32_t depth);

// Two files written by --json; an exit status.
int bench_compare(const std::string &path_a, const std::string &path_b);

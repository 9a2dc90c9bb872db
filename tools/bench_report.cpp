#include "bench.h"
#include "json.h"
#include "text.h"
#include <algorithm>
#include <stdio.h>

statistics statistics_of(std::vector<double> values) {
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    size_t half = values.size() / 2;
    double median = values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
    return {median, median > 0 ? (values.back() - values.front()) / median : 0};
}

std::string bench_row_name(bench_kind kind, uint32_t n, uint32_t depth) {
    std::string after = " after " + std::to_string(depth);
    if (kind == bench_kind::prompt) return "prompt of " + std::to_string(n);
    return (kind == bench_kind::generation ? "generation of " : "pass of ") + std::to_string(n) + after;
}

static const llm_roofline *limits_of(const bench_result &result, uint32_t n_threads) {
    for (const llm_roofline &limits : result.limits)
        if (limits.n_threads == n_threads) return &limits;
    return nullptr;
}

// Bytes of a cache of type T or K:V, as parts of what f16 takes.
static double cache_size(const std::string &kv_type) {
    static const struct {
        const char *name;
        double size;
    } types[] = {{"f32", 2}, {"f16", 1}, {"q8_0", 34.0 / 64}, {"q4_0", 18.0 / 64}};
    const size_t colon = kv_type.find(':');
    const std::string k = kv_type.substr(0, colon), v = colon == std::string::npos ? k : kv_type.substr(colon + 1);
    double size = 0;
    for (const auto &type : types) size += type.size / 2 * ((k == type.name) + (v == type.name));
    return size;
}

// A prompt makes the products of the layers for each token; generation reads the weights and the cache for each. A pass
// of a few tokens does the one as well as the other and has no single limit.
void bench_limits(const llm_cost &cost, bench_result &result) {
    for (bench_row &row : result.rows) {
        const llm_roofline *limits = limits_of(result, row.n_threads);
        if (!limits) continue;
        double seen = row.depth + row.n / 2.0;
        double cache =
            double(cost.kv_bytes) * seen + double(cost.kv_window_bytes) * std::min(seen, double(cost.n_window));
        cache *= cache_size(result.kv_type);
        if (row.kind == bench_kind::prompt) row.limit = limits->dot_gmacs * 1e9 / double(cost.layer_macs);
        if (row.kind == bench_kind::generation)
            row.limit = limits->read_gbps * 1e9 / (double(cost.token_bytes) + cache);
    }
}

// ---- JSON

static void json_rows(json_writer &json, const char *key, const bench_result &result, bench_kind kind) {
    json.Key(key);
    json.StartArray();
    for (const bench_row &row : result.rows) {
        if (row.kind != kind) continue;
        json.StartObject();
        if (kind != bench_kind::prompt) json_field(json, "depth", row.depth);
        json_field(json, "n", row.n);
        json_field(json, "threads", row.n_threads);
        json_list(json, "tps", row.tokens_per_second);
        if (row.limit > 0) json_field(json, "share", statistics_of(row.tokens_per_second).median / row.limit);
        json.EndObject();
    }
    json.EndArray();
}

// Two operations a multiply-accumulate.
static void json_limits(json_writer &json, const llm_roofline &limits) {
    json_field(json, "threads", limits.n_threads);
    json_field(json, "read_gbps", limits.read_gbps);
    json_field(json, "int8_gops", 2 * limits.dot_gmacs);
}

static void print_as_json(const bench_result &result) {
    print_json([&](json_writer &json) {
        json_field(json, "model", result.model);
        json_field(json, "hash", result.hash);
        json_field(json, "n_params", result.n_params);
        json_field(json, "weight_bytes", result.weight_bytes);
        json_field(json, "kv_type", result.kv_type);
        json_field(json, "tier", result.tier);
        json_field(json, "load_s", result.load_seconds);
        json_field(json, "ttft_s", result.first_token_seconds);
        json_field(json, "ttft_n", result.first_token_prompt);
        json_field(json, "peak_rss_mib", double(result.peak_bytes) / (1 << 20));
        json_limits(json, result.limits[0]);
        json.Key("limits");
        json.StartArray();
        for (const llm_roofline &limits : result.limits) {
            json.StartObject();
            json_limits(json, limits);
            json.EndObject();
        }
        json.EndArray();
        json_rows(json, "prompt", result, bench_kind::prompt);
        json_rows(json, "gen", result, bench_kind::generation);
        json_rows(json, "batch", result, bench_kind::batch);
    });
}

// ---- table

static void print_row(const bench_row &row, double pass_of_one) {
    statistics s = statistics_of(row.tokens_per_second);
    printf("%-28s %7u %10.1f %7.1f %%", bench_row_name(row.kind, row.n, row.depth).c_str(), row.n_threads, s.median,
           100 * s.spread);
    if (row.limit > 0) printf(" %7.0f %%", 100 * s.median / row.limit);
    double pass = s.median > 0 ? row.n / s.median : 0;
    if (row.kind == bench_kind::batch) printf(" %9.2f ms", 1000 * pass);
    if (row.kind == bench_kind::batch && pass_of_one > 0) printf(" = %.2f of one token's", pass / pass_of_one);
    printf("\n");
}

// Seconds of a pass of one token from the same start.
static double pass_of_one(const bench_result &result, const bench_row &like) {
    for (const bench_row &row : result.rows)
        if (row.kind == bench_kind::batch && row.n == 1 && row.depth == like.depth && row.n_threads == like.n_threads)
            return 1 / statistics_of(row.tokens_per_second).median;
    return 0;
}

static void print_table(const bench_result &result) {
    printf("%s: %.1f million parameters, %.1f MiB of weights, cache %s, tier %s\n", harmless(result.model).c_str(),
           double(result.n_params) * 1e-6, double(result.weight_bytes) / (1 << 20), result.kv_type.c_str(),
           result.tier.c_str());
    for (const llm_roofline &limits : result.limits)
        printf("limits with %u thread%s: memory read at %.1f GB/s, %.0f billion 8-bit multiply-adds a second\n",
               limits.n_threads, limits.n_threads == 1 ? "" : "s", limits.read_gbps, limits.dot_gmacs);
    printf("load %.2f s, first token of a prompt of %u after %.3f s, peak memory %.0f MiB\n", result.load_seconds,
           result.first_token_prompt, result.first_token_seconds, double(result.peak_bytes) / (1 << 20));
    if (result.rows.empty()) return;
    printf("\n%-28s %7s %10s %9s %9s\n", "median", "threads", "tokens/s", "spread", "of limit");
    for (const bench_row &row : result.rows)
        if (!row.tokens_per_second.empty()) print_row(row, pass_of_one(result, row));
    auto beyond = [](const bench_row &row) {
        return row.kind == bench_kind::generation && statistics_of(row.tokens_per_second).median > row.limit &&
               row.limit > 0;
    };
    if (std::any_of(result.rows.begin(), result.rows.end(), beyond))
        printf("Beyond the limit of the memory: the processor's caches hold much of the weights.\n");
}

void bench_print(const bench_options &options, const bench_result &result) {
    options.common.json ? print_as_json(result) : print_table(result);
}

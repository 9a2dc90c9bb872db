// llm bench --compare A B: two results of --json side by side.
#include "bench.h"
#include "json.h"
#include "text.h"
#include <algorithm>
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <stdio.h>

namespace {

using json_object = rapidjson::Value;

struct bench_file {
    std::string path;
    rapidjson::Document json;
};

const json_object *member(const json_object &object, const char *key) {
    auto found = object.FindMember(key);
    return found == object.MemberEnd() ? nullptr : &found->value;
}
double number(const json_object &object, const char *key) {
    const json_object *value = member(object, key);
    return value && value->IsNumber() ? value->GetDouble() : 0;
}
uint32_t count(const json_object &object, const char *key) {
    return static_cast<uint32_t>(std::clamp(number(object, key), 0.0, 1e9));
}
std::string text(const json_object &object, const char *key) {
    const json_object *value = member(object, key);
    return value && value->IsString() ? value->GetString() : "";
}

bool read_result(const std::string &path, bench_file &out) {
    std::string bytes;
    out.path = path;
    if (!read_file(path, bytes)) return false;
    out.json.Parse<rapidjson::kParseIterativeFlag>(bytes.data(), bytes.size());
    if (out.json.HasParseError())
        return report_failure(path + " is not JSON: " + rapidjson::GetParseError_En(out.json.GetParseError()) +
                              " at byte " + std::to_string(out.json.GetErrorOffset())),
               false;
    for (const char *key : {"prompt", "gen"})
        if (!out.json.IsObject() || !member(out.json, key) || !member(out.json, key)->IsArray())
            return report_failure(path + " is not a result of llm bench --json: \"" + key + "\" is no array"), false;
    return true;
}

bool read_row(bench_kind kind, const json_object &from, uint32_t n_threads, bench_row &out) {
    const json_object *speeds = from.IsObject() ? member(from, "tps") : nullptr;
    if (!speeds || !speeds->IsArray()) return false;
    out = {
        kind, count(from, "n"), count(from, "depth"), member(from, "threads") ? count(from, "threads") : n_threads, {}};
    for (const json_object &speed : speeds->GetArray())
        if (speed.IsNumber()) out.tokens_per_second.push_back(speed.GetDouble());
    return !out.tokens_per_second.empty();
}

std::vector<bench_row> rows_of(const bench_file &file) {
    const struct {
        bench_kind kind;
        const char *key;
    } lists[] = {{bench_kind::prompt, "prompt"}, {bench_kind::generation, "gen"}, {bench_kind::batch, "batch"}};
    std::vector<bench_row> rows;
    for (const auto &list : lists) {
        const json_object *array = member(file.json, list.key);
        if (!array || !array->IsArray()) continue;
        bench_row row;
        for (const json_object &from : array->GetArray())
            if (read_row(list.kind, from, count(file.json, "threads"), row)) rows.push_back(row);
    }
    return rows;
}

const bench_row *find_row(const std::vector<bench_row> &rows, const bench_row &like) {
    for (const bench_row &row : rows)
        if (row.kind == like.kind && row.n == like.n && row.depth == like.depth && row.n_threads == like.n_threads)
            return &row;
    return nullptr;
}

std::string full_name(const bench_row &row) {
    return bench_row_name(row.kind, row.n, row.depth) + " with " + std::to_string(row.n_threads) +
           (row.n_threads == 1 ? " thread" : " threads");
}

// Runs of different models or caches are no comparison; of different tiers, builds or machines they are.
std::string difference(const bench_file &a, const bench_file &b) {
    const struct {
        const char *key, *what;
    } same[] = {{"model", "model"}, {"hash", "model file (hash)"}, {"kv_type", "cache type"}};
    for (const auto &row : same) {
        std::string in_a = text(a.json, row.key), in_b = text(b.json, row.key);
        if (in_a != in_b)
            return std::string("these are not runs of the same ") + row.what + ": " + a.path + " has \"" + in_a +
                   "\", " + b.path + " has \"" + in_b + "\"";
    }
    return "";
}

void print_comparison(const bench_row &a, const bench_row &b) {
    statistics sa = statistics_of(a.tokens_per_second), sb = statistics_of(b.tokens_per_second);
    double ratio = sa.median > 0 ? sb.median / sa.median : 0;
    // A difference within what the runs themselves differ is none.
    bool clear = ratio > 0 && (ratio > 1 ? ratio - 1 : 1 / ratio - 1) > std::max(sa.spread, sb.spread);
    printf("%-28s %7u %10.1f %6.1f %% %10.1f %6.1f %% %8.3f%s\n", bench_row_name(a.kind, a.n, a.depth).c_str(),
           a.n_threads, sa.median, 100 * sa.spread, sb.median, 100 * sb.spread, ratio,
           clear ? "" : "  within the spread");
}

void print_value(const char *name, const char *unit, const bench_file &a, const bench_file &b, const char *key) {
    double in_a = number(a.json, key), in_b = number(b.json, key);
    if (in_a > 0 && in_b > 0)
        printf("%-28s %18.3f %-8s %10.3f %-8s %8.3f\n", name, in_a, unit, in_b, unit, in_b / in_a);
}

} // namespace

int bench_compare(const std::string &path_a, const std::string &path_b) {
    bench_file a, b;
    if (!read_result(path_a, a) || !read_result(path_b, b)) return EXIT_FAILED;
    std::string unlike = difference(a, b);
    if (!unlike.empty()) return report_failure(unlike);
    std::vector<bench_row> rows_a = rows_of(a), rows_b = rows_of(b);
    auto in_both = [&](const bench_row &row) { return find_row(rows_b, row) != nullptr; };
    if (std::none_of(rows_a.begin(), rows_a.end(), in_both))
        return report_failure("the runs have no measurement in common: " + path_a + " has " +
                              (rows_a.empty() ? "none" : full_name(rows_a[0])) + ", " + path_b + " has " +
                              (rows_b.empty() ? "none" : full_name(rows_b[0])));
    printf("%s\nA: %s, tier %s\nB: %s, tier %s\n\n", harmless(text(a.json, "model")).c_str(), harmless(a.path).c_str(),
           harmless(text(a.json, "tier")).c_str(), harmless(b.path).c_str(), harmless(text(b.json, "tier")).c_str());
    printf("%-28s %7s %10s %8s %10s %8s %8s\n", "median tokens/s", "threads", "A", "spread", "B", "spread", "B / A");
    for (const bench_row &row : rows_a)
        if (const bench_row *other = find_row(rows_b, row)) print_comparison(row, *other);
    print_value("load", "s", a, b, "load_s");
    print_value("first token", "s", a, b, "ttft_s");
    print_value("peak memory", "MiB", a, b, "peak_rss_mib");
    for (const bench_row &row : rows_a)
        if (!find_row(rows_b, row)) fprintf(stderr, "llm: only in %s: %s\n", a.path.c_str(), full_name(row).c_str());
    for (const bench_row &row : rows_b)
        if (!find_row(rows_a, row)) fprintf(stderr, "llm: only in %s: %s\n", b.path.c_str(), full_name(row).c_str());
    return EXIT_OK;
}

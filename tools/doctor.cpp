// llm doctor: what this machine gives, what was chosen from it and why, and what that is enough for.
#include "common.h"
#include "json.h"
#include <stdio.h>

struct doctor_options {
    common_options common;
};

// The largest shape of a type that fits the memory, with the speeds that the limits allow.
struct doctor_fit {
    const char *type, *shape;
    uint64_t bytes;
    double prompt, generation;
};

struct doctor_report {
    llm_machine_info machine;
    llm_roofline limits;
    std::string tier;
    std::vector<doctor_fit> fits;
};

static constexpr uint32_t CONTEXT = 4096;
static constexpr uint64_t SCRATCH = 64u << 20; // activations of a pass and the program itself

// Types whose products are 8-bit integers: their limits are those that were measured.
static const char *const types[] = {"Q4_0", "Q4_K_M", "Q6_K", "Q8_0"};

static double bytes_as_gib(uint64_t bytes) { return double(bytes) / (1 << 30); }

static void find_fit(const char *type, doctor_report &report) {
    doctor_fit fit = {type, nullptr, 0, 0, 0};
    for (size_t i = 0; const char *shape = llm_shape_name(i); i++) {
        llm_cost cost = {};
        cost.size = sizeof cost;
        if (llm_shape_get_cost(shape, type, &cost, nullptr) != LLM_OK) continue;
        uint64_t bytes = cost.weight_bytes + (cost.kv_bytes + cost.kv_window_bytes) * CONTEXT + SCRATCH;
        if (report.machine.memory_available && bytes > report.machine.memory_available) continue;
        fit = {type, shape, bytes, report.limits.dot_gmacs * 1e9 / double(cost.layer_macs),
               report.limits.read_gbps * 1e9 / double(cost.token_bytes)};
    }
    if (fit.shape) report.fits.push_back(fit);
}

static llm_status examine(const doctor_options &options, doctor_report &report, llm_error *err) {
    report.machine.size = sizeof report.machine;
    report.limits.size = sizeof report.limits;
    const char *forced = options.common.cpu.empty() ? getenv("LLM_CPU") : options.common.cpu.c_str();
    if (forced && !*forced) forced = nullptr;
    if (llm_status status = llm_machine_get_info(&report.machine, err)) return status;
    report.tier = forced ? forced : report.machine.cpu_tier;
    if (llm_status status = llm_roofline_measure(forced, options.common.n_threads, &report.limits, err)) return status;
    for (const char *type : types) find_fit(type, report);
    return LLM_OK;
}

// ---- for people

static const char *huge_page_text(llm_huge_pages mode) {
    switch (mode) {
    case LLM_HUGE_PAGES_ALWAYS: return "always given";
    case LLM_HUGE_PAGES_ADVISED: return "given where asked for, as weights and cache do";
    default: return "not given; weights are then read up to 40 % slower";
    }
}

static std::string quota_text(double quota) {
    if (quota <= 0) return "none";
    char text[60];
    snprintf(text, sizeof text, "%.2g processors", quota);
    return text;
}

static void print_tiers(const doctor_report &report) {
    std::string others;
    for (size_t i = 0; const char *tier = llm_cpu_tier(i); i++)
        if (report.tier != tier) others += (others.empty() ? "" : ", ") + std::string(tier);
    bool best = report.tier == report.machine.cpu_tier;
    printf("CPU tier     %s%s", report.tier.c_str(), best ? ", the best that this machine runs" : ", as asked for");
    printf(others.empty() ? "\n" : "; also %s\n", others.c_str());
    const char *needs = nullptr;
    for (size_t i = 0; const char *tier = llm_cpu_tier_missing(i, &needs); i++)
        printf("             not %s: it needs %s\n", tier, needs ? needs : "another processor");
}

static void print_human(const doctor_report &report) {
    const llm_machine_info &m = report.machine;
    print_tiers(report);
    printf("processors   %u online, %u of them for this process, on %u core%s (%u fast)\n", m.n_processors, m.n_allowed,
           m.n_cores, m.n_cores == 1 ? "" : "s", m.n_fast_cores);
    printf("quota        %s\n", quota_text(m.quota).c_str());
    printf("threads      %u: %s\n", m.n_threads, m.n_threads_why);
    printf("memory       %.1f GiB, %.1f GiB available\n", bytes_as_gib(m.memory_total),
           bytes_as_gib(m.memory_available));
    printf("huge pages   %s\n", huge_page_text(m.huge_pages));
    printf("\nmeasured with %u thread%s\n", report.limits.n_threads, report.limits.n_threads == 1 ? "" : "s");
    printf("reading      %.1f GB/s, %.0f %% of the memory in huge pages\n", report.limits.read_gbps,
           100 * report.limits.huge_share);
    if (report.limits.dot_gmacs > 0)
        printf("products     %.0f billion 8-bit multiply-adds a second\n", report.limits.dot_gmacs);
    if (report.fits.empty()) return;
    printf(
        "\nlargest known shapes that fit, with %u tokens of context, and the speed these limits allow, in tokens/s\n",
        CONTEXT);
    printf("%-8s %-14s %10s %10s %12s\n", "type", "shape", "memory", "prompt", "generation");
    for (const doctor_fit &fit : report.fits)
        printf("%-8s %-14s %6.1f GiB %10.4g %12.4g\n", fit.type, fit.shape, bytes_as_gib(fit.bytes), fit.prompt,
               fit.generation);
}

// ---- for machines

static void json_tiers(json_writer &json) {
    std::vector<std::string> tiers;
    for (size_t i = 0; const char *tier = llm_cpu_tier(i); i++) tiers.push_back(tier);
    json_list(json, "tiers", tiers);
    json.Key("missing_tiers");
    json.StartArray();
    const char *needs = nullptr;
    for (size_t i = 0; const char *tier = llm_cpu_tier_missing(i, &needs); i++) {
        json.StartObject();
        json_field(json, "tier", tier);
        if (needs) json_field(json, "needs", needs);
        json.EndObject();
    }
    json.EndArray();
}

static void json_fits(json_writer &json, const doctor_report &report) {
    json.Key("fits");
    json.StartArray();
    for (const doctor_fit &fit : report.fits) {
        json.StartObject();
        json_field(json, "type", fit.type);
        json_field(json, "shape", fit.shape);
        json_field(json, "n_ctx", CONTEXT);
        json_field(json, "bytes", fit.bytes);
        json_field(json, "prompt_tps_limit", fit.prompt);
        json_field(json, "gen_tps_limit", fit.generation);
        json.EndObject();
    }
    json.EndArray();
}

static void print_as_json(const doctor_report &report) {
    static const char *const modes[] = {"none", "advised", "always"};
    const llm_machine_info &m = report.machine;
    print_json([&](json_writer &json) {
        json_field(json, "tier", report.tier);
        json_tiers(json);
        json_field(json, "processors", m.n_processors);
        json_field(json, "allowed", m.n_allowed);
        json_field(json, "cores", m.n_cores);
        json_field(json, "fast_cores", m.n_fast_cores);
        if (m.quota > 0) json_field(json, "quota", m.quota);
        json_field(json, "threads", m.n_threads);
        json_field(json, "threads_why", m.n_threads_why);
        json_field(json, "memory_total", m.memory_total);
        json_field(json, "memory_available", m.memory_available);
        json_field(json, "huge_pages", modes[m.huge_pages]);
        json_field(json, "measured_threads", report.limits.n_threads);
        json_field(json, "huge_share", report.limits.huge_share);
        json_field(json, "read_gbps", report.limits.read_gbps);
        json_field(json, "int8_gops", 2 * report.limits.dot_gmacs); // two operations a multiply-accumulate
        json_fits(json, report);
    });
}

int run_doctor(const command &self, int argc, char **argv) {
    doctor_options options;
    // clang-format off
    option_table rows = {
        {"-t,--threads", &options.common.n_threads, "N", "measure with this many threads (default: those chosen)"},
        {"--cpu", &options.common.cpu, "TIER", "measure this CPU code (default: best, or LLM_CPU)"},
        {"--json", &options.common.json, "", "JSON on stdout"},
    };
    // clang-format on
    if (auto status = parse_options(self, rows, argc, argv)) return *status;
    doctor_report found = {};
    llm_error err = {};
    if (examine(options, found, &err) != LLM_OK) return report(err);
    options.common.json ? print_as_json(found) : print_human(found);
    return EXIT_OK;
}

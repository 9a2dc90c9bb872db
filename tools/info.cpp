// llm info: what a model file holds, what it needs, and whether it is sound.
#include "common.h"
#include "json.h"
#include "text.h"
#include <map>
#include <stdio.h>

struct info_options {
    common_options common;
    bool check = false, tensors = false;
};

struct format_total {
    size_t n_tensors = 0;
    uint64_t n_values = 0, bytes = 0;
};

struct file_summary {
    std::string path, error; // error: what --check found
    std::vector<std::pair<std::string, std::string>> metadata;
    std::vector<llm_file_tensor> tensors;
    std::map<std::string, format_total> formats;
    std::vector<std::string> warnings;
    uint32_t version = 0;
    uint64_t n_params = 0, bytes = 0;
    llm_estimate estimate = {};
    bool estimated = false;
};

static uint64_t n_values(const llm_file_tensor &tensor) {
    uint64_t n = 1;
    for (uint32_t i = 0; i < tensor.n_dims; i++) n *= tensor.shape[i];
    return n;
}

static std::string metadata_value(const file_summary &summary, std::string_view key) {
    for (const auto &entry : summary.metadata)
        if (entry.first == key) return entry.second;
    return "";
}

static llm_status summarise(const llm_file *file, file_summary &out, llm_error *err) {
    out.version = llm_file_version(file);
    for (size_t i = 0; i < llm_file_n_metadata(file); i++) {
        const char *key = nullptr, *value = nullptr;
        if (llm_status status = llm_file_metadata(file, i, &key, &value, err)) return status;
        out.metadata.push_back({key, value});
    }
    for (size_t i = 0; i < llm_file_n_tensors(file); i++) {
        llm_file_tensor tensor = {};
        if (llm_status status = llm_file_tensor_at(file, i, &tensor, err)) return status;
        out.tensors.push_back(tensor);
        format_total &total = out.formats[tensor.format];
        total.n_tensors++;
        total.n_values += n_values(tensor);
        total.bytes += tensor.bytes;
        out.n_params += n_values(tensor);
        out.bytes += tensor.bytes;
    }
    for (size_t i = 0; const char *warning = llm_file_warning(file, i); i++) out.warnings.push_back(warning);
    return LLM_OK;
}

static void print_shape(const llm_file_tensor &tensor) {
    printf("  %-44s %-12s", harmless(tensor.name).c_str(), tensor.format);
    for (uint32_t i = 0; i < tensor.n_dims; i++) printf("%s%llu", i ? " x " : "", (unsigned long long)tensor.shape[i]);
    printf("\n");
}

static double mebibytes(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

static void print_needs(const llm_estimate &needs) {
    printf("  needs %.1f MiB: weights %.1f, vocabulary %.1f, cache of %u tokens %.1f, scratch %.1f",
           mebibytes(needs.weights + needs.vocab + needs.kv + needs.scratch), mebibytes(needs.weights),
           mebibytes(needs.vocab), needs.n_ctx, mebibytes(needs.kv), mebibytes(needs.scratch));
    if (needs.mapped) printf("; %.1f MiB of weights are mapped from the file", mebibytes(needs.mapped));
    printf("\n");
}

static void print_human(const info_options &options, const file_summary &summary) {
    printf("%s\n  GGUF version %u, %zu metadata entries, %zu tensors\n", harmless(summary.path).c_str(),
           summary.version, summary.metadata.size(), summary.tensors.size());
    printf("  %llu parameters, %.1f MiB of weights\n", (unsigned long long)summary.n_params, mebibytes(summary.bytes));
    if (summary.estimated) print_needs(summary.estimate);
    printf("\nformats\n");
    for (const auto &[name, total] : summary.formats)
        printf("  %-12s %5zu tensors %10.1f MiB  %.2f bits a weight\n", name.c_str(), total.n_tensors,
               mebibytes(total.bytes), total.n_values ? 8.0 * double(total.bytes) / double(total.n_values) : 0);
    printf("\nmetadata\n");
    for (const auto &[key, value] : summary.metadata) {
        std::string shown = harmless(value).substr(0, options.common.verbose ? std::string::npos : 100);
        for (char &c : shown)
            if (c == '\n') c = ' ';
        printf("  %-44s %s\n", harmless(key).c_str(), repaired(shown).c_str());
    }
    if (options.tensors) printf("\ntensors\n");
    for (size_t i = 0; options.tensors && i < summary.tensors.size(); i++) print_shape(summary.tensors[i]);
    for (const std::string &warning : summary.warnings) fprintf(stderr, "llm: %s\n", harmless(warning).c_str());
    if (options.check && summary.error.empty()) printf("\nchecked: the file is sound\n");
}

static void json_tensors(json_writer &json, const file_summary &summary) {
    json.Key("tensors");
    json.StartArray();
    for (const llm_file_tensor &tensor : summary.tensors) {
        json.StartObject();
        json_field(json, "name", tensor.name);
        json_field(json, "format", tensor.format);
        json_list(json, "shape", std::vector<uint64_t>(tensor.shape, tensor.shape + tensor.n_dims));
        json_field(json, "bytes", tensor.bytes);
        json.EndObject();
    }
    json.EndArray();
}

static void print_as_json(const info_options &options, const file_summary &summary) {
    print_json([&](json_writer &json) {
        json_field(json, "path", summary.path);
        json_field(json, "gguf_version", summary.version);
        json_field(json, "architecture", metadata_value(summary, "general.architecture"));
        json_field(json, "name", metadata_value(summary, "general.name"));
        json_field(json, "n_params", summary.n_params);
        json_field(json, "weight_bytes", summary.bytes);
        if (summary.estimated) {
            json_field(json, "memory_weights", summary.estimate.weights);
            json_field(json, "memory_mapped", summary.estimate.mapped);
            json_field(json, "memory_vocab", summary.estimate.vocab);
            json_field(json, "memory_kv", summary.estimate.kv);
            json_field(json, "memory_scratch", summary.estimate.scratch);
            json_field(json, "n_ctx", summary.estimate.n_ctx);
        }
        json.Key("metadata");
        json.StartObject();
        for (const auto &[key, value] : summary.metadata) json_field(json, repaired(key).c_str(), value);
        json.EndObject();
        json_tensors(json, summary);
        json_list(json, "warnings", summary.warnings);
        if (options.check) json_field(json, "sound", summary.error.empty());
        if (!summary.error.empty()) json_field(json, "error", summary.error);
    });
}

// Loads the model as a chat would: every weight is read and every table checked. A file that holds a vocabulary and no
// weights is checked as far as it goes.
static std::string check(const info_options &options, const file_summary &summary) {
    llm_model_options load = {};
    load.size = sizeof load;
    load.n_threads = options.common.n_threads;
    load.mem_limit = options.common.mem_limit.bytes;
    load.vocab_only = summary.tensors.empty();
    llm_model *model = nullptr;
    llm_error err = {};
    llm_status status = llm_model_load(summary.path.c_str(), &load, &model, &err);
    model_ptr owned(model);
    if (status == LLM_OK) return "";
    return err.message[0] ? err.message : llm_status_text(status);
}

int run_info(const command &self, int argc, char **argv) {
    info_options options;
    // clang-format off
    option_table rows = {
        {"FILE,-m,--model", &options.common.model, "FILE", "GGUF file (default: as for other commands)"},
        {"--check", &options.check, "", "read everything; exit status 1 when the file cannot be used"},
        {"--tensors", &options.tensors, "", "list the tensors"},
        {"-c,--context", &options.common.n_ctx, "N", "context size for the memory estimate"},
        {"-t,--threads", &options.common.n_threads, "N", "threads for --check"},
        {"--mem-limit", &options.common.mem_limit, "SIZE", "refuse to take more memory for --check"},
    };
    // clang-format on
    add_output_options(rows, options.common);
    if (auto status = parse_options(self, rows, argc, argv)) return *status;

    file_summary summary;
    llm_error err = {};
    if (int status = find_model(options.common, summary.path)) return status;
    llm_file *opened = nullptr;
    if (llm_file_open(summary.path.c_str(), &opened, &err) != LLM_OK) return report(err);
    file_ptr file(opened);
    if (summarise(file.get(), summary, &err) != LLM_OK) return report(err);
    llm_context_options context_options = {};
    context_options.size = sizeof context_options;
    context_options.n_ctx = options.common.n_ctx;
    summary.estimated =
        llm_estimate_memory(summary.path.c_str(), nullptr, &context_options, &summary.estimate, nullptr) == LLM_OK;
    if (options.check) summary.error = check(options, summary);
    options.common.json ? print_as_json(options, summary) : print_human(options, summary);
    return summary.error.empty() ? EXIT_OK : report_failure(summary.error);
}

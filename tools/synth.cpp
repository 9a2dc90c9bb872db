// llm synth: a model of random weights with a known shape, for measurements.
#include "common.h"
#include "json.h"
#include <stdio.h>

struct synth_options {
    common_options common;
    std::string shape, type = "Q4_0", output;
    std::optional<uint64_t> seed;
    bool list = false;
};

static void print_shape(const std::string &name, const std::string &type) {
    llm_cost cost = {};
    cost.size = sizeof cost;
    if (llm_shape_get_cost(name.c_str(), type.c_str(), &cost, nullptr) != LLM_OK) return;
    printf("%-14s %9.1f million parameters, %8.1f MiB as %s\n", name.c_str(), double(cost.n_params) * 1e-6,
           double(cost.weight_bytes) / (1 << 20), type.c_str());
}

static int list_shapes(const synth_options &options) {
    std::vector<std::string> names;
    for (size_t i = 0; const char *name = llm_shape_name(i); i++) names.push_back(name);
    if (options.common.json)
        print_json([&](json_writer &json) { json_list(json, "shapes", names); });
    else
        for (const std::string &name : names) print_shape(name, options.type);
    return EXIT_OK;
}

int run_synth(const command &self, int argc, char **argv) {
    synth_options options;
    // clang-format off
    option_table rows = {
        {"--shape", &options.shape, "NAME", "shape of the model, see --list"},
        {"--type", &options.type, "TYPE", "format or mix of the weights: Q4_0, Q4_K_M, F16, ... (default Q4_0)"},
        {"-s,--seed", &options.seed, "N", "seed: same seed, same file (default 1)"},
        {"-o,--output", &options.output, "FILE", "GGUF file to write"},
        {"--list", &options.list, "", "list the shapes"},
    };
    // clang-format on
    add_output_options(rows, options.common);
    if (auto status = parse_options(self, rows, argc, argv)) return *status;
    if (options.list) return list_shapes(options);
    if (options.shape.empty()) return usage_error(self, "--shape is needed");
    if (options.output.empty()) return usage_error(self, "-o is needed");

    progress_bar bar{"writing", stderr_is_terminal() && !options.common.quiet};
    llm_error err = {};
    llm_status status = llm_synth(options.shape.c_str(), options.type.c_str(), options.seed.value_or(1),
                                  options.output.c_str(), progress_step, &bar, &err);
    progress_clear(bar);
    if (status == LLM_ERR_NOT_FOUND) return usage_error(self, err.message);
    if (status != LLM_OK) return report(err);
    if (options.common.json)
        print_json([&](json_writer &json) { json_field(json, "path", options.output); });
    else if (!options.common.quiet)
        fprintf(stderr, "wrote %s\n", options.output.c_str());
    return EXIT_OK;
}

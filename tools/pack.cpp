// llm pack: writes a model in the layout of the kernels, which loading maps and uses in place.
#include "common.h"
#include "json.h"
#include <stdio.h>

struct pack_options {
    common_options common;
    std::string input, output;
};

static void print_done(const pack_options &options, double seconds) {
    if (options.common.json)
        print_json([&](json_writer &json) {
            json_field(json, "path", options.output);
            json_field(json, "seconds", seconds);
        });
    else if (!options.common.quiet)
        fprintf(stderr, "wrote %s in %.1f s\n", options.output.c_str(), seconds);
}

int run_pack(const command &self, int argc, char **argv) {
    pack_options options;
    // clang-format off
    option_table rows = {
        {"IN", &options.input, "IN", "GGUF file to pack; any part of a split one"},
        {"OUT", &options.output, "OUT", "packed file to write"},
    };
    // clang-format on
    add_output_options(rows, options.common);
    if (auto status = parse_options(self, rows, argc, argv)) return *status;
    if (options.input.empty() || options.output.empty()) return usage_error(self, "IN and OUT are needed");

    progress_bar bar{"packing", stderr_is_terminal() && !options.common.quiet};
    llm_error err = {};
    double begin = seconds_now();
    llm_status status = llm_pack(options.input.c_str(), options.output.c_str(), progress_step, &bar, &err);
    progress_clear(bar);
    if (status != LLM_OK) return report(err);
    print_done(options, seconds_now() - begin);
    return EXIT_OK;
}

// llm run: continues a text or ids as they are, without a chat template.
#include "common.h"
#include "interrupt.h"
#include "json.h"
#include "text.h"
#include <algorithm>
#include <stdio.h>
#include <unistd.h>

struct run_options {
    common_options common;
    sampling_options sampling;
    std::optional<std::string> prompt;
    std::string file;
    number_list ids;
    uint32_t n_predict = 256;
    bool ignore_eog = false, parse_special = false;
};

struct run_output {
    bool json, to_terminal;
    std::string text; // for JSON
    char last = '\n';
};

static bool take_text(void *user, const llm_event *event) {
    auto out = static_cast<run_output *>(user);
    if (event->type == LLM_EVENT_PROMPT || event->length == 0) return true;
    std::string_view text(event->text, event->length);
    out->last = text.back();
    if (out->json) return out->text += text, true;
    std::string shown = out->to_terminal ? harmless(text) : std::string(text);
    fwrite(shown.data(), 1, shown.size(), stdout);
    fflush(stdout);
    return true;
}

// Where the ids come from: --ids, -p, -f or stdin, in this order.
static int prompt_ids(const run_options &options, const llm_model *model, std::vector<llm_token> &ids) {
    ids.assign(options.ids.begin(), options.ids.end());
    if (!ids.empty()) return EXIT_OK;
    std::string text = options.prompt.value_or("");
    std::string file = text == "-" || !options.prompt ? "-" : "";
    if (!options.file.empty()) file = options.file;
    if (!file.empty()) {
        text.clear();
        if (!read_file(file, text)) return EXIT_FAILED;
    }
    llm_error err = {};
    if (tokenize(model, text, tokenize_flags(true, options.parse_special), ids, &err) != LLM_OK) return report(err);
    return ids.empty() ? report_failure("the prompt is empty: give a text with -p, -f or stdin") : EXIT_OK;
}

static void print_result(const run_output &out, const std::vector<llm_token> &ids, const llm_result &result,
                         uint64_t seed) {
    print_json([&](json_writer &json) {
        json_field(json, "text", out.text);
        json_list(json, "ids", ids);
        json_field(json, "stop", llm_finish_text(result.finish));
        if (result.stop_index >= 0) json_field(json, "stop_index", result.stop_index);
        json_field(json, "seed", seed);
        json.Key("usage");
        json_usage(json, result);
    });
}

static int generate(const run_options &options, const loaded_model &loaded) {
    llm_error err = {};
    llm_context_options context_options;
    std::vector<llm_token> ids;
    if (int status = context_options_from(options.common, loaded.model.get(), context_options)) return status;
    if (int status = prompt_ids(options, loaded.model.get(), ids)) return status;

    uint64_t seed = choose_seed(options.sampling);
    llm_sampler_options sampler_options = sampler_options_from(options.sampling, loaded.model.get(), seed);
    llm_sampler *new_sampler = nullptr;
    if (llm_sampler_create(&sampler_options, &new_sampler, &err) != LLM_OK) return report(err);
    sampler_ptr sampler(new_sampler);
    llm_context *new_context = nullptr;
    if (llm_context_create(loaded.model.get(), &context_options, &new_context, &err) != LLM_OK) return report(err);
    context_ptr context(new_context);

    std::vector<llm_string> stops = strings_from(options.sampling.stops);
    llm_generate_options generate_options = {};
    generate_options.size = sizeof generate_options;
    generate_options.n_predict = options.n_predict;
    generate_options.stops = stops.data();
    generate_options.n_stops = stops.size();
    generate_options.ignore_eog = options.ignore_eog;
    std::vector<llm_token> made(options.n_predict ? options.n_predict : llm_context_n_ctx(context.get()));
    run_output out{options.common.json, isatty(STDOUT_FILENO) != 0};
    llm_result result = {};
    if (options.common.verbose) fprintf(stderr, "llm: seed %llu\n", static_cast<unsigned long long>(seed));

    interruptible guard(context.get());
    llm_status status = llm_generate(context.get(), sampler.get(), &generate_options, ids.data(), ids.size(), take_text,
                                     &out, made.data(), made.size(), &result, &err);
    if (status == LLM_CANCELLED) return EXIT_INTERRUPTED;
    if (status != LLM_OK) return report(err);
    made.resize(std::min<size_t>(made.size(), result.n_generated));
    if (out.json)
        print_result(out, made, result, seed);
    else if (out.last != '\n')
        printf("\n");
    fflush(stdout);
    if (options.common.verbose) fprintf(stderr, "llm: %s\n", usage_text(result).c_str());
    return result.finish == LLM_FINISH_CANCELLED ? EXIT_INTERRUPTED : EXIT_OK;
}

int run_run(const command &self, int argc, char **argv) {
    run_options options;
    // clang-format off
    option_table rows = {
        {"-p,--prompt", &options.prompt, "TEXT", "text to continue; - or nothing: stdin"},
        {"-f,--file", &options.file, "FILE", "text to continue, from a file"},
        {"--ids", &options.ids, "IDS", "token ids to continue: 1,2,3"},
        {"--parse-special", &options.parse_special, "", "control tokens written in the text become control tokens"},
        {"-n,--predict", &options.n_predict, "N", "most tokens to make, 0: until the end (default 256)"},
        {"--ignore-eog", &options.ignore_eog, "", "go on past end tokens"},
    };
    // clang-format on
    add_sampling_options(rows, options.sampling);
    add_model_options(rows, options.common);
    add_context_options(rows, options.common);
    add_output_options(rows, options.common);
    if (auto status = parse_options(self, rows, argc, argv)) return *status;
    loaded_model loaded;
    if (int status = load_model(options.common, false, loaded)) return status;
    return generate(options, loaded);
}

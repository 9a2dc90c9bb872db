// llm template: renders a chat template, a model's or a file's, as the model would see it.
#include "common.h"
#include "json.h"
#include "request.h"
#include <iostream>
#include <stdio.h>

namespace {

struct template_options {
    common_options common;
    std::string file, context;
    std::optional<std::string> now;
    bool jsonl = false;
};

using template_ptr = std::unique_ptr<llm_template, freed_by<llm_template_free>>;

struct rendering {
    std::string text;
    llm_place place = {};
    llm_error err = {};
};

llm_status render_compiled(const llm_template *compiled, std::string_view variables, const char *now,
                           rendering &result) {
    size_t length = 0;
    auto into = [&](char *text, size_t capacity) {
        return llm_template_render(compiled, variables.data(), variables.size(), now, text, nullptr, capacity, &length,
                                   &result.place, &result.err);
    };
    llm_status status = into(nullptr, 0);
    if (status != LLM_ERR_TOO_SMALL) return status;
    result.text.resize(length);
    return into(&result.text[0], length);
}

llm_status render(std::string_view source, std::string_view variables, const template_options &options,
                  rendering &result) {
    llm_template *made = nullptr;
    const llm_status status = llm_template_create(source.data(), source.size(), &made, &result.place, &result.err);
    template_ptr compiled(made);
    if (status != LLM_OK) return status;
    return render_compiled(made, variables, options.now ? options.now->c_str() : nullptr, result);
}

void print_answer(const rendering &result, const std::string &sentence) {
    print_json([&](json_writer &json) {
        if (sentence.empty()) return json_field(json, "text", result.text);
        json_field(json, "error", sentence);
        if (!result.place.line) return;
        json_field(json, "line", result.place.line);
        json_field(json, "column", result.place.column);
    });
}

void answer_request(const template_options &options, const std::string &line) {
    request_members members;
    rendering result;
    std::string sentence = parse_request(line, members);
    const request_member *source = find_member(members, "template"), *context = find_member(members, "context");
    if (sentence.empty() && (!source || !source->is_string || !context))
        sentence = "a request has \"template\", a string, and \"context\", an object";
    if (sentence.empty() && render(source->text, context->raw, options, result) != LLM_OK)
        sentence = result.err.message;
    print_answer(result, sentence);
}

int answer_all(const template_options &options) {
    std::ios::sync_with_stdio(false);
    for (std::string line; std::getline(std::cin, line);)
        if (line.find_first_not_of(" \t\r") != std::string::npos) answer_request(options, line);
    return EXIT_OK;
}

// The template of --file, else of the model.
int find_source(const template_options &options, std::string &source) {
    if (!options.file.empty()) return read_file(options.file, source) ? EXIT_OK : EXIT_FAILED;
    loaded_model loaded;
    if (int status = load_model(options.common, true, loaded)) return status;
    llm_model_info info = {};
    llm_error err = {};
    if (llm_model_get_info(loaded.model.get(), &info, &err) != LLM_OK) return report(err);
    if (!info.chat_template) return report_failure(loaded.path + " holds no chat template; name one with --file");
    source = info.chat_template;
    return EXIT_OK;
}

} // namespace

int run_template(const command &self, int argc, char **argv) {
    template_options options;
    // clang-format off
    option_table rows = {
        {"--file", &options.file, "T.jinja", "render this template instead of the model's"},
        {"--context", &options.context, "C.json", "the variables, a JSON object; - for stdin (default: stdin)"},
        {"--now", &options.now, "TIME", "the time that templates see, such as 2025-07-26T14:05:09 (default: the clock)"},
        {"--jsonl", &options.jsonl, "", "requests on stdin, one JSON object a line: \"template\" and \"context\""},
    };
    // clang-format on
    add_load_options(rows, options.common);
    add_output_options(rows, options.common);
    if (auto status = parse_options(self, rows, argc, argv)) return *status;
    if (options.jsonl) return answer_all(options);
    std::string source, variables;
    if (int status = find_source(options, source)) return status;
    if (!read_file(options.context.empty() ? "-" : options.context, variables)) return EXIT_FAILED;
    rendering result;
    const llm_status status = render(source, variables, options, result);
    if (options.common.json)
        print_answer(result, status == LLM_OK ? "" : result.err.message);
    else if (status == LLM_OK)
        fwrite(result.text.data(), 1, result.text.size(), stdout);
    if (status == LLM_OK) return EXIT_OK;
    return options.common.json ? EXIT_FAILED : (report(result.err), EXIT_FAILED);
}

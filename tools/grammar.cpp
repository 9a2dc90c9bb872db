// llm grammar: does a text satisfy a grammar or a JSON schema?
#include "common.h"
#include "json.h"
#include "request.h"
#include <iostream>
#include <stdio.h>

namespace {

struct grammar_options {
    common_options common;
    std::string file, schema;
    bool jsonl = false;
};

using grammar_ptr = std::unique_ptr<llm_grammar, freed_by<llm_grammar_free>>;
using matcher_ptr = std::unique_ptr<llm_matcher, freed_by<llm_matcher_free>>;

struct verdict {
    bool match = false, incomplete = false;
    size_t at = 0; // bytes that fit
    llm_error err = {};
};

llm_status compile(llm_grammar_kind kind, std::string_view text, grammar_ptr &out, llm_error *err) {
    llm_grammar *made = nullptr;
    const llm_status status = llm_grammar_create(kind, text.data(), text.size(), &made, err);
    out.reset(made);
    return status;
}

llm_status judge(const llm_grammar *grammar, std::string_view text, verdict &out) {
    llm_matcher *made = nullptr;
    llm_status status = llm_matcher_create(grammar, &made, &out.err);
    matcher_ptr matcher(made);
    if (status != LLM_OK) return status;
    status = llm_matcher_accept(made, text.data(), text.size(), &out.at, &out.err);
    if (status != LLM_OK && status != LLM_ERR_REFUSED) return status;
    out.match = status == LLM_OK && llm_matcher_may_end(made);
    out.incomplete = status == LLM_OK && !out.match;
    return LLM_OK;
}

void print_verdict(const verdict &v, const std::string &sentence) {
    print_json([&](json_writer &json) {
        if (!sentence.empty()) return json_field(json, "error", sentence);
        json_field(json, "match", v.match);
        if (v.incomplete) json_field(json, "incomplete", true);
    });
}

void answer_request(const std::string &line) {
    request_members members;
    verdict v;
    grammar_ptr grammar;
    std::string sentence = parse_request(line, members);
    const request_member *gbnf = find_member(members, "grammar"), *schema = find_member(members, "schema");
    const request_member *text = find_member(members, "text");
    if (sentence.empty() && (!text || !text->is_string || (gbnf ? !gbnf->is_string : !schema)))
        sentence = "a request has \"text\" and \"grammar\", strings, or \"schema\", JSON";
    if (sentence.empty()) {
        const llm_status status =
            gbnf ? compile(LLM_GRAMMAR_GBNF, gbnf->text, grammar, &v.err)
                 : compile(LLM_GRAMMAR_JSON_SCHEMA, schema->is_string ? schema->text : schema->raw, grammar, &v.err);
        if (status != LLM_OK || judge(grammar.get(), text->text, v) != LLM_OK) sentence = v.err.message;
    }
    print_verdict(v, sentence);
}

int answer_all() {
    std::ios::sync_with_stdio(false);
    for (std::string line; std::getline(std::cin, line);)
        if (line.find_first_not_of(" \t\r") != std::string::npos) answer_request(line);
    return EXIT_OK;
}

void explain(const verdict &v) {
    if (v.match)
        fprintf(stderr, "the text matches\n");
    else if (v.incomplete)
        fprintf(stderr, "the text is a beginning of one that matches\n");
    else
        fprintf(stderr, "the text does not match: byte %zu cannot stand there\n", v.at + 1);
}

} // namespace

int run_grammar(const command &self, int argc, char **argv) {
    grammar_options options;
    // clang-format off
    option_table rows = {
        {"--file", &options.file, "G.gbnf", "a grammar in GBNF"},
        {"--schema", &options.schema, "S.json", "a JSON schema"},
        {"--jsonl", &options.jsonl, "", "requests on stdin, one JSON object a line: \"grammar\" or \"schema\", and \"text\""},
    };
    // clang-format on
    add_output_options(rows, options.common);
    if (auto status = parse_options(self, rows, argc, argv)) return *status;
    if (options.jsonl) return answer_all();
    if (options.file.empty() == options.schema.empty()) return usage_error(self, "either --file or --schema is needed");
    std::string source, text;
    verdict v;
    grammar_ptr grammar;
    const bool gbnf = !options.file.empty();
    if (!read_file(gbnf ? options.file : options.schema, source)) return EXIT_FAILED;
    if (compile(gbnf ? LLM_GRAMMAR_GBNF : LLM_GRAMMAR_JSON_SCHEMA, source, grammar, &v.err) != LLM_OK) {
        report(v.err);
        return EXIT_USAGE; // the grammar is refused
    }
    if (!read_file("-", text)) return EXIT_FAILED;
    if (judge(grammar.get(), text, v) != LLM_OK) return report(v.err);
    if (options.common.json)
        print_verdict(v, "");
    else if (!options.common.quiet)
        explain(v);
    return v.match ? EXIT_OK : EXIT_FAILED;
}

// llm tokenize: text to ids, ids to text, and many requests in one process (--jsonl).
#include "common.h"
#include "json.h"
#include "text.h"
#include <iostream>
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct tokenize_options {
    common_options common;
    std::optional<std::string> prompt;
    number_list decode;
    std::string template_name, system, messages;
    bool use_template = false;
    bool add_special = false, parse_special = false, show_control = false, jsonl = false;
};

static std::string_view piece(const llm_model *model, llm_token id) {
    size_t length = 0;
    const char *bytes = llm_token_piece(model, id, true, &length);
    return {bytes ? bytes : "", bytes ? length : 0};
}

// The text as a whole, neighbouring tokens in different shades, control tokens reversed.
static void print_colours(const llm_model *model, const std::vector<llm_token> &ids) {
    for (size_t i = 0; i < ids.size(); i++) {
        const char *style = llm_token_is_control(model, ids[i]) ? "\x1b[7m" : i % 2 ? "\x1b[44m" : "\x1b[42m";
        printf("%s%s\x1b[0m", style, harmless(piece(model, ids[i])).c_str());
    }
    printf("\n");
}

static void print_ids(const tokenize_options &options, const llm_model *model, const std::vector<llm_token> &ids) {
    if (!options.common.json) {
        if (isatty(STDOUT_FILENO) && !getenv("NO_COLOR")) print_colours(model, ids);
        for (llm_token id : ids) printf("%6d  %s\n", id, harmless(piece(model, id)).c_str());
        if (!options.common.quiet) fprintf(stderr, "%zu tokens\n", ids.size());
        return;
    }
    print_json([&](json_writer &json) {
        json_list(json, "ids", ids);
        json.Key("pieces");
        json.StartArray();
        for (llm_token id : ids) json_bytes(json, piece(model, id));
        json.EndArray();
    });
}

static int print_decoded(const tokenize_options &options, const llm_model *model) {
    const number_list &ids = options.decode;
    llm_error err = {};
    size_t length = 0;
    std::string text;
    llm_status status = llm_detokenize(model, ids.data(), ids.size(), options.show_control, nullptr, 0, &length, &err);
    if (status == LLM_ERR_TOO_SMALL) {
        text.resize(length);
        status = llm_detokenize(model, ids.data(), ids.size(), options.show_control, &text[0], length, &length, &err);
    }
    if (status != LLM_OK) return report(err);
    if (options.common.json)
        print_json([&](json_writer &json) {
            json.Key("text");
            json_bytes(json, text);
        });
    else
        fwrite(text.data(), 1, text.size(), stdout);
    return EXIT_OK;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = static_cast<char>(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool bytes_from_hex(std::string_view hex, std::string &bytes) {
    if (hex.size() % 2) return false;
    for (size_t i = 0; i < hex.size(); i += 2) {
        int high = hex_digit(hex[i]), low = hex_digit(hex[i + 1]);
        if (high < 0 || low < 0) return false;
        bytes += static_cast<char>(high * 16 + low);
    }
    return true;
}

static bool flag_of(const rapidjson::Value &request, const char *key, bool otherwise) {
    auto found = request.FindMember(key);
    return found != request.MemberEnd() && found->value.IsBool() ? found->value.GetBool() : otherwise;
}

static std::string_view string_of(const rapidjson::Value &value) {
    return {value.GetString(), value.GetStringLength()};
}

// The bytes a request asks about; an empty sentence when it is good.
static std::string request_bytes(const rapidjson::Document &request, std::string &bytes) {
    if (request.HasParseError())
        return std::string("not JSON: ") + rapidjson::GetParseError_En(request.GetParseError()) + " at byte " +
               std::to_string(request.GetErrorOffset());
    if (!request.IsObject()) return "a request is an object with \"text\" or \"hex\"";
    auto text = request.FindMember("text"), hex = request.FindMember("hex");
    if (text != request.MemberEnd() && text->value.IsString()) return bytes = string_of(text->value), "";
    if (hex == request.MemberEnd() || !hex->value.IsString())
        return "neither \"text\" nor \"hex\" is there as a string";
    return bytes_from_hex(string_of(hex->value), bytes) ? "" : "\"hex\" is not an even number of hexadecimal digits";
}

static void answer_request(const tokenize_options &options, const llm_model *model, const std::string &line) {
    // Iterative parsing: a line of brackets must not overflow the stack.
    rapidjson::Document request;
    request.Parse<rapidjson::kParseIterativeFlag>(line.data(), line.size());
    std::string bytes, sentence = request_bytes(request, bytes);
    std::vector<llm_token> ids;
    if (sentence.empty()) {
        uint32_t flags = tokenize_flags(flag_of(request, "add_special", options.add_special),
                                        flag_of(request, "parse_special", options.parse_special));
        llm_error err = {};
        if (tokenize(model, bytes, flags, ids, &err) != LLM_OK) sentence = err.message;
    }
    print_json([&](json_writer &json) {
        if (sentence.empty())
            json_list(json, "ids", ids);
        else
            json_field(json, "error", sentence);
    });
}

static int answer_all(const tokenize_options &options, const llm_model *model) {
    std::ios::sync_with_stdio(false);
    for (std::string line; std::getline(std::cin, line);)
        if (line.find_first_not_of(" \t\r") != std::string::npos) answer_request(options, model, line);
    return EXIT_OK;
}

static std::string json_messages(const std::string &system, const std::string &user) {
    rapidjson::StringBuffer buffer;
    json_writer json(buffer);
    json.StartArray();
    for (const auto &message : {std::make_pair("system", &system), std::make_pair("user", &user)}) {
        if (message.second == &system && system.empty()) continue;
        json.StartObject();
        json_field(json, "role", message.first);
        json_field(json, "content", *message.second);
        json.EndObject();
    }
    json.EndArray();
    return {buffer.GetString(), buffer.GetSize()};
}

// What the model reads of a conversation, up to where it answers.
static int print_conversation(const tokenize_options &options, const llm_model *model, const std::string &text) {
    template_choice choice;
    if (int status = choose_template(options.template_name, choice)) return status;
    std::string json;
    if (options.messages.empty())
        json = json_messages(options.system, text);
    else if (!read_file(options.messages, json))
        return EXIT_FAILED;
    llm_chat_options chat = {};
    chat.size = sizeof chat;
    chat.template_name = choice.name.empty() ? nullptr : choice.name.c_str();
    chat.template_source = {choice.source.data(), choice.source.size()};
    llm_error err = {};
    std::vector<llm_token> ids;
    size_t n = 0;
    llm_status status = llm_chat_tokenize(model, &chat, json.data(), json.size(), true, nullptr, 0, &n, &err);
    if (status == LLM_ERR_TOO_SMALL) {
        ids.resize(n);
        status = llm_chat_tokenize(model, &chat, json.data(), json.size(), true, ids.data(), n, &n, &err);
    }
    if (status != LLM_OK) return report(err);
    print_ids(options, model, ids);
    return EXIT_OK;
}

int run_tokenize(const command &self, int argc, char **argv) {
    tokenize_options options;
    // clang-format off
    option_table rows = {
        {"-p,--prompt", &options.prompt, "TEXT", "the text (default: all of stdin)"},
        {"--add-special", &options.add_special, "", "add the tokens the vocabulary wants around a text (BOS, EOS)"},
        {"--parse-special", &options.parse_special, "", "control tokens written in the text become control tokens"},
        {"--template", &options.use_template, "", "the text as a user's message: what the model reads of it in a chat"},
        {"--chat-template", &options.template_name, "NAME", "the same with a built-in template or a file, see llm chat"},
        {"--system", &options.system, "TEXT", "the same with a system message"},
        {"--messages", &options.messages, "FILE", "the same of a whole conversation, a JSON array of messages"},
        {"--decode", &options.decode, "IDS", "the other way: bytes of these ids, such as 1,2,3"},
        {"--show-control", &options.show_control, "", "with --decode: write control tokens too"},
        {"--jsonl", &options.jsonl, "", "requests on stdin, one JSON object a line: \"text\" or \"hex\""},
    };
    // clang-format on
    add_model_options(rows, options.common);
    add_output_options(rows, options.common);
    if (auto status = parse_options(self, rows, argc, argv)) return *status;
    loaded_model loaded;
    if (int status = load_model(options.common, true, loaded)) return status;
    if (options.jsonl) return answer_all(options, loaded.model.get());
    if (!options.decode.empty()) return print_decoded(options, loaded.model.get());

    options.use_template |= !options.template_name.empty() || !options.messages.empty() || !options.system.empty();
    std::string text = options.prompt.value_or("");
    if (!options.prompt && options.messages.empty() && !read_file("-", text)) return EXIT_FAILED;
    if (options.use_template) return print_conversation(options, loaded.model.get(), text);
    std::vector<llm_token> ids;
    llm_error err = {};
    uint32_t flags = tokenize_flags(options.add_special, options.parse_special);
    if (tokenize(loaded.model.get(), text, flags, ids, &err) != LLM_OK) return report(err);
    print_ids(options, loaded.model.get(), ids);
    return EXIT_OK;
}

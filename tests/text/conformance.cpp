#include "text/conformance.h"
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace llm;

namespace text_test {

std::string read_file(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
}

std::string read_gzip(const std::string &path) {
    std::string bytes;
    FILE *pipe = popen(("gzip -dc '" + path + "'").c_str(), "r");
    if (!pipe) return bytes;
    char buffer[1 << 16];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) bytes.append(buffer, n);
    pclose(pipe);
    return bytes;
}

rapidjson::Document parse_json(const std::string &text) {
    rapidjson::Document document;
    document.Parse(text.data(), text.size());
    REQUIRE(!document.HasParseError());
    return document;
}

std::string from_hex(const std::string &hex) {
    std::string bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2) bytes.push_back(char(std::stoi(hex.substr(i, 2), nullptr, 16)));
    return bytes;
}

std::string to_hex(std::string_view bytes) {
    std::string hex;
    for (char c : bytes) {
        char digits[3];
        snprintf(digits, sizeof digits, "%02x", unsigned(uint8_t(c)));
        hex += digits;
    }
    return hex;
}

tokenizer_ptr load_tokenizer(const std::string &gguf, const char *pre_override, llm_status expected, llm_error *err) {
    llm_error local{};
    if (!err) err = &local;
    gguf_file file;
    REQUIRE(gguf_open_source(file_from_memory(gguf.data(), gguf.size()), &file, err) == LLM_OK);
    tokenizer *t = nullptr;
    llm_status status = tokenizer_load(&file, pre_override, nullptr, &t, err);
    gguf_close(&file);
    INFO(err->message);
    REQUIRE(status == expected);
    REQUIRE((t != nullptr) == (expected == LLM_OK));
    return tokenizer_ptr(t);
}

std::string vocabulary_bytes(const std::string &name) {
    std::string folder = test_data() + "/vocab/";
    rapidjson::Document index = parse_json(read_file(folder + "index.json"));
    for (const auto &entry : index.GetArray()) {
        if (entry["name"].GetString() != name) continue;
        std::string path = folder + entry["file"].GetString();
        bool gzipped = path.size() > 3 && path.compare(path.size() - 3, 3, ".gz") == 0;
        return gzipped ? read_gzip(path) : read_file(path);
    }
    FAIL("no vocabulary " << name);
    return {};
}

tokenizer_ptr load_vocabulary(const std::string &name) { return load_tokenizer(vocabulary_bytes(name)); }

std::vector<std::string> vocabulary_names() {
    std::vector<std::string> names;
    rapidjson::Document index = parse_json(read_file(test_data() + "/vocab/index.json"));
    for (const auto &entry : index.GetArray()) names.push_back(entry["name"].GetString());
    return names;
}

static std::string environment(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

static std::string models_folder() {
    if (!environment("LLM_MODELS").empty()) return environment("LLM_MODELS");
    std::string data = environment("XDG_DATA_HOME");
    return (data.empty() ? environment("HOME") + "/.local/share" : data) + "/llm/models";
}

tokenizer_ptr load_published(const std::string &file_name, std::string *chat_template) {
    std::string path = models_folder() + "/" + file_name;
    gguf_file file;
    llm_error err{};
    if (gguf_open(path.c_str(), &file, &err) != LLM_OK) {
        WARN("NOT TESTED: " << err.message);
        return nullptr;
    }
    tokenizer *t = nullptr;
    llm_status status = tokenizer_load(&file, nullptr, nullptr, &t, &err);
    *chat_template = gguf_string_or(&file, "tokenizer.chat_template", "");
    gguf_close(&file);
    INFO(err.message);
    REQUIRE(status == LLM_OK);
    return tokenizer_ptr(t);
}

std::vector<int32_t> encode(const tokenizer *t, std::string_view text, bool add_special, bool parse_special) {
    tokenize_options options;
    options.add_special = add_special;
    options.parse_special = parse_special;
    std::vector<int32_t> ids;
    llm_error err{};
    llm_status status = tokenize(t, text, &options, &ids, &err);
    INFO(err.message);
    REQUIRE(status == LLM_OK);
    return ids;
}

std::string decode(const tokenizer *t, const std::vector<int32_t> &ids, bool show_control) {
    std::string text;
    detokenize(t, ids.data(), ids.size(), show_control, &text);
    return text;
}

std::string list(const std::vector<int32_t> &ids) {
    std::string text;
    for (size_t i = 0; i < ids.size() && i < 60; i++) text += (i ? " " : "") + std::to_string(ids[i]);
    return text + (ids.size() > 60 ? " ..." : "");
}

} // namespace text_test

// Reading the conformance data of vocabularies: plain or gzipped GGUF files, lists of cases as JSON.
#pragma once
#include "test.h"
#include "text/tokenizer.h"
#include <rapidjson/document.h>
#include <memory>
#include <string>
#include <vector>

namespace text_test {

std::string read_file(const std::string &path); // empty when it cannot be read
std::string read_gzip(const std::string &path);
rapidjson::Document parse_json(const std::string &text);
std::string from_hex(const std::string &hex);
std::string to_hex(std::string_view bytes);

struct tokenizer_deleter {
    void operator()(llm::tokenizer *t) const { llm::tokenizer_free(t); }
};
using tokenizer_ptr = std::unique_ptr<llm::tokenizer, tokenizer_deleter>;

// Loads from the bytes of a GGUF file; fails the test unless `expected` comes out.
tokenizer_ptr load_tokenizer(const std::string &gguf, const char *pre_override = nullptr, llm_status expected = LLM_OK,
                             llm_error *err = nullptr);
std::vector<std::string> vocabulary_names(); // of vocab/index.json
std::string vocabulary_bytes(const std::string &name);
tokenizer_ptr load_vocabulary(const std::string &name);
// The vocabulary and stored chat template of a published model in
// ${LLM_MODELS:-${XDG_DATA_HOME:-~/.local/share}/llm/models}; NULL when it is not there, with a warning.
tokenizer_ptr load_published(const std::string &file_name, std::string *chat_template);

std::vector<int32_t> encode(const llm::tokenizer *t, std::string_view text, bool add_special = false,
                            bool parse_special = false);
std::string decode(const llm::tokenizer *t, const std::vector<int32_t> &ids, bool show_control = false);
std::string list(const std::vector<int32_t> &ids);

} // namespace text_test

#include "text/conformance.h"

using namespace llm;

static std::vector<int32_t> ids_of(const rapidjson::Value &array) {
    std::vector<int32_t> ids;
    for (const auto &id : array.GetArray()) ids.push_back(id.GetInt());
    return ids;
}

// [[pattern, count], ...]
static std::vector<int32_t> ids_of_runs(const rapidjson::Value &runs) {
    std::vector<int32_t> ids;
    for (const auto &run : runs.GetArray()) {
        std::vector<int32_t> pattern = ids_of(run[0]);
        for (int i = 0; i < run[1].GetInt(); i++) ids.insert(ids.end(), pattern.begin(), pattern.end());
    }
    return ids;
}

static std::string text_of(const rapidjson::Value &c) {
    if (c.HasMember("text")) return {c["text"].GetString(), c["text"].GetStringLength()};
    if (c.HasMember("text_hex")) return from_hex(c["text_hex"].GetString());
    std::string text;
    for (const auto &part : c["gen"].GetArray())
        for (int i = 0; i < part[1].GetInt(); i++) text.append(part[0].GetString(), part[0].GetStringLength());
    return text;
}

// The ids of the original where it was asked and differs, else those of the file's maker.
static std::vector<int32_t> expected_ids(const rapidjson::Value &c) {
    if (c.HasMember("hf_ids")) return ids_of(c["hf_ids"]);
    if (c.HasMember("hf_ids_runs")) return ids_of_runs(c["hf_ids_runs"]);
    return c.HasMember("ids") ? ids_of(c["ids"]) : ids_of_runs(c["ids_runs"]);
}

TEST_CASE("small vocabularies of every pre-tokenizer give the expected ids", "[text]") {
    if (!have_test_data("tok")) return;
    std::string folder = test_data() + "/tok/";
    rapidjson::Document expected = parse_json(read_file(folder + "expected.json"));
    for (const auto &file : expected["files"].GetObject()) {
        std::string name = file.name.GetString(), model = file.value["model"].GetString();
        if (model != "gpt2" && model != "llama") continue;
        std::vector<std::string> names{""};
        if (file.value.HasMember("same_ids_for_pre"))
            for (const auto &alias : file.value["same_ids_for_pre"].GetArray()) names.push_back(alias.GetString());
        std::string bytes = read_file(folder + name);
        tokenizer_ptr t = load_tokenizer(bytes);
        CHECK(list(encode(t.get(), "", true)) == list(ids_of(file.value["empty_with_special"])));
        size_t i = 0;
        for (const auto &hex : expected["strings_hex"].GetArray()) {
            std::string text = from_hex(hex.GetString());
            INFO(name << ", string " << i << ": " << text);
            CHECK(list(encode(t.get(), text)) == list(ids_of(file.value["ids"][unsigned(i)])));
            const auto &special = file.value["ids_parse_special"];
            if (auto found = special.FindMember(std::to_string(i).c_str()); found != special.MemberEnd())
                CHECK(list(encode(t.get(), text, false, true)) == list(ids_of(found->value)));
            i++;
        }
    }
}

static void check_cases(const std::string &name) {
    tokenizer_ptr t = load_vocabulary(name);
    std::string lines = read_file(test_data() + "/vocab/" + name + ".cases.jsonl");
    size_t n = 0;
    for (size_t at = 0, end; at < lines.size(); at = end + 1) {
        end = lines.find('\n', at);
        rapidjson::Document c = parse_json(lines.substr(at, end - at));
        std::string text = text_of(c), category = c["cat"].GetString();
        std::vector<int32_t> ids = encode(t.get(), text, c["add_special"].GetBool(), c["parse_special"].GetBool());
        n++;
        if (category == "invalid") continue;
        INFO(name << " " << c["id"].GetString() << ": " << text.substr(0, 200));
        CHECK(list(ids) == list(expected_ids(c)));
    }
    CHECK(n == 454);
}

TEST_CASE("published vocabularies give the ids of their original tokenizers", "[text]") {
    if (!have_test_data("vocab")) return;
    for (const char *name : {"llama-spm", "phi-3", "baichuan", "mistral-v1", "gemma3", "spm-small", "gpt-2", "falcon",
                             "gpt-neox", "mpt", "starcoder", "refact", "deepseek-coder", "deepseek-llm", "deepseek-v3",
                             "llama-bpe", "qwen3", "gpt-oss"})
        check_cases(name);
}

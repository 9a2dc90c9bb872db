#include "text/tiny_vocabulary.h"
#include "text/byte_letters.h"
#include "text/utf8.h"
#include <cstdio>

namespace text_test {

template <typename T> static void put(std::string *out, T value) {
    out->append(reinterpret_cast<const char *>(&value), sizeof value);
}

static void put_string(std::string *out, const std::string &s) {
    put(out, uint64_t(s.size()));
    out->append(s);
}

static void put_key(metadata *m, const std::string &key, uint32_t type) {
    put_string(&m->bytes, key);
    put(&m->bytes, type);
    m->n++;
}

static void put_array(metadata *m, const std::string &key, uint32_t type, uint64_t n) {
    put_key(m, key, 9);
    put(&m->bytes, type);
    put(&m->bytes, n);
}

void set(metadata *m, const std::string &key, const std::string &value) {
    put_key(m, key, 8);
    put_string(&m->bytes, value);
}
void set(metadata *m, const std::string &key, const char *value) { set(m, key, std::string(value)); }
void set(metadata *m, const std::string &key, uint32_t value) {
    put_key(m, key, 4);
    put(&m->bytes, value);
}
void set(metadata *m, const std::string &key, bool value) {
    put_key(m, key, 7);
    put(&m->bytes, uint8_t(value));
}
void set(metadata *m, const std::string &key, const std::vector<std::string> &values) {
    put_array(m, key, 8, values.size());
    for (const std::string &value : values) put_string(&m->bytes, value);
}
void set(metadata *m, const std::string &key, const std::vector<int32_t> &values) {
    put_array(m, key, 5, values.size());
    for (int32_t value : values) put(&m->bytes, value);
}
void set(metadata *m, const std::string &key, const std::vector<float> &values) {
    put_array(m, key, 6, values.size());
    for (float value : values) put(&m->bytes, value);
}

void set_bytes(metadata *m, const std::string &key, const std::string &bytes) {
    put_array(m, key, 1, bytes.size());
    m->bytes += bytes;
}

std::string gguf_of(const metadata &m) {
    std::string file = "GGUF";
    put(&file, uint32_t(3));
    put(&file, uint64_t(0));
    put(&file, m.n);
    return file + m.bytes;
}

static void set_tokens(metadata *m, const std::vector<tiny_token> &tokens) {
    std::vector<std::string> texts;
    std::vector<int32_t> types;
    for (const tiny_token &token : tokens) {
        texts.push_back(token.text);
        types.push_back(token.type);
    }
    set(m, "tokenizer.ggml.tokens", texts);
    set(m, "tokenizer.ggml.token_type", types);
}

static std::vector<float> scores_of(const std::vector<tiny_token> &tokens) {
    std::vector<float> scores;
    for (const tiny_token &token : tokens) scores.push_back(token.score);
    return scores;
}

std::string tiny_spm(const std::vector<tiny_token> &tokens, bool with_bytes, bool space_prefix) {
    std::vector<tiny_token> all{{"<unk>", 2}, {"<s>", 3}, {"</s>", 3}};
    for (int byte = 0; with_bytes && byte < 256; byte++) {
        char text[8];
        snprintf(text, sizeof text, "<0x%02X>", unsigned(byte));
        all.push_back({text, 6});
    }
    all.insert(all.end(), tokens.begin(), tokens.end());
    metadata m;
    set(&m, "general.architecture", "llama");
    set(&m, "tokenizer.ggml.model", "llama");
    set(&m, "tokenizer.ggml.add_space_prefix", space_prefix);
    set_tokens(&m, all);
    set(&m, "tokenizer.ggml.scores", scores_of(all));
    return gguf_of(m);
}

std::string tiny_unigram(const std::vector<tiny_token> &tokens, const std::string &charsmap, bool remove_extra_spaces,
                         bool space_prefix) {
    std::vector<tiny_token> all{{"<pad>", 3}, {"</s>", 3}, {"<unk>", 2}};
    all.insert(all.end(), tokens.begin(), tokens.end());
    metadata m;
    set(&m, "general.architecture", "t5");
    set(&m, "tokenizer.ggml.model", "t5");
    set(&m, "tokenizer.ggml.add_space_prefix", space_prefix);
    set(&m, "tokenizer.ggml.remove_extra_whitespaces", remove_extra_spaces);
    if (!charsmap.empty()) set_bytes(&m, "tokenizer.ggml.precompiled_charsmap", charsmap);
    set_tokens(&m, all);
    set(&m, "tokenizer.ggml.scores", scores_of(all));
    return gguf_of(m);
}

// A double array with a block of 256 units per node: a child stands at its parent's block plus its byte.
std::string tiny_charsmap(const std::vector<std::pair<std::string, std::string>> &rules) {
    std::vector<uint32_t> units(256, 0), block{0}; // block[i]: of node i
    std::vector<std::string> nodes{""};
    std::string strings;
    auto link = [](uint32_t at, uint32_t target) { return (at ^ target) << 10; };
    auto add_node = [&](const std::string &prefix) {
        nodes.push_back(prefix);
        block.push_back(uint32_t(units.size()));
        units.resize(units.size() + 256, 0);
    };
    add_node("");
    units[0] = link(0, block[1]);
    for (const auto &[from, to] : rules) {
        uint32_t node = 1, at = 0;
        for (size_t n = 1; n <= from.size(); n++) {
            at = block[node] + uint8_t(from[n - 1]);
            uint32_t child = 1;
            while (child < nodes.size() && nodes[child] != from.substr(0, n)) child++;
            if (child == nodes.size()) {
                add_node(from.substr(0, n));
                units[at] = link(at, block[child]) | uint8_t(from[n - 1]);
            }
            node = child;
        }
        units[at] |= 1u << 8;
        units[block[node]] = 1u << 31 | uint32_t(strings.size());
        strings += to;
        strings.push_back('\0');
    }
    std::string bytes;
    put(&bytes, uint32_t(units.size() * 4));
    for (uint32_t unit : units) put(&bytes, unit);
    return bytes + strings;
}

std::string tiny_wordpiece(const std::vector<std::string> &tokens, bool lowercase) {
    std::vector<tiny_token> all{{"[PAD]", 3}, {"[UNK]", 3}, {"[CLS]", 3}, {"[SEP]", 3}};
    for (const std::string &token : tokens) all.push_back({token});
    metadata m;
    set(&m, "general.architecture", "bert");
    set(&m, "tokenizer.ggml.model", "bert");
    set(&m, "tokenizer.ggml.unknown_token_id", uint32_t(1));
    set(&m, "tokenizer.ggml.bos_token_id", uint32_t(2));
    set(&m, "tokenizer.ggml.seperator_token_id", uint32_t(3));
    set(&m, "tokenizer.ggml.normalizer.lowercase", lowercase);
    set_tokens(&m, all);
    return gguf_of(m);
}

std::string tiny_bpe(const std::vector<std::string> &merges, const std::vector<tiny_token> &added,
                     const std::string &pre, const std::string &architecture) {
    std::vector<tiny_token> all;
    for (int byte = 0; byte < 256; byte++) {
        std::string text;
        llm::utf8_append(&text, llm::letters.letter_of[size_t(byte)]);
        all.push_back({text});
    }
    for (const std::string &merge : merges) {
        size_t space = merge.find(' ', 1);
        all.push_back({merge.substr(0, space) + merge.substr(space + 1)});
    }
    all.insert(all.end(), added.begin(), added.end());
    metadata m;
    set(&m, "general.architecture", architecture);
    set(&m, "tokenizer.ggml.model", "gpt2");
    set(&m, "tokenizer.ggml.pre", pre);
    set_tokens(&m, all);
    set(&m, "tokenizer.ggml.merges", merges);
    return gguf_of(m);
}

} // namespace text_test

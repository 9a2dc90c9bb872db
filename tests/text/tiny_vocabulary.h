// Vocabularies of a few tokens, as the bytes of GGUF files.
#pragma once
#include <stdint.h>
#include <string>
#include <vector>

namespace text_test {

struct metadata {
    std::string bytes;
    uint64_t n = 0;
};
void set(metadata *m, const std::string &key, const std::string &value);
void set(metadata *m, const std::string &key, const char *value);
void set(metadata *m, const std::string &key, uint32_t value);
void set(metadata *m, const std::string &key, bool value);
void set(metadata *m, const std::string &key, const std::vector<std::string> &values);
void set(metadata *m, const std::string &key, const std::vector<int32_t> &values);
void set(metadata *m, const std::string &key, const std::vector<float> &values);
void set_bytes(metadata *m, const std::string &key, const std::string &bytes); // an array of i8
std::string gguf_of(const metadata &m);

struct tiny_token {
    std::string text;
    int32_t type = 1; // normal; 2 unknown, 3 control, 4 user-defined, 6 byte
    float score = 0;
};
// SentencePiece: <unk> <s> </s>, 256 bytes if wanted, then `tokens`. The first id of `tokens` is 259, or 3.
std::string tiny_spm(const std::vector<tiny_token> &tokens, bool with_bytes = true, bool space_prefix = true);
// Byte-level: ids 0..255 are the bytes, then the unions of `merges` ("a b", in byte letters), then `added`.
std::string tiny_bpe(const std::vector<std::string> &merges, const std::vector<tiny_token> &added = {},
                     const std::string &pre = "gpt-2", const std::string &architecture = "llama");

// Unigram: <pad> </s> <unk>, then `tokens`, the first of them with id 3.
std::string tiny_unigram(const std::vector<tiny_token> &tokens, const std::string &charsmap = "",
                         bool remove_extra_spaces = true, bool space_prefix = true);
// What SentencePiece writes for these replacements.
std::string tiny_charsmap(const std::vector<std::pair<std::string, std::string>> &rules);
// WordPiece: [PAD] [UNK] [CLS] [SEP], then `tokens` ("\u2581" before those that begin words), the first with id 4.
std::string tiny_wordpiece(const std::vector<std::string> &tokens, bool lowercase = true);

} // namespace text_test

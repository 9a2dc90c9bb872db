// Tokens that are recognised in a text before it is split and merged: control tokens (where the caller allows) and
// user-defined ones. A search takes at most the longest token's length per position.
#pragma once
#include "text/trie.h"

namespace llm {

struct added_tokens {
    byte_trie trie; // value: id << 1 | control
    bool starts[256] = {};
};

struct added_token {
    std::string_view text;
    int32_t id;
    bool control;
};
// Empty texts are left out. The texts are not kept.
void added_tokens_build(added_tokens *out, const std::vector<added_token> &tokens);

struct added_match {
    size_t at, n;
    int32_t id; // -1: none
};
// The leftmost match at or after `from`, and of those the longest, as the originals search (Hugging Face: leftmost
// longest; SentencePiece: longest prefix at each position).
added_match added_tokens_find(const added_tokens &tokens, std::string_view text, size_t from, bool with_control);

} // namespace llm

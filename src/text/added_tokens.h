// Tokens that are recognised in a text before it is split and merged: control tokens (where the caller allows) and
// user-defined ones. A trie over all of them; a search takes at most the longest token's length per position.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string_view>
#include <utility>
#include <vector>

namespace llm {

struct added_tokens {
    struct node {
        uint32_t first_edge = 0, n_edges = 0;
        int32_t id = -1;
        bool control = false;
    };
    struct edge {
        uint8_t byte;
        uint32_t node;
    };
    std::vector<node> nodes; // [0] is the root; empty: no tokens
    std::vector<edge> edges; // of one node side by side, by byte
    bool starts[256] = {};
};

struct added_token {
    std::string_view text;
    int32_t id;
    bool control;
};
// Empty texts are left out. The texts are not kept.
void added_tokens_build(added_tokens *out, std::vector<added_token> tokens);

struct added_match {
    size_t at, n;
    int32_t id; // -1: none
};
// The leftmost match at or after `from`, and of those the longest, as the originals search (Hugging Face: leftmost
// longest; SentencePiece: longest prefix at each position).
added_match added_tokens_find(const added_tokens &tokens, std::string_view text, size_t from, bool with_control);

} // namespace llm

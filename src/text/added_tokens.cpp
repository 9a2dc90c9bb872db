#include "text/added_tokens.h"

namespace llm {

void added_tokens_build(added_tokens *out, const std::vector<added_token> &tokens) {
    std::vector<trie_entry> entries;
    for (const added_token &token : tokens) {
        entries.push_back({token.text, token.id << 1 | int32_t(token.control)});
        if (!token.text.empty()) out->starts[uint8_t(token.text[0])] = true;
    }
    trie_build(&out->trie, std::move(entries));
}

static added_match longest_at(const added_tokens &tokens, std::string_view text, size_t at, bool with_control) {
    added_match best{at, 0, -1};
    uint32_t node = 0;
    for (size_t n = 0; at + n < text.size();) {
        node = trie_step(tokens.trie, node, uint8_t(text[at + n]));
        if (node == 0) break;
        n++;
        int32_t value = tokens.trie.nodes[node].value;
        if (value >= 0 && (with_control || !(value & 1))) best = {at, n, value >> 1};
    }
    return best;
}

added_match added_tokens_find(const added_tokens &tokens, std::string_view text, size_t from, bool with_control) {
    for (size_t at = from; at < text.size(); at++) {
        if (!tokens.starts[uint8_t(text[at])]) continue;
        added_match match = longest_at(tokens, text, at, with_control);
        if (match.id >= 0) return match;
    }
    return {text.size(), 0, -1};
}

} // namespace llm

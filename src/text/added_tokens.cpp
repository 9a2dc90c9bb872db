#include "text/added_tokens.h"
#include <algorithm>

namespace llm {

namespace {
struct pending { // a node whose tokens are [first, last) of the sorted list; they share their first `depth` bytes
    size_t first, last, depth;
};
} // namespace

void added_tokens_build(added_tokens *out, std::vector<added_token> tokens) {
    tokens.erase(std::remove_if(tokens.begin(), tokens.end(), [](const added_token &t) { return t.text.empty(); }),
                 tokens.end());
    if (tokens.empty()) return;
    std::stable_sort(tokens.begin(), tokens.end(),
                     [](const added_token &a, const added_token &b) { return a.text < b.text; });
    std::vector<pending> queue{{0, tokens.size(), 0}};
    out->nodes.push_back({});
    for (size_t i = 0; i < queue.size(); i++) { // breadth first, so queue[i] describes nodes[i]
        pending p = queue[i];
        added_tokens::node &node = out->nodes[i];
        for (; p.first < p.last && tokens[p.first].text.size() == p.depth; p.first++) {
            node.id = tokens[p.first].id;
            node.control = tokens[p.first].control;
        }
        node.first_edge = uint32_t(out->edges.size());
        while (p.first < p.last) {
            uint8_t byte = uint8_t(tokens[p.first].text[p.depth]);
            size_t next = p.first;
            while (next < p.last && uint8_t(tokens[next].text[p.depth]) == byte) next++;
            out->edges.push_back({byte, uint32_t(queue.size())});
            queue.push_back({p.first, next, p.depth + 1});
            p.first = next;
        }
        node.n_edges = uint32_t(out->edges.size()) - node.first_edge;
        out->nodes.resize(queue.size());
    }
    for (uint32_t i = 0; i < out->nodes[0].n_edges; i++) out->starts[out->edges[i].byte] = true;
}

static const added_tokens::node *child(const added_tokens &tokens, const added_tokens::node &node, uint8_t byte) {
    const added_tokens::edge *first = tokens.edges.data() + node.first_edge, *last = first + node.n_edges;
    const added_tokens::edge *found =
        std::lower_bound(first, last, byte, [](const added_tokens::edge &e, uint8_t b) { return e.byte < b; });
    return found != last && found->byte == byte ? &tokens.nodes[found->node] : nullptr;
}

static added_match longest_at(const added_tokens &tokens, std::string_view text, size_t at, bool with_control) {
    added_match best{at, 0, -1};
    const added_tokens::node *node = &tokens.nodes[0];
    for (size_t n = 0; at + n < text.size();) {
        node = child(tokens, *node, uint8_t(text[at + n]));
        if (!node) break;
        n++;
        if (node->id >= 0 && (with_control || !node->control)) best = {at, n, node->id};
    }
    return best;
}

added_match added_tokens_find(const added_tokens &tokens, std::string_view text, size_t from, bool with_control) {
    if (tokens.nodes.empty()) return {text.size(), 0, -1};
    for (size_t at = from; at < text.size(); at++) {
        if (!tokens.starts[uint8_t(text[at])]) continue;
        added_match match = longest_at(tokens, text, at, with_control);
        if (match.id >= 0) return match;
    }
    return {text.size(), 0, -1};
}

} // namespace llm

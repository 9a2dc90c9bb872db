#include "text/trie.h"
#include <algorithm>

namespace llm {

namespace {
struct pending { // a node whose entries are [first, last) of the sorted list; they share their first `depth` bytes
    size_t first, last, depth;
};
} // namespace

void trie_build(byte_trie *out, std::vector<trie_entry> entries) {
    entries.erase(std::remove_if(entries.begin(), entries.end(), [](const trie_entry &e) { return e.text.empty(); }),
                  entries.end());
    if (entries.empty()) return;
    std::stable_sort(entries.begin(), entries.end(),
                     [](const trie_entry &a, const trie_entry &b) { return a.text < b.text; });
    std::vector<pending> queue{{0, entries.size(), 0}};
    for (size_t i = 0; i < queue.size(); i++) {
        pending p = queue[i];
        trie_node node;
        for (; p.first < p.last && entries[p.first].text.size() == p.depth; p.first++)
            node.value = entries[p.first].value;
        node.first_label = uint32_t(out->labels.size());
        while (p.first < p.last) {
            uint8_t byte = uint8_t(entries[p.first].text[p.depth]);
            size_t next = p.first;
            while (next < p.last && uint8_t(entries[next].text[p.depth]) == byte) next++;
            out->labels.push_back(byte);
            queue.push_back({p.first, next, p.depth + 1});
            p.first = next;
        }
        node.n_labels = uint16_t(out->labels.size() - node.first_label);
        out->nodes.push_back(node);
    }
}

trie_match trie_longest(const byte_trie &trie, std::string_view text) {
    trie_match best{0, -1};
    if (trie.nodes.empty()) return best;
    uint32_t node = 0;
    for (size_t n = 0; n < text.size();) {
        node = trie_step(trie, node, uint8_t(text[n]));
        if (node == 0) break;
        n++;
        if (trie.nodes[node].value >= 0) best = {n, trie.nodes[node].value};
    }
    return best;
}

} // namespace llm

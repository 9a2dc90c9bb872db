// A trie over byte strings, built once. Nodes stand breadth first, so the children of a node are neighbours and the
// edge to child i of the whole trie is label i - 1: a step is one memchr over the labels of a node.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <string_view>
#include <vector>

namespace llm {

struct trie_node {
    uint32_t first_label = 0;
    uint16_t n_labels = 0;
    int32_t value = -1; // -1: no entry ends here
};
struct byte_trie {
    std::vector<trie_node> nodes; // [0] is the root; empty: no entries
    std::vector<uint8_t> labels;
};
struct trie_entry {
    std::string_view text;
    int32_t value; // >= 0
};
// Empty texts are left out; of equal texts the last one counts. The texts are not kept.
void trie_build(byte_trie *out, std::vector<trie_entry> entries);

// Index of the child of `node` under `byte`; 0: there is none.
inline uint32_t trie_step(const byte_trie &trie, uint32_t node, uint8_t byte) {
    const trie_node &n = trie.nodes[node];
    const uint8_t *first = trie.labels.data() + n.first_label;
    if (n.n_labels <= 4) { // the most of them; a call costs more
        for (uint32_t i = 0; i < n.n_labels; i++)
            if (first[i] == byte) return n.first_label + i + 1;
        return 0;
    }
    const void *found = memchr(first, byte, n.n_labels);
    return found ? uint32_t(static_cast<const uint8_t *>(found) - trie.labels.data()) + 1 : 0;
}

struct trie_match {
    size_t n; // bytes; 0: none
    int32_t value;
};
// The longest entry that `text` begins with.
trie_match trie_longest(const byte_trie &trie, std::string_view text);

} // namespace llm

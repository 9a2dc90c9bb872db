// Stop strings in a stream of bytes that comes in pieces of any size (Aho and Corasick, 1975).
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string>
#include <string_view>
#include <vector>

namespace llm {

// Holds back only bytes that may still become a stop: the longest end of the stream that begins one. Those bytes are
// the path to the automaton's state, so nothing is stored or allocated per piece. note: the first stop that is complete
// fires; of several that end with the same byte, the longest. Fed with whole UTF-8 characters, and with stops that are
// well-formed, it gives whole characters.
struct stop_matcher {
    struct node {
        int32_t first_child = -1, sibling = -1;
        int32_t fail = 0;   // the longest proper suffix of this path that is a path
        int32_t fires = -1; // index of the longest stop that this path ends with
        int32_t stop = 0;   // a stop whose first `depth` bytes are the path
        uint32_t depth = 0;
        uint8_t byte = 0;
    };
    std::vector<std::string> stops;
    std::vector<node> nodes; // [0] is the root
    int32_t state = 0;
    int32_t fired = -1;
};

void stop_matcher_init(stop_matcher *m, const std::string_view *stops, size_t n); // empty stops never fire
void stop_matcher_reset(stop_matcher *m); // for a new stream with the same stops

// Appends to *out the bytes that are certainly before any stop. Returns the index of the stop that fired, else -1.
// After that nothing is given out any more.
int32_t stop_matcher_add(stop_matcher *m, std::string_view bytes, std::string *out);
// The stream ended: what was held back is text.
void stop_matcher_finish(stop_matcher *m, std::string *out);

} // namespace llm

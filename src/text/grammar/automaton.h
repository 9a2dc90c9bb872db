// The compiled form of a grammar: places, and what leads on from each.
#pragma once
#include "text/grammar/expression.h"
#include "text/grammar/grammar.h"

namespace llm {

enum place_kind : uint8_t {
    PLACE_BYTE,  // a byte from low to high leads to `next`
    PLACE_SPLIT, // on at `next` and at `other`
    PLACE_CALL,  // on at the start of rule `other`, and at `next` when that returns
    PLACE_RETURN // the end of a rule
};
struct place {
    place_kind kind;
    uint8_t low, high;
    uint32_t next, other;
};

struct grammar {
    std::vector<place> places;
    std::vector<uint32_t> rule_start;
    uint32_t root = 0; // rule
};

constexpr size_t MAX_PLACES = 200000;

// Refuses rules that are not defined, that begin with themselves, and that no text can satisfy.
llm_status grammar_compile(const grammar_rules::rules *rules, grammar *out, llm_error *err);

} // namespace llm

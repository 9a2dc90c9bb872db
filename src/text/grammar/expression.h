// Grammars as they are written down: rules of expressions over characters. GBNF text and JSON schemas both become this;
// compile.cpp turns it into an automaton over bytes.
#pragma once
#include "core/status.h"
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace llm {
namespace grammar_rules {

struct expression;
using part = const expression *;

enum expression_kind : uint8_t { MATCH_BYTES, MATCH_CLASS, MATCH_SEQUENCE, MATCH_CHOICE, MATCH_REPEAT, MATCH_RULE };
constexpr uint32_t NO_MAXIMUM = UINT32_MAX;
using code_range = std::pair<uint32_t, uint32_t>; // inclusive

struct expression {
    expression_kind kind;
    std::string bytes;              // MATCH_BYTES
    std::vector<code_range> ranges; // MATCH_CLASS: sorted, apart from each other
    std::vector<part> parts;        // MATCH_SEQUENCE, MATCH_CHOICE; MATCH_REPEAT: one
    uint32_t least = 0, most = 0;   // MATCH_REPEAT
    uint32_t rule = 0;              // MATCH_RULE
};

struct rule {
    std::string name;
    part body = nullptr; // NULL: mentioned, not defined yet
};

struct rules {
    std::deque<expression> expressions;
    std::vector<rule> all;
    uint32_t root = 0;
};

part match_bytes(rules *g, std::string_view bytes);
part match_class(rules *g, std::vector<code_range> ranges, bool negated = false);
part match_sequence(rules *g, std::vector<part> parts);
part match_choice(rules *g, std::vector<part> parts);
part match_repeat(rules *g, part what, uint32_t least, uint32_t most);
part match_rule(rules *g, uint32_t rule);
inline part match_optional(rules *g, part what) { return match_repeat(g, what, 0, 1); }
inline part match_nothing(rules *g) { return match_bytes(g, ""); }

// GBNF text (gbnf.cpp). LLM_ERR_ARGUMENT: line, column and what is wrong.
llm_status parse_gbnf(std::string_view text, rules *out, llm_error *err);
// A JSON schema (schema.cpp). LLM_ERR_UNSUPPORTED names the keyword that cannot be enforced.
llm_status parse_schema(std::string_view json, rules *out, llm_error *err);

} // namespace grammar_rules
} // namespace llm

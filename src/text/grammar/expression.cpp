#include "text/grammar/expression.h"
#include <algorithm>

namespace llm {
namespace grammar_rules {

static expression *add(rules *g, expression_kind kind) {
    g->expressions.emplace_back();
    g->expressions.back().kind = kind;
    return &g->expressions.back();
}

part match_bytes(rules *g, std::string_view bytes) {
    expression *e = add(g, MATCH_BYTES);
    e->bytes = bytes;
    return e;
}

static void join_ranges(std::vector<code_range> *ranges) {
    std::sort(ranges->begin(), ranges->end());
    std::vector<code_range> joined;
    for (const code_range &r : *ranges) {
        if (!joined.empty() && r.first <= joined.back().second + 1)
            joined.back().second = std::max(joined.back().second, r.second);
        else
            joined.push_back(r);
    }
    ranges->swap(joined);
}

part match_class(rules *g, std::vector<code_range> ranges, bool negated) {
    expression *e = add(g, MATCH_CLASS);
    join_ranges(&ranges);
    if (negated) {
        uint32_t next = 0;
        for (const code_range &r : ranges) {
            if (r.first > next) e->ranges.push_back({next, r.first - 1});
            next = r.second + 1;
        }
        if (next <= 0x10FFFF) e->ranges.push_back({next, 0x10FFFF});
    } else {
        e->ranges = std::move(ranges);
    }
    return e;
}

part match_sequence(rules *g, std::vector<part> parts) {
    if (parts.size() == 1) return parts[0];
    expression *e = add(g, MATCH_SEQUENCE);
    e->parts = std::move(parts);
    return e;
}
part match_choice(rules *g, std::vector<part> parts) {
    if (parts.size() == 1) return parts[0];
    expression *e = add(g, MATCH_CHOICE);
    e->parts = std::move(parts);
    return e;
}
part match_repeat(rules *g, part what, uint32_t least, uint32_t most) {
    expression *e = add(g, MATCH_REPEAT);
    e->parts = {what};
    e->least = least;
    e->most = most;
    return e;
}
part match_rule(rules *g, uint32_t rule) {
    expression *e = add(g, MATCH_RULE);
    e->rule = rule;
    return e;
}

} // namespace grammar_rules
} // namespace llm

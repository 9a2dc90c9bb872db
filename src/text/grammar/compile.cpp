#include "text/grammar/automaton.h"
#include "text/utf8.h"
#include <algorithm>

namespace llm {

using namespace grammar_rules;

namespace {

// ---- what can be refused before compiling ----

struct checker {
    const rules *g;
    std::vector<uint8_t> nullable, productive; // per rule
};

bool is_nullable(const checker *c, part e) {
    switch (e->kind) {
    case MATCH_BYTES: return e->bytes.empty();
    case MATCH_CLASS: return false;
    case MATCH_RULE: return c->nullable[e->rule];
    case MATCH_REPEAT: return e->least == 0 || is_nullable(c, e->parts[0]);
    case MATCH_SEQUENCE:
        return std::all_of(e->parts.begin(), e->parts.end(), [c](part p) { return is_nullable(c, p); });
    default: return std::any_of(e->parts.begin(), e->parts.end(), [c](part p) { return is_nullable(c, p); });
    }
}
bool is_productive(const checker *c, part e) {
    switch (e->kind) {
    case MATCH_BYTES: return true;
    case MATCH_CLASS: return !e->ranges.empty();
    case MATCH_RULE: return c->productive[e->rule];
    case MATCH_REPEAT: return e->least == 0 || is_productive(c, e->parts[0]);
    case MATCH_SEQUENCE:
        return std::all_of(e->parts.begin(), e->parts.end(), [c](part p) { return is_productive(c, p); });
    default: return std::any_of(e->parts.begin(), e->parts.end(), [c](part p) { return is_productive(c, p); });
    }
}

// Rules that the expression may begin with.
void leading_rules(const checker *c, part e, std::vector<uint32_t> *out) {
    if (e->kind == MATCH_RULE) out->push_back(e->rule);
    for (part p : e->parts) {
        leading_rules(c, p, out);
        if (e->kind == MATCH_SEQUENCE && !is_nullable(c, p)) return;
    }
}

void settle(checker *c, std::vector<uint8_t> *flags, bool (*holds)(const checker *, part)) {
    flags->assign(c->g->all.size(), 0);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < flags->size(); i++)
            if (!(*flags)[i] && holds(c, c->g->all[i].body)) (*flags)[i] = changed = true;
    }
}

// A rule that begins with itself would call itself for ever without reading a byte. Depth first, without recursion.
llm_status check_left_recursion(const checker *c, llm_error *err) {
    const size_t n = c->g->all.size();
    std::vector<std::vector<uint32_t>> leads(n);
    for (size_t i = 0; i < n; i++) leading_rules(c, c->g->all[i].body, &leads[i]);
    std::vector<uint8_t> state(n, 0); // 1: on the path, 2: done
    std::vector<std::pair<uint32_t, size_t>> path;
    for (uint32_t start = 0; start < n; start++) {
        if (state[start]) continue;
        path.push_back({start, 0});
        state[start] = 1;
        while (!path.empty()) {
            const uint32_t at = path.back().first;
            if (path.back().second == leads[at].size()) {
                state[at] = 2;
                path.pop_back();
                continue;
            }
            const uint32_t next = leads[at][path.back().second++];
            if (state[next] == 1)
                return fail(err, LLM_ERR_ARGUMENT, "rule \"%s\" of the grammar begins with itself (left recursion)",
                            c->g->all[next].name.c_str());
            if (state[next] == 0) {
                state[next] = 1;
                path.push_back({next, 0});
            }
        }
    }
    return LLM_OK;
}

llm_status check_rules(const rules *g, llm_error *err) {
    for (const rule &r : g->all)
        if (!r.body) return fail(err, LLM_ERR_ARGUMENT, "rule \"%s\" of the grammar is not defined", r.name.c_str());
    checker c = {g, {}, {}};
    settle(&c, &c.nullable, is_nullable);
    LLM_TRY(check_left_recursion(&c, err));
    settle(&c, &c.productive, is_productive);
    if (c.productive[g->root]) return LLM_OK;
    return fail(err, LLM_ERR_ARGUMENT, "no text satisfies rule \"%s\" of the grammar", g->all[g->root].name.c_str());
}

// ---- compiling ----

// Places are made from the end: each function gets the place that follows and returns the one to begin at. The depth of
// expressions is bounded by their parsers.
struct compiler {
    grammar *out;
    bool full = false;
};

uint32_t new_place(compiler *c, const place &p) {
    if (c->out->places.size() >= MAX_PLACES)
        c->full = true;
    else
        c->out->places.push_back(p);
    return (uint32_t)c->out->places.size() - 1;
}
uint32_t byte_place(compiler *c, uint8_t low, uint8_t high, uint32_t next) {
    return new_place(c, {PLACE_BYTE, low, high, next, 0});
}
uint32_t split_place(compiler *c, uint32_t next, uint32_t other) {
    return new_place(c, {PLACE_SPLIT, 0, 0, next, other});
}

// Characters low .. high as UTF-8: cut so that each piece is a sequence of independent byte ranges (Thompson's method
// as in RE2).
void range_places(compiler *c, uint32_t low, uint32_t high, uint32_t next, std::vector<uint32_t> *starts) {
    static const uint32_t limits[] = {0x7F, 0x7FF, 0xFFFF};
    for (uint32_t limit : limits)
        if (low <= limit && high > limit) {
            range_places(c, low, limit, next, starts);
            return range_places(c, limit + 1, high, next, starts);
        }
    std::string first, last;
    utf8_append(&first, low);
    utf8_append(&last, high);
    for (size_t i = 1; i < first.size(); i++) {
        const uint32_t mask = (1u << 6 * i) - 1; // the last i bytes
        if ((low & ~mask) == (high & ~mask)) continue;
        if (low & mask) {
            range_places(c, low, low | mask, next, starts);
            return range_places(c, (low | mask) + 1, high, next, starts);
        }
        if ((high & mask) != mask) {
            range_places(c, low, (high & ~mask) - 1, next, starts);
            return range_places(c, high & ~mask, high, next, starts);
        }
    }
    uint32_t at = next;
    for (size_t i = first.size(); i-- > 0;) at = byte_place(c, (uint8_t)first[i], (uint8_t)last[i], at);
    starts->push_back(at);
}

uint32_t any_of(compiler *c, const std::vector<uint32_t> &starts) {
    uint32_t at = starts.back();
    for (size_t i = starts.size() - 1; i-- > 0;) at = split_place(c, starts[i], at);
    return at;
}

uint32_t class_places(compiler *c, part e, uint32_t next) {
    std::vector<uint32_t> starts;
    for (code_range r : e->ranges) {
        // Surrogates are no characters.
        if (r.first < 0xD800 && r.second > 0xDFFF) {
            range_places(c, r.first, 0xD7FF, next, &starts);
            r.first = 0xE000;
        }
        if (r.first >= 0xD800 && r.first <= 0xDFFF) r.first = 0xE000;
        if (r.second >= 0xD800 && r.second <= 0xDFFF) r.second = 0xD7FF;
        if (r.first <= r.second) range_places(c, r.first, r.second, next, &starts);
    }
    if (starts.empty()) return byte_place(c, 1, 0, next); // nothing fits
    return any_of(c, starts);
}

uint32_t places_of(compiler *c, part e, uint32_t next);

uint32_t repeat_places(compiler *c, part e, uint32_t next) {
    const part what = e->parts[0];
    uint32_t at = next;
    if (e->most == NO_MAXIMUM) {
        const uint32_t loop = split_place(c, 0, next);
        const uint32_t body = places_of(c, what, loop);
        if (!c->full) c->out->places[loop].next = body;
        at = loop;
    } else {
        for (uint32_t i = e->least; i < e->most && !c->full; i++) at = split_place(c, places_of(c, what, at), next);
    }
    for (uint32_t i = 0; i < e->least && !c->full; i++) at = places_of(c, what, at);
    return at;
}

uint32_t places_of(compiler *c, part e, uint32_t next) {
    if (c->full) return next;
    uint32_t at = next;
    std::vector<uint32_t> starts;
    switch (e->kind) {
    case MATCH_BYTES:
        for (size_t i = e->bytes.size(); i-- > 0;) at = byte_place(c, (uint8_t)e->bytes[i], (uint8_t)e->bytes[i], at);
        return at;
    case MATCH_CLASS: return class_places(c, e, next);
    case MATCH_SEQUENCE:
        for (size_t i = e->parts.size(); i-- > 0;) at = places_of(c, e->parts[i], at);
        return at;
    case MATCH_CHOICE:
        for (part p : e->parts) starts.push_back(places_of(c, p, next));
        return any_of(c, starts);
    case MATCH_REPEAT: return repeat_places(c, e, next);
    default: return new_place(c, {PLACE_CALL, 0, 0, next, e->rule});
    }
}

} // namespace

llm_status grammar_compile(const rules *g, grammar *out, llm_error *err) {
    LLM_TRY(check_rules(g, err));
    compiler c = {out};
    out->root = g->root;
    for (const rule &r : g->all) {
        const uint32_t end = new_place(&c, {PLACE_RETURN, 0, 0, 0, 0});
        out->rule_start.push_back(places_of(&c, r.body, end));
        if (c.full)
            return fail(err, LLM_ERR_ARGUMENT, "the grammar has more than %zu places; its repetitions are too large",
                        MAX_PLACES);
    }
    return LLM_OK;
}

static llm_status finish(const rules *g, grammar_handle *out, llm_error *err) {
    grammar_handle made(new grammar);
    LLM_TRY(grammar_compile(g, made.get(), err));
    *out = std::move(made);
    return LLM_OK;
}

llm_status grammar_from_gbnf(std::string_view text, grammar_handle *out, llm_error *err) {
    rules g;
    LLM_TRY(parse_gbnf(text, &g, err));
    return finish(&g, out, err);
}
llm_status grammar_from_schema(std::string_view json, grammar_handle *out, llm_error *err) {
    rules g;
    LLM_TRY(parse_schema(json, &g, err));
    return finish(&g, out, err);
}

void grammar_free::operator()(grammar *g) const { delete g; }

} // namespace llm

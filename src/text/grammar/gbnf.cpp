// GBNF, the grammar notation of llama.cpp (its grammars/README.md describes it): name ::= expression, one rule a line
// except inside parentheses and after a bar; "literal", [class], [^class], ., (group), a | b, a* a+ a? a{2} a{2,}
// a{2,4}, # comment.
#include "text/grammar/expression.h"
#include "text/utf8.h"
#include <map>
#include <string.h>

namespace llm {
namespace grammar_rules {

namespace {

constexpr int MAX_GROUPS = 64;          // parentheses in parentheses
constexpr uint32_t MAX_REPEAT = 100000; // of {m,n}

struct gbnf_parser {
    std::string_view text;
    rules *g;
    llm_error *err;
    size_t at = 0;
    int depth = 0;
    std::map<std::string, uint32_t> rule_of;
};

llm_status refuse(const gbnf_parser *p, size_t at, const char *what) {
    size_t line = 1, start = 0;
    for (size_t i = 0; i < at && i < p->text.size(); i++)
        if (p->text[i] == '\n') {
            line++;
            start = i + 1;
        }
    return fail(p->err, LLM_ERR_ARGUMENT, "grammar, line %zu, column %zu: %s", line, at - start + 1, what);
}

char peek(const gbnf_parser *p) { return p->at < p->text.size() ? p->text[p->at] : 0; }
bool ends(const gbnf_parser *p) { return p->at >= p->text.size(); }
bool in_name(char c) { return isalnum((unsigned char)c) || c == '-' || c == '_'; }

// White space and comments; line ends too where a rule goes on.
void skip_space(gbnf_parser *p, bool lines) {
    while (!ends(p)) {
        const char c = peek(p);
        if (c == '#') {
            while (!ends(p) && peek(p) != '\n' && peek(p) != '\r') p->at++;
        } else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r'))) {
            p->at++;
        } else {
            return;
        }
    }
}

uint32_t rule_number(gbnf_parser *p, const std::string &name) {
    auto found = p->rule_of.find(name);
    if (found != p->rule_of.end()) return found->second;
    p->g->all.push_back({name, nullptr});
    return p->rule_of[name] = (uint32_t)p->g->all.size() - 1;
}

std::string take_name(gbnf_parser *p) {
    const size_t begin = p->at;
    while (in_name(peek(p))) p->at++;
    return std::string(p->text.substr(begin, p->at - begin));
}

// One character of a literal or class, escapes resolved.
llm_status take_character(gbnf_parser *p, uint32_t *out) {
    const size_t begin = p->at;
    const utf8_char c = utf8_next(p->text.data() + p->at, p->text.data() + p->text.size());
    if (!c.well_formed) return refuse(p, begin, "the grammar is not UTF-8 here");
    p->at += c.n;
    *out = c.code;
    if (c.code != '\\') return LLM_OK;
    const char kind = peek(p);
    p->at++;
    static const char letters[] = "nrt\\\"[]-^/'", meanings[] = "\n\r\t\\\"[]-^/'";
    if (const char *found = kind ? strchr(letters, kind) : nullptr) {
        *out = (uint8_t)meanings[found - letters];
        return LLM_OK;
    }
    const size_t n_digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    if (!n_digits) return refuse(p, begin, "unknown escape");
    *out = 0;
    for (size_t i = 0; i < n_digits; i++, p->at++) {
        const char d = peek(p);
        if (!isxdigit((unsigned char)d)) return refuse(p, begin, "an escape has too few digits");
        *out = *out * 16 + (uint32_t)(d <= '9' ? d - '0' : (d | 32) - 'a' + 10);
    }
    if (*out > 0x10FFFF || (*out >= 0xD800 && *out <= 0xDFFF)) return refuse(p, begin, "an escape is no character");
    return LLM_OK;
}

llm_status parse_literal(gbnf_parser *p, part *out) {
    const size_t begin = p->at++;
    std::string bytes;
    while (peek(p) != '"') {
        uint32_t code;
        if (ends(p) || peek(p) == '\n') return refuse(p, begin, "the literal does not end");
        LLM_TRY(take_character(p, &code));
        utf8_append(&bytes, code);
    }
    p->at++;
    *out = match_bytes(p->g, bytes);
    return LLM_OK;
}

llm_status parse_class(gbnf_parser *p, part *out) {
    const size_t begin = p->at++;
    std::vector<code_range> ranges;
    const bool negated = peek(p) == '^';
    if (negated) p->at++;
    while (peek(p) != ']') {
        uint32_t low, high;
        if (ends(p) || peek(p) == '\n') return refuse(p, begin, "the class does not end");
        LLM_TRY(take_character(p, &low));
        high = low;
        if (peek(p) == '-' && p->at + 1 < p->text.size() && p->text[p->at + 1] != ']') {
            p->at++;
            LLM_TRY(take_character(p, &high));
        }
        if (high < low) return refuse(p, begin, "a range of the class ends before it begins");
        ranges.push_back({low, high});
    }
    p->at++;
    *out = match_class(p->g, std::move(ranges), negated);
    return LLM_OK;
}

llm_status parse_choice(gbnf_parser *p, bool nested, part *out);

llm_status parse_group(gbnf_parser *p, part *out) {
    const size_t begin = p->at++;
    if (++p->depth > MAX_GROUPS) return refuse(p, begin, "groups are nested too deeply");
    LLM_TRY(parse_choice(p, true, out));
    skip_space(p, true);
    if (peek(p) != ')') return refuse(p, begin, "the group does not end");
    p->at++;
    p->depth--;
    return LLM_OK;
}

bool take_number(gbnf_parser *p, uint32_t *out) {
    const size_t begin = p->at;
    *out = 0;
    for (; isdigit((unsigned char)peek(p)) && *out <= MAX_REPEAT; p->at++) *out = *out * 10 + (uint32_t)(peek(p) - '0');
    return p->at > begin;
}

// {m}, {m,}, {m,n}, {,n}
llm_status parse_counts(gbnf_parser *p, uint32_t *least, uint32_t *most) {
    const size_t begin = p->at++;
    skip_space(p, false);
    const bool has_least = take_number(p, least);
    skip_space(p, false);
    *most = *least;
    bool ok = has_least;
    if (peek(p) == ',') {
        p->at++;
        skip_space(p, false);
        const bool has_most = take_number(p, most);
        if (!has_most) *most = NO_MAXIMUM;
        ok = has_least || has_most;
        skip_space(p, false);
    }
    if (!ok || peek(p) != '}') return refuse(p, begin, "a repetition is {m}, {m,} or {m,n}");
    p->at++;
    if (*least > MAX_REPEAT || (*most != NO_MAXIMUM && *most > MAX_REPEAT))
        return refuse(p, begin, "more than 100000 repetitions");
    return *most < *least ? refuse(p, begin, "a repetition has a larger minimum than maximum") : LLM_OK;
}

llm_status parse_repeats(gbnf_parser *p, part *item) {
    for (;;) {
        uint32_t least = 0, most = NO_MAXIMUM;
        const char c = peek(p);
        if (c != '*' && c != '+' && c != '?' && c != '{') return LLM_OK;
        if (c == '{') {
            LLM_TRY(parse_counts(p, &least, &most));
        } else {
            p->at++;
            least = c == '+';
            if (c == '?') most = 1;
        }
        *item = match_repeat(p->g, *item, least, most);
        skip_space(p, p->depth > 0);
    }
}

// Is what follows the name of the next rule?
bool at_definition(gbnf_parser *p) {
    const size_t before = p->at;
    take_name(p);
    skip_space(p, false);
    const bool found = p->text.substr(p->at, 3) == "::=";
    p->at = before;
    return found;
}

llm_status parse_item(gbnf_parser *p, part *out, bool *found) {
    const char c = peek(p);
    *found = true;
    if (c == '"') return parse_literal(p, out);
    if (c == '[') return parse_class(p, out);
    if (c == '(') return parse_group(p, out);
    if (c == '.') {
        p->at++;
        *out = match_class(p->g, {{0, 0x10FFFF}});
        return LLM_OK;
    }
    if (in_name(c) && !at_definition(p)) {
        *out = match_rule(p->g, rule_number(p, take_name(p)));
        return LLM_OK;
    }
    *found = false;
    return LLM_OK;
}

llm_status parse_sequence(gbnf_parser *p, bool nested, part *out) {
    std::vector<part> parts;
    for (;;) {
        part item = nullptr;
        bool found;
        skip_space(p, nested);
        LLM_TRY(parse_item(p, &item, &found));
        if (!found) break;
        skip_space(p, nested);
        LLM_TRY(parse_repeats(p, &item));
        parts.push_back(item);
    }
    *out = parts.empty() ? match_nothing(p->g) : match_sequence(p->g, std::move(parts));
    return LLM_OK;
}

llm_status parse_choice(gbnf_parser *p, bool nested, part *out) {
    std::vector<part> choices(1);
    LLM_TRY(parse_sequence(p, nested, &choices[0]));
    for (;;) {
        skip_space(p, nested);
        if (peek(p) != '|') break;
        p->at++;
        skip_space(p, true); // a bar at the end of a line goes on in the next
        choices.push_back(nullptr);
        LLM_TRY(parse_sequence(p, nested, &choices.back()));
    }
    *out = match_choice(p->g, std::move(choices));
    return LLM_OK;
}

llm_status parse_definition(gbnf_parser *p) {
    const size_t begin = p->at;
    const std::string name = take_name(p);
    if (name.empty()) return refuse(p, begin, "the name of a rule is expected");
    skip_space(p, false);
    if (p->text.substr(p->at, 3) != "::=") return refuse(p, p->at, "\"::=\" is expected after the name of a rule");
    p->at += 3;
    skip_space(p, true);
    part body;
    LLM_TRY(parse_choice(p, false, &body));
    const char c = peek(p);
    if (!ends(p) && c != '\n' && c != '\r' && !(in_name(c) && at_definition(p)))
        return refuse(p, p->at, "something is expected that can be matched");
    p->g->all[rule_number(p, name)].body = body;
    return LLM_OK;
}

} // namespace

llm_status parse_gbnf(std::string_view text, rules *out, llm_error *err) {
    gbnf_parser p = {text, out, err, 0, 0, {}};
    for (skip_space(&p, true); !ends(&p); skip_space(&p, true)) LLM_TRY(parse_definition(&p));
    auto root = p.rule_of.find("root");
    if (root == p.rule_of.end()) return fail(err, LLM_ERR_ARGUMENT, "the grammar has no rule \"root\"");
    out->root = root->second;
    return LLM_OK;
}

} // namespace grammar_rules
} // namespace llm

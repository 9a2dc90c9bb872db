// Regular expressions of `pattern`, over the characters of a string as JSON writes them: ECMA-262 without look-around,
// back references, word boundaries and property classes, which are refused by name.
#include "text/grammar/schema.h"
#include "text/utf8.h"
#include <string.h>

namespace llm {
namespace grammar_rules {

namespace {

constexpr int MAX_PATTERN_DEPTH = 32;
using ranges = std::vector<code_range>;

struct pattern_parser {
    schema_compiler *c;
    std::string_view text;
    size_t at = 0;
    int depth = 0;
};

llm_status refuse(pattern_parser *p, const char *what) {
    return refuse_schema(p->c, LLM_ERR_UNSUPPORTED, "schema: \"pattern\" at character %zu: %s", p->at + 1, what);
}
char peek(const pattern_parser *p) { return p->at < p->text.size() ? p->text[p->at] : 0; }

uint32_t take_code(pattern_parser *p) {
    const utf8_char ch = utf8_next(p->text.data() + p->at, p->text.data() + p->text.size());
    p->at += ch.n ? ch.n : 1;
    return ch.code;
}

void complement(ranges *r, const ranges &of) {
    uint32_t next = 0;
    for (const code_range &x : of) {
        if (x.first > next) r->push_back({next, x.first - 1});
        next = x.second + 1;
    }
    r->push_back({next, 0x10FFFF});
}

bool class_of_letter(char letter, ranges *out) {
    static const ranges digits = {{'0', '9'}}, words = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
    static const ranges spaces = {{9, 13},          {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680},
                                  {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
                                  {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
    const ranges *known = strchr("dD", letter)   ? &digits
                          : strchr("wW", letter) ? &words
                          : strchr("sS", letter) ? &spaces
                                                 : nullptr;
    if (!known) return false;
    if (letter < 'a')
        complement(out, *known);
    else
        out->insert(out->end(), known->begin(), known->end());
    return true;
}

llm_status take_hex(pattern_parser *p, int n, uint32_t *code) {
    *code = 0;
    for (int i = 0; i < n; i++, p->at++) {
        const char d = peek(p);
        if (!isxdigit((unsigned char)d)) return refuse(p, "an escape has too few digits");
        *code = *code * 16 + (uint32_t)(d <= '9' ? d - '0' : (d | 32) - 'a' + 10);
    }
    return LLM_OK;
}

// After a backslash: the characters it stands for.
llm_status take_escape(pattern_parser *p, bool in_class, ranges *out) {
    const char letter = peek(p);
    static const char letters[] = "nrtfv0", codes[] = "\n\r\t\f\v\0";
    uint32_t code;
    p->at++;
    if (letter == 0) return refuse(p, "the pattern ends with a backslash");
    if (letter != 0 && class_of_letter(letter, out)) return LLM_OK;
    if (const char *found = strchr(letters, letter))
        code = (uint8_t)codes[found - letters];
    else if (letter == 'x')
        LLM_TRY(take_hex(p, 2, &code));
    else if (letter == 'u')
        LLM_TRY(take_hex(p, 4, &code));
    else if (letter == 'b' && in_class)
        code = 8;
    else if (isalnum((unsigned char)letter))
        return refuse(p, letter == 'b' || letter == 'B' ? "\\b and \\B cannot be enforced"
                                                        : "this escape cannot be enforced");
    else {
        p->at--;
        code = take_code(p);
    }
    out->push_back({code, code});
    return LLM_OK;
}

llm_status parse_class(pattern_parser *p, part *out) {
    ranges all;
    p->at++;
    const bool negated = peek(p) == '^';
    if (negated) p->at++;
    while (peek(p) != ']') {
        if (p->at >= p->text.size()) return refuse(p, "the class does not end");
        ranges low, high;
        auto take = [p](ranges *r) {
            if (peek(p) == '\\') return p->at++, take_escape(p, true, r);
            const uint32_t code = take_code(p);
            r->push_back({code, code});
            return LLM_OK;
        };
        LLM_TRY(take(&low));
        const bool single = low.size() == 1 && low[0].first == low[0].second;
        if (single && peek(p) == '-' && p->at + 1 < p->text.size() && p->text[p->at + 1] != ']') {
            p->at++;
            LLM_TRY(take(&high));
            if (high.size() != 1 || high[0].first != high[0].second || high[0].first < low[0].first)
                return refuse(p, "a range of the class is wrong");
            low[0].second = high[0].first;
        }
        all.insert(all.end(), low.begin(), low.end());
    }
    p->at++;
    *out = encoded_class(p->c, all, negated);
    return LLM_OK;
}

llm_status parse_choice(pattern_parser *p, bool top, part *out);

llm_status parse_group(pattern_parser *p, part *out) {
    p->at++;
    if (++p->depth > MAX_PATTERN_DEPTH) return refuse(p, "groups are nested too deeply");
    if (peek(p) == '?') {
        p->at++;
        if (peek(p) == '<' && p->at + 1 < p->text.size() && p->text[p->at + 1] != '=' && p->text[p->at + 1] != '!') {
            while (p->at < p->text.size() && peek(p) != '>') p->at++;
        } else if (peek(p) != ':') {
            return refuse(p, "look-around cannot be enforced");
        }
        p->at++;
    }
    LLM_TRY(parse_choice(p, false, out));
    if (peek(p) != ')') return refuse(p, "a group does not end");
    p->at++;
    p->depth--;
    return LLM_OK;
}

llm_status parse_item(pattern_parser *p, part *out) {
    const char ch = peek(p);
    ranges all;
    if (ch == '(') return parse_group(p, out);
    if (ch == '[') return parse_class(p, out);
    if (ch == '^' || ch == '$') return refuse(p, "^ and $ are possible at the ends only");
    if (ch == '*' || ch == '+' || ch == '?') return refuse(p, "there is nothing to repeat");
    if (ch == '.') {
        p->at++;
        *out = encoded_class(p->c, {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}, true);
        return LLM_OK;
    }
    if (ch == '\\') {
        p->at++;
        LLM_TRY(take_escape(p, false, &all));
    } else {
        const uint32_t code = take_code(p);
        all.push_back({code, code});
    }
    *out = encoded_class(p->c, all, false);
    return LLM_OK;
}

bool take_number(pattern_parser *p, uint32_t *out) {
    const size_t begin = p->at;
    for (*out = 0; isdigit((unsigned char)peek(p)) && *out < 100000; p->at++)
        *out = *out * 10 + (uint32_t)(peek(p) - '0');
    return p->at > begin;
}

llm_status parse_repeat(pattern_parser *p, part *item) {
    uint32_t least = 0, most = NO_MAXIMUM;
    const char ch = peek(p);
    if (ch == '{') {
        const size_t before = p->at++;
        const bool has = take_number(p, &least);
        most = least;
        if (has && peek(p) == ',') {
            p->at++;
            if (!take_number(p, &most)) most = NO_MAXIMUM;
        }
        if (!has || peek(p) != '}') return p->at = before, refuse(p, "a repetition is {m}, {m,} or {m,n}");
    } else if (ch == '*' || ch == '+' || ch == '?') {
        least = ch == '+';
        if (ch == '?') most = 1;
    } else {
        return LLM_OK;
    }
    p->at++;
    if (peek(p) == '?') p->at++; // what is matched is the same, greedy or not
    if (most < least || least >= 100000) return refuse(p, "a repetition is wrong");
    *item = match_repeat(p->c->g, *item, least, most);
    return LLM_OK;
}

// Only at the top: without ^ or $ the pattern may be found anywhere.
llm_status parse_sequence(pattern_parser *p, bool top, part *out) {
    std::vector<part> parts;
    const part anything = match_repeat(p->c->g, match_rule(p->c->g, p->c->character), 0, NO_MAXIMUM);
    if (top && peek(p) != '^') parts.push_back(anything);
    if (top && peek(p) == '^') p->at++;
    bool end = false;
    while (p->at < p->text.size() && peek(p) != '|' && peek(p) != ')') {
        if (top && peek(p) == '$' && (p->at + 1 == p->text.size() || p->text[p->at + 1] == '|')) {
            p->at++;
            end = true;
            break;
        }
        part item = nullptr;
        LLM_TRY(parse_item(p, &item));
        LLM_TRY(parse_repeat(p, &item));
        parts.push_back(item);
    }
    if (top && !end) parts.push_back(anything);
    *out = parts.empty() ? match_nothing(p->c->g) : match_sequence(p->c->g, parts);
    return LLM_OK;
}

llm_status parse_choice(pattern_parser *p, bool top, part *out) {
    std::vector<part> choices(1);
    LLM_TRY(parse_sequence(p, top, &choices[0]));
    while (peek(p) == '|') {
        p->at++;
        choices.push_back(nullptr);
        LLM_TRY(parse_sequence(p, top, &choices.back()));
    }
    *out = match_choice(p->c->g, choices);
    return LLM_OK;
}

} // namespace

llm_status pattern_part(schema_compiler *c, std::string_view pattern, part *out) {
    pattern_parser p = {c, pattern};
    LLM_TRY(parse_choice(&p, true, out));
    return p.at == pattern.size() ? LLM_OK : refuse(&p, "a group ends that has not begun");
}

} // namespace grammar_rules
} // namespace llm

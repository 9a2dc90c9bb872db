// Numbers and strings of a schema.
#include "text/grammar/schema.h"
#include "text/utf8.h"
#include <algorithm>
#include <math.h>
#include <string.h>

namespace llm {
namespace grammar_rules {

namespace {

// Digits of an integer: doubles keep 15, and models have been seen to write zeros for ever.
constexpr uint32_t MAX_DIGITS = 16;

part digits(schema_compiler *c, uint32_t least, uint32_t most) {
    return match_repeat(c->g, match_class(c->g, {{'0', '9'}}), least, most);
}
part bytes(schema_compiler *c, std::string_view s) { return match_bytes(c->g, s); }
part digit(schema_compiler *c, char low, char high) { return match_class(c->g, {{(uint32_t)low, (uint32_t)high}}); }

// Numbers of equal length between two, as a choice over the first place where they differ.
part digits_between(schema_compiler *c, const std::string &low, const std::string &high, size_t at) {
    const uint32_t rest = (uint32_t)(low.size() - at - 1);
    if (at == low.size()) return bytes(c, "");
    const bool lowest = low.find_first_not_of('0', at) == std::string::npos;
    const bool highest = high.find_first_not_of('9', at) == std::string::npos;
    if (lowest && highest) return digits(c, rest + 1, rest + 1);
    if (low[at] == high[at])
        return match_sequence(c->g, {bytes(c, low.substr(at, 1)), digits_between(c, low, high, at + 1)});
    std::vector<part> choices;
    const std::string nines(low.size(), '9'), zeros(low.size(), '0');
    choices.push_back(match_sequence(c->g, {bytes(c, low.substr(at, 1)), digits_between(c, low, nines, at + 1)}));
    if (low[at] + 1 < high[at])
        choices.push_back(
            match_sequence(c->g, {digit(c, char(low[at] + 1), char(high[at] - 1)), digits(c, rest, rest)}));
    choices.push_back(match_sequence(c->g, {bytes(c, high.substr(at, 1)), digits_between(c, zeros, high, at + 1)}));
    return match_choice(c->g, choices);
}

// low .. high, both not negative; high < 0: no limit but the digits.
part natural_between(schema_compiler *c, int64_t low, int64_t high) {
    std::vector<part> choices;
    const std::string first = std::to_string(low),
                      last = high < 0 ? std::string(MAX_DIGITS, '9') : std::to_string(high);
    for (size_t n = first.size(); n <= last.size() && n <= 19; n++) {
        const std::string from = n == first.size() ? first : "1" + std::string(n - 1, '0');
        const std::string to = n == last.size() ? last : std::string(n, '9');
        choices.push_back(digits_between(c, from, to, 0));
    }
    return match_choice(c->g, choices);
}

struct bounds {
    bool has_low = false, has_high = false;
    int64_t low = 0, high = 0;
};

part integer_between(schema_compiler *c, const bounds &b) {
    std::vector<part> choices;
    if (!b.has_high || b.high >= 0)
        choices.push_back(natural_between(c, b.has_low ? std::max<int64_t>(b.low, 0) : 0, b.has_high ? b.high : -1));
    if (!b.has_low || b.low < 0) {
        const int64_t nearest = b.has_high && b.high < 0 ? -b.high : 1;
        choices.push_back(match_sequence(c->g, {bytes(c, "-"), natural_between(c, nearest, b.has_low ? -b.low : -1)}));
    }
    return match_choice(c->g, choices);
}

// One bound, as an integer that integers are held against: ceil for a minimum, floor for a maximum.
llm_status read_bound(schema_compiler *c, const json &schema, const char *plain, const char *exclusive, bool low,
                      bool whole_only, bool *has, int64_t *out) {
    for (const char *name : {plain, exclusive}) {
        const json *v = member(schema, name);
        if (!v || (name == exclusive && v->type == jinja::BOOL && !v->b)) continue;
        if (!jinja::is_number(*v) || v->type == jinja::BOOL)
            return refuse_schema(c, LLM_ERR_ARGUMENT, "schema: \"%s\" must be a number", name);
        const double f = jinja::number_of(*v), whole = low ? ceil(f) : floor(f);
        if (!(fabs(f) < 1e15))
            return refuse_schema(c, LLM_ERR_UNSUPPORTED, "schema: \"%s\" beyond 10^15 cannot be enforced", name);
        if (whole_only && (whole != f || name == exclusive))
            return refuse_schema(c, LLM_ERR_UNSUPPORTED,
                                 "schema: \"%s\" of a number that is no integer cannot be enforced unless it is an "
                                 "inclusive whole number",
                                 name);
        int64_t bound = (int64_t)whole;
        if (name == exclusive && whole == f) bound += low ? 1 : -1;
        *out = !*has ? bound : low ? std::max(*out, bound) : std::min(*out, bound);
        *has = true;
    }
    return LLM_OK;
}

llm_status read_bounds(schema_compiler *c, const json &schema, bool whole_only, bounds *out) {
    LLM_TRY(read_bound(c, schema, "minimum", "exclusiveMinimum", true, whole_only, &out->has_low, &out->low));
    LLM_TRY(read_bound(c, schema, "maximum", "exclusiveMaximum", false, whole_only, &out->has_high, &out->high));
    if (out->has_low && out->has_high && out->low > out->high)
        return refuse_schema(c, LLM_ERR_ARGUMENT, "schema: no number lies between its minimum and its maximum");
    return LLM_OK;
}

llm_status refuse_multiple(schema_compiler *c, const json &schema, bool integer) {
    const json *v = member(schema, "multipleOf");
    if (!v || (integer && jinja::is_number(*v) && jinja::number_of(*v) == 1)) return LLM_OK;
    return refuse_schema(c, LLM_ERR_UNSUPPORTED, "schema: \"multipleOf\" cannot be enforced");
}

} // namespace

llm_status integer_part(schema_compiler *c, const json &schema, part *out) {
    bounds b;
    LLM_TRY(refuse_multiple(c, schema, true));
    LLM_TRY(read_bounds(c, schema, false, &b));
    *out = integer_between(c, b);
    return LLM_OK;
}

// With bounds: integers below the upper one with any fraction, and the upper one itself; no exponent then.
static part natural_number_between(schema_compiler *c, int64_t low, bool has_high, int64_t high) {
    const part fraction = match_optional(c->g, match_sequence(c->g, {bytes(c, "."), digits(c, 1, MAX_DIGITS)}));
    if (!has_high) return match_sequence(c->g, {natural_between(c, low, -1), fraction});
    const part zeros =
        match_optional(c->g, match_sequence(c->g, {bytes(c, "."), match_repeat(c->g, bytes(c, "0"), 1, MAX_DIGITS)}));
    const part last = match_sequence(c->g, {bytes(c, std::to_string(high)), zeros});
    if (low == high) return last;
    return match_choice(c->g, {match_sequence(c->g, {natural_between(c, low, high - 1), fraction}), last});
}

llm_status number_part(schema_compiler *c, const json &schema, part *out) {
    bounds b;
    LLM_TRY(refuse_multiple(c, schema, false));
    LLM_TRY(read_bounds(c, schema, true, &b));
    std::vector<part> choices;
    if (!b.has_low && !b.has_high) {
        const part fraction = match_optional(c->g, match_sequence(c->g, {bytes(c, "."), digits(c, 1, MAX_DIGITS)}));
        const part sign = match_optional(c->g, match_class(c->g, {{'+', '+'}, {'-', '-'}}));
        const part exponent = match_optional(
            c->g, match_sequence(c->g, {match_class(c->g, {{'e', 'e'}, {'E', 'E'}}), sign, digits(c, 1, 3)}));
        *out =
            match_sequence(c->g, {match_optional(c->g, bytes(c, "-")), natural_between(c, 0, -1), fraction, exponent});
        return LLM_OK;
    }
    if (!b.has_high || b.high >= 0)
        choices.push_back(natural_number_between(c, b.has_low ? std::max<int64_t>(b.low, 0) : 0, b.has_high, b.high));
    if (!b.has_low || b.low < 0)
        choices.push_back(match_sequence(
            c->g,
            {bytes(c, "-"), natural_number_between(c, b.has_high && b.high < 0 ? -b.high : 0, b.has_low, -b.low)}));
    *out = match_choice(c->g, choices);
    return LLM_OK;
}

// ---- strings ----

namespace {

const char short_letters[] = "\"\\/bfnrt", short_codes[] = "\"\\/\b\f\n\r\t";

} // namespace

part encoded_class(schema_compiler *c, std::vector<code_range> ranges, bool negated) {
    const part wanted = match_class(c->g, std::move(ranges), negated); // sorted, complemented
    std::vector<code_range> plain;
    std::vector<part> choices;
    for (const code_range &r : wanted->ranges) {
        // In a string, quotation mark, backslash and controls are written as escapes.
        uint32_t from = std::max<uint32_t>(r.first, 0x20);
        for (uint32_t special : {(uint32_t)'"', (uint32_t)'\\'}) {
            if (special < from || special > r.second) continue;
            if (special > from) plain.push_back({from, special - 1});
            from = special + 1;
        }
        if (from <= r.second) plain.push_back({from, r.second});
        for (uint32_t code = r.first; code <= std::min<uint32_t>(r.second, 0x1F); code++)
            if (!memchr(short_codes, (int)code, 8)) {
                char escape[8];
                snprintf(escape, sizeof escape, "\\u%04x", code);
                choices.push_back(bytes(c, escape));
            }
        for (int i = 0; i < 8; i++)
            if ((uint8_t)short_codes[i] >= r.first && (uint8_t)short_codes[i] <= r.second)
                choices.push_back(bytes(c, std::string("\\") + short_letters[i]));
    }
    if (!plain.empty()) choices.push_back(match_class(c->g, plain));
    return choices.empty() ? match_class(c->g, {}) : match_choice(c->g, choices);
}

part encoded_text(schema_compiler *c, std::string_view text) {
    const std::string quoted = json_text(c, jinja::of_string(&c->memory, text));
    return bytes(c, std::string_view(quoted).substr(1, quoted.size() - 2));
}

void define_basic_rules(schema_compiler *c) {
    c->space = new_rule(c, "space");
    c->character = new_rule(c, "character");
    c->string = new_rule(c, "string");
    // Not without end: a model may like to indent for ever.
    c->g->all[c->space].body =
        match_repeat(c->g, match_class(c->g, {{' ', ' '}, {'\t', '\t'}, {'\n', '\n'}, {'\r', '\r'}}), 0, 40);
    const part hex = match_class(c->g, {{'0', '9'}, {'a', 'f'}, {'A', 'F'}}),
               d = match_class(c->g, {{'d', 'd'}, {'D', 'D'}});
    const part not_d = match_class(c->g, {{'0', '9'}, {'a', 'c'}, {'A', 'C'}, {'e', 'f'}, {'E', 'F'}}),
               below_8 = digit(c, '0', '7');
    const part high = match_class(c->g, {{'8', '9'}, {'a', 'b'}, {'A', 'B'}}),
               low = match_class(c->g, {{'c', 'f'}, {'C', 'F'}});
    const part
        u = bytes(c, "\\u"),
        escaped = match_sequence(
            c->g,
            {bytes(c, "\\"),
             match_class(
                 c->g,
                 {{'"', '"'}, {'\\', '\\'}, {'/', '/'}, {'b', 'b'}, {'f', 'f'}, {'n', 'n'}, {'r', 'r'}, {'t', 't'}})});
    c->g->all[c->character].body = match_choice(
        c->g, {match_class(c->g, {{0x20, 0x21}, {0x23, 0x5B}, {0x5D, 0x10FFFF}}), escaped,
               match_sequence(c->g, {u, not_d, hex, hex, hex}), match_sequence(c->g, {u, d, below_8, hex, hex}),
               match_sequence(c->g, {u, d, high, hex, hex, u, d, low, hex, hex})});
    c->g->all[c->string].body = match_sequence(
        c->g, {bytes(c, "\""), match_repeat(c->g, match_rule(c->g, c->character), 0, NO_MAXIMUM), bytes(c, "\"")});
}

namespace {

struct format_row {
    const char *name, *pattern;
};
const format_row formats[] = {
    {"date", "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"},
    {"time", "^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"},
    {"date-time", "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]"
                  "{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"},
    {"uuid", "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"},
    {"ipv4", "^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])$"},
    {"email", "^[A-Za-z0-9_%+-]+(\\.[A-Za-z0-9_%+-]+)*@([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\\.)+[A-Za-z]{2,24}$"},
    {"hostname", "^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?){0,8}$"},
    {"uri", "^[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]+$"},
};

llm_status read_length(schema_compiler *c, const json &schema, const char *name, uint32_t fallback, uint32_t *out) {
    const json *v = member(schema, name);
    *out = fallback;
    if (!v) return LLM_OK;
    const double f = jinja::is_number(*v) ? jinja::number_of(*v) : -1;
    if (!(f >= 0) || f != floor(f))
        return refuse_schema(c, LLM_ERR_ARGUMENT, "schema: \"%s\" must be a natural number", name);
    if (f > 100000)
        return refuse_schema(c, LLM_ERR_UNSUPPORTED, "schema: \"%s\" beyond 100000 cannot be enforced", name);
    *out = (uint32_t)f;
    return LLM_OK;
}

const char *pattern_of_format(const std::string &name) {
    for (const format_row &row : formats)
        if (name == row.name) return row.pattern;
    return nullptr;
}

} // namespace

llm_status string_part(schema_compiler *c, const json &schema, part *out) {
    const json *pattern = member(schema, "pattern"), *format = member(schema, "format");
    uint32_t least, most;
    LLM_TRY(read_length(c, schema, "minLength", 0, &least));
    LLM_TRY(read_length(c, schema, "maxLength", NO_MAXIMUM, &most));
    const bool has_length = least > 0 || most != NO_MAXIMUM;
    if (most < least) return refuse_schema(c, LLM_ERR_ARGUMENT, "schema: \"maxLength\" is smaller than \"minLength\"");
    if ((pattern && format) || ((pattern || format) && has_length))
        return refuse_schema(c, LLM_ERR_UNSUPPORTED,
                             "schema: \"pattern\", \"format\" and lengths cannot be enforced together");
    part inside = match_repeat(c->g, match_rule(c->g, c->character), least, most);
    if (pattern) {
        if (pattern->type != jinja::STRING)
            return refuse_schema(c, LLM_ERR_ARGUMENT, "schema: \"pattern\" must be a string");
        LLM_TRY(pattern_part(c, pattern->s->bytes, &inside));
    }
    if (format) {
        const char *known = format->type == jinja::STRING ? pattern_of_format(format->s->bytes) : nullptr;
        if (!known)
            return refuse_schema(c, LLM_ERR_UNSUPPORTED, "schema: \"format\": %s cannot be enforced",
                                 json_text(c, *format).c_str());
        LLM_TRY(pattern_part(c, known, &inside));
    }
    if (!pattern && !format && !has_length)
        *out = match_rule(c->g, c->string);
    else
        *out = match_sequence(c->g, {bytes(c, "\""), inside, bytes(c, "\"")});
    return LLM_OK;
}

// ---- exact values ----

part literal_value(schema_compiler *c, const json &v) {
    const part space = match_rule(c->g, c->space);
    if (jinja::is_sequence(v)) {
        std::vector<part> parts = {bytes(c, "["), space};
        for (size_t i = 0; i < v.l->items.size(); i++) {
            if (i) parts.insert(parts.end(), {bytes(c, ","), space});
            parts.insert(parts.end(), {literal_value(c, v.l->items[i]), space});
        }
        parts.push_back(bytes(c, "]"));
        return match_sequence(c->g, parts);
    }
    if (v.type == jinja::DICT) {
        std::vector<part> parts = {bytes(c, "{"), space};
        for (size_t i = 0; i < v.d->items.size(); i++) {
            if (i) parts.insert(parts.end(), {bytes(c, ","), space});
            parts.insert(parts.end(), {bytes(c, json_text(c, v.d->items[i].first)), space, bytes(c, ":"), space,
                                       literal_value(c, v.d->items[i].second), space});
        }
        parts.push_back(bytes(c, "}"));
        return match_sequence(c->g, parts);
    }
    return bytes(c, json_text(c, v));
}

// ---- keys ----

namespace {

// Names as a tree of characters.
struct name_tree {
    std::map<uint32_t, name_tree> on;
    bool ends = false;
};

// From a place where a name may still be spelled: another character leads away, then anything goes.
part away_from(schema_compiler *c, const name_tree &tree) {
    const part quote = bytes(c, "\""),
               rest = match_sequence(c->g, {match_repeat(c->g, match_rule(c->g, c->character), 0, NO_MAXIMUM), quote});
    std::vector<code_range> taken;
    std::vector<part> choices;
    for (const auto &child : tree.on) {
        taken.push_back({child.first, child.first});
        std::string character;
        utf8_append(&character, child.first);
        choices.push_back(match_sequence(c->g, {encoded_text(c, character), away_from(c, child.second)}));
    }
    choices.push_back(match_sequence(c->g, {encoded_class(c, taken, true), rest}));
    if (!tree.ends) choices.push_back(quote);
    return match_choice(c->g, choices);
}

} // namespace

part other_key(schema_compiler *c, const std::vector<std::string> &names) {
    if (names.empty()) return match_rule(c->g, c->string);
    name_tree tree;
    for (const std::string &name : names) {
        name_tree *at = &tree;
        for (size_t i = 0; i < name.size();) {
            const utf8_char ch = utf8_next(name.data() + i, name.data() + name.size());
            at = &at->on[ch.code];
            i += ch.n;
        }
        at->ends = true;
    }
    return match_sequence(c->g, {bytes(c, "\""), away_from(c, tree)});
}

} // namespace grammar_rules
} // namespace llm

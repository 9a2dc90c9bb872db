// `x | name`: the table, and filters of single values.
#include "text/jinja/filters.h"
#include "text/jinja/case.h"
#include <charconv>
#include <math.h>

namespace llm {
namespace jinja {

bool give_text(run *r, text t, value *out) {
    *out = of_text(&r->memory, std::move(t));
    return within(r, r->memory.used <= r->max_bytes);
}

namespace {

template <case_form FORM> bool cased(run *r, const args *a, value *out) {
    text t;
    return text_of(r, a->at[0], &t) && give_text(r, with_case(t, FORM), out);
}

bool to_string(run *r, const args *a, value *out) {
    if (a->at[0].type == STRING) return *out = a->at[0], true;
    text t;
    return text_of(r, a->at[0], &t) && give_text(r, std::move(t), out);
}

bool pprint(run *r, const args *a, value *out) {
    text t;
    return within(r, print_quoted(a->at[0], &r->left, &t, 0)) && give_text(r, std::move(t), out);
}

bool default_value(run *r, const args *a, value *out) {
    const value *fallback = argument_at(a, 1, "default_value");
    const bool by_truth = flag_argument(a, 2, "boolean", false);
    const bool missing = a->at[0].type == UNDEFINED || (by_truth && !is_true(a->at[0]));
    *out = !missing ? a->at[0] : fallback ? *fallback : of_string(&r->memory, "");
    return true;
}

bool absolute(run *r, const args *a, value *out) {
    const value &v = a->at[0];
    if (v.type == FLOAT) return *out = of_float(fabs(v.f)), true;
    if (is_integer(v)) return number_of(v) < 0 ? binary(r, "-", of_int(0), v, out) : (*out = v, true);
    return raise(r, std::string("bad operand type for abs(): '") + type_name(v) + "'");
}

std::string trimmed(const value &v) { return stripped(*v.s, nullptr, true, true).bytes; }

bool parse_float(std::string s, double *out) {
    if (!s.empty() && s[0] == '+') s.erase(0, 1);
    const char *end = s.data() + s.size();
    const auto result = std::from_chars(s.data(), end, *out);
    return result.ptr == end && result.ec == std::errc();
}

bool parse_integer(std::string s, int base, int64_t *out) {
    const size_t sign = !s.empty() && (s[0] == '-' || s[0] == '+');
    const char letter = s.size() > sign + 1 && s[sign] == '0' ? (char)tolower((unsigned char)s[sign + 1]) : 0;
    const int named = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (named && (base == 0 || base == named)) s.erase(sign, 2), base = named;
    if (!s.empty() && s[0] == '+') s.erase(0, 1);
    const char *end = s.data() + s.size();
    const auto result = std::from_chars(s.data(), end, *out, base == 0 ? 10 : base);
    return result.ptr == end && result.ec == std::errc();
}

bool to_integer(run *r, const args *a, value *out) {
    const value *fallback = argument_at(a, 1, "default"), &v = a->at[0];
    int64_t base, i;
    double f;
    if (!integer_argument(r, a, 2, "base", 10, &base)) return false;
    if (base != 0 && (base < 2 || base > 36)) return raise(r, "int() base must be >= 2 and <= 36, or 0");
    *out = fallback ? *fallback : of_int(0);
    if (is_integer(v))
        *out = of_int(v.type == BOOL ? v.b : v.i);
    else if (v.type == BIG)
        *out = v;
    else if (v.type == FLOAT && fabs(v.f) < 9e18)
        *out = of_int((int64_t)v.f);
    else if (v.type == STRING && parse_integer(trimmed(v), (int)base, &i))
        *out = of_int(i);
    else if (v.type == STRING && parse_float(trimmed(v), &f) && fabs(f) < 9e18)
        *out = of_int((int64_t)f);
    return true;
}

bool to_float(run *, const args *a, value *out) {
    const value *fallback = argument_at(a, 1, "default"), &v = a->at[0];
    double f;
    *out = fallback ? *fallback : of_float(0);
    if (is_number(v))
        *out = of_float(number_of(v));
    else if (v.type == STRING && parse_float(trimmed(v), &f))
        *out = of_float(f);
    return true;
}

bool rounded(run *r, const args *a, value *out) {
    int64_t precision;
    const value *given = argument_at(a, 2, "method");
    const std::string method = given && given->type == STRING ? given->s->bytes : "common";
    if (!integer_argument(r, a, 1, "precision", 0, &precision)) return false;
    if (!is_number(a->at[0])) return raise(r, std::string("type ") + type_name(a->at[0]) + " can not be rounded");
    const double f = number_of(a->at[0]);
    if (method == "common") {
        char digits[400];
        snprintf(digits, sizeof digits, "%.*f", (int)std::min<int64_t>(std::max<int64_t>(precision, 0), 30), f);
        *out = of_float(strtod(digits, nullptr));
        if (is_integer(a->at[0]) && precision >= 0) *out = of_int((int64_t)f);
        return true;
    }
    if (method != "ceil" && method != "floor") return raise(r, "method must be common, ceil or floor");
    double scale = 1;
    for (int64_t i = 0; i < std::min<int64_t>(precision, 30); i++) scale *= 10;
    *out = of_float((method == "ceil" ? ceil(f * scale) : floor(f * scale)) / scale);
    return true;
}

bool tojson(run *r, const args *a, value *out) {
    json_style style;
    style.ascii = flag_argument(a, 1, "ensure_ascii", false);
    style.sort_keys = flag_argument(a, 4, "sort_keys", false);
    const value *indent = argument_at(a, 2, "indent"), *separators = argument_at(a, 3, "separators");
    if (indent && indent->type != NONE) {
        if (!is_integer(*indent) && indent->type != STRING) return raise(r, "indent must be an integer or a string");
        style.indent = 1;
        style.indent_text = indent->type == STRING
                                ? indent->s->bytes
                                : std::string((size_t)std::min(std::max(number_of(*indent), 0.0), 64.0), ' ');
        style.item_separator = ",";
    }
    if (separators && separators->type != NONE) {
        if (!is_sequence(*separators) || separators->l->items.size() != 2 || separators->l->items[0].type != STRING ||
            separators->l->items[1].type != STRING)
            return raise(r, "separators must be a pair of strings");
        style.item_separator = separators->l->items[0].s->bytes;
        style.key_separator = separators->l->items[1].s->bytes;
    }
    text t;
    std::string reason;
    if (to_json(a->at[0], &style, &r->left, &t, &reason)) return give_text(r, std::move(t), out);
    return reason.empty() ? out_of_budget(r) : raise(r, reason);
}

bool from_json_filter(run *r, const args *a, value *out) {
    const text *json;
    std::string reason;
    if (!string_argument(r, a, 0, "value", &json)) return false;
    if (!within(r, r->left.spend(json->bytes.size()))) return false;
    return from_json(&r->memory, json->bytes, out, &reason) || raise(r, "from_json: " + reason);
}

bool same(run *, const args *a, value *out) { return *out = a->at[0], true; }

const function_row filters[] = {
    {"abs", KINDS, absolute},
    {"attr", KINDS, filter_attr},
    {"batch", KINDS, filter_batch},
    {"capitalize", KINDS, cased<CASE_CAPITAL>},
    {"center", KINDS, filter_center},
    {"count", KINDS, filter_length},
    {"d", KINDS, default_value},
    {"default", KINDS, default_value},
    {"dictsort", KINDS, filter_dictsort},
    {"e", KINDS, filter_escape},
    {"escape", KINDS, filter_escape},
    {"filesizeformat", KINDS, filter_filesizeformat},
    {"first", KINDS, filter_first},
    {"float", KINDS, to_float},
    {"forceescape", KINDS, filter_escape},
    {"format", KINDS, filter_format},
    {"from_json", KINDS, from_json_filter},
    {"groupby", KINDS, filter_groupby},
    {"indent", KINDS, filter_indent},
    {"int", KINDS, to_integer},
    {"items", KINDS, filter_items},
    {"join", KINDS, filter_join},
    {"last", KINDS, filter_last},
    {"length", KINDS, filter_length},
    {"list", KINDS, filter_list},
    {"lower", KINDS, cased<CASE_LOWER>},
    {"map", KINDS, filter_map},
    {"max", KINDS, filter_max},
    {"min", KINDS, filter_min},
    {"pprint", KINDS, pprint},
    {"reject", KINDS, filter_reject},
    {"rejectattr", KINDS, filter_rejectattr},
    {"replace", KINDS, filter_replace},
    {"reverse", KINDS, filter_reverse},
    {"round", KINDS, rounded},
    {"safe", KINDS, same},
    {"select", KINDS, filter_select},
    {"selectattr", KINDS, filter_selectattr},
    {"slice", KINDS, filter_slice},
    {"sort", KINDS, filter_sort},
    {"string", KINDS, to_string},
    {"striptags", KINDS, filter_striptags},
    {"sum", KINDS, filter_sum},
    {"title", KINDS, cased<CASE_TITLE>},
    {"tojson", KINDS, tojson},
    {"trim", KINDS, filter_trim},
    {"truncate", KINDS, filter_truncate},
    {"unique", KINDS, filter_unique},
    {"upper", KINDS, cased<CASE_UPPER>},
    {"urlencode", KINDS, filter_urlencode},
    {"wordcount", KINDS, filter_wordcount},
    {"wordwrap", KINDS, filter_wordwrap},
    {"xmlattr", KINDS, filter_xmlattr},
};

} // namespace

const function_row *find_filter(const std::string &name) {
    for (const function_row &row : filters)
        if (name == row.name) return &row;
    return nullptr;
}

} // namespace jinja
} // namespace llm

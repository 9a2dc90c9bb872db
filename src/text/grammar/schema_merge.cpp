// What satisfies two schemas at once, as one schema.
#include "text/grammar/schema.h"
#include <algorithm>
#include <string.h>

namespace llm {
namespace grammar_rules {

namespace {

using merger = llm_status (*)(schema_compiler *c, const json &a, const json &b, json *out);

bool same(const json &a, const json &b) {
    jinja::budget left = {100000, SIZE_MAX};
    bool equal = false;
    return jinja::equal(a, b, &left, &equal) && equal;
}

llm_status take_equal(schema_compiler *c, const json &a, const json &b, json *out) {
    *out = a;
    if (same(a, b)) return LLM_OK;
    return refuse_schema(c, LLM_ERR_UNSUPPORTED, "schema: %s and %s cannot be enforced together",
                         json_text(c, a).c_str(), json_text(c, b).c_str());
}
llm_status take_larger(schema_compiler *, const json &a, const json &b, json *out) {
    *out = jinja::number_of(a) >= jinja::number_of(b) ? a : b;
    return LLM_OK;
}
llm_status take_smaller(schema_compiler *, const json &a, const json &b, json *out) {
    *out = jinja::number_of(a) <= jinja::number_of(b) ? a : b;
    return LLM_OK;
}

std::vector<json> as_list(const json &v) { return jinja::is_sequence(v) ? v.l->items : std::vector<json>{v}; }

llm_status take_union(schema_compiler *c, const json &a, const json &b, json *out) {
    std::vector<json> all = as_list(a);
    for (const json &x : as_list(b))
        if (std::none_of(all.begin(), all.end(), [&x](const json &y) { return same(x, y); })) all.push_back(x);
    *out = jinja::of_list(&c->memory, std::move(all));
    return LLM_OK;
}

// Types and enumerations; an integer is a number.
llm_status take_common(schema_compiler *c, const json &a, const json &b, json *out) {
    std::vector<json> common;
    auto is = [](const json &v, const char *name) { return v.type == jinja::STRING && v.s->bytes == name; };
    for (const json &x : as_list(a))
        for (const json &y : as_list(b)) {
            if (same(x, y))
                common.push_back(x);
            else if (is(x, "integer") && is(y, "number"))
                common.push_back(x);
            else if (is(x, "number") && is(y, "integer"))
                common.push_back(y);
        }
    if (common.empty())
        return refuse_schema(c, LLM_ERR_ARGUMENT, "schema: nothing is allowed by both %s and %s",
                             json_text(c, a).c_str(), json_text(c, b).c_str());
    *out = jinja::of_list(&c->memory, std::move(common));
    return LLM_OK;
}

llm_status merge_values(schema_compiler *c, const json &a, const json &b, json *out) {
    if (a.type == jinja::BOOL) return *out = a.b ? b : a, LLM_OK;
    if (b.type == jinja::BOOL) return *out = b.b ? a : b, LLM_OK;
    return merge_schemas(c, a, b, out);
}

llm_status keep_both_lists(schema_compiler *c, const json &a, const json &b, json *out) {
    std::vector<json> all = as_list(a);
    for (const json &x : as_list(b)) all.push_back(x);
    *out = jinja::of_list(&c->memory, std::move(all));
    return LLM_OK;
}

struct merge_row {
    const char *keyword;
    merger merge;
};
const merge_row mergers[] = {
    {"type", take_common},
    {"enum", take_common},
    {"required", take_union},
    {"minimum", take_larger},
    {"exclusiveMinimum", take_larger},
    {"minLength", take_larger},
    {"minItems", take_larger},
    {"maximum", take_smaller},
    {"exclusiveMaximum", take_smaller},
    {"maxLength", take_smaller},
    {"maxItems", take_smaller},
    {"items", merge_values},
    {"additionalProperties", merge_values},
    {"allOf", keep_both_lists},
};
const char *const descriptions[] = {"title",   "description", "default",     "examples",   "$comment", "$id",
                                    "$schema", "$defs",       "definitions", "deprecated", "readOnly", "writeOnly"};

merger merger_of(const std::string &keyword) {
    for (const merge_row &row : mergers)
        if (keyword == row.keyword) return row.merge;
    return take_equal;
}

// What `schema` says of a property that its `properties` do not name.
json of_others(const json &schema) {
    const json *v = member(schema, "additionalProperties");
    return v ? *v : jinja::of_bool(true);
}

llm_status merge_properties(schema_compiler *c, const json &a, const json &b, json *out) {
    const json *p = member(a, "properties"), *q = member(b, "properties");
    const json none = jinja::new_dict(&c->memory);
    if (!p) p = &none;
    if (!q) q = &none;
    *out = jinja::new_dict(&c->memory);
    for (const auto &entry : p->d->items) {
        const json *other = jinja::dict_find(q->d, entry.first);
        json merged;
        LLM_TRY(merge_values(c, entry.second, other ? *other : of_others(b), &merged));
        jinja::dict_set(&c->memory, out->d, entry.first, merged);
    }
    for (const auto &entry : q->d->items) {
        if (jinja::dict_find(p->d, entry.first)) continue;
        json merged;
        LLM_TRY(merge_values(c, of_others(a), entry.second, &merged));
        jinja::dict_set(&c->memory, out->d, entry.first, merged);
    }
    return LLM_OK;
}

bool only_describes(const std::string &keyword) {
    return std::any_of(std::begin(descriptions), std::end(descriptions),
                       [&keyword](const char *d) { return keyword == d; });
}

// anyOf of both sides: one of the lists goes on as allOf.
llm_status merge_alternatives(schema_compiler *c, const char *keyword, const json &v, json *out) {
    json wrapped = jinja::new_dict(&c->memory);
    jinja::dict_set(&c->memory, wrapped.d, jinja::of_string(&c->memory, keyword), v);
    const json *all = member(*out, "allOf");
    std::vector<json> list = all ? all->l->items : std::vector<json>();
    list.push_back(wrapped);
    jinja::dict_set(&c->memory, out->d, jinja::of_string(&c->memory, "allOf"),
                    jinja::of_list(&c->memory, std::move(list)));
    return LLM_OK;
}

} // namespace

llm_status merge_schemas(schema_compiler *c, const json &a, const json &b, json *out) {
    if (a.type != jinja::DICT || b.type != jinja::DICT) return merge_values(c, a, b, out);
    LLM_TRY(schema_depth_ok(c) ? LLM_OK : refuse_schema(c, LLM_ERR_UNSUPPORTED, "schema: it is nested too deeply"));
    c->depth++;
    *out = jinja::new_dict(&c->memory);
    for (const auto &entry : a.d->items) jinja::dict_set(&c->memory, out->d, entry.first, entry.second);
    for (const auto &entry : b.d->items) {
        const std::string &keyword = entry.first.s->bytes;
        const json *mine = jinja::dict_find(a.d, entry.first);
        json merged = entry.second;
        if (keyword == "properties" || only_describes(keyword)) continue;
        if (mine && (keyword == "anyOf" || keyword == "oneOf" || keyword == "$ref")) {
            if (same(*mine, entry.second)) continue;
            LLM_TRY(merge_alternatives(c, keyword.c_str(), entry.second, out));
            continue;
        }
        if (mine) LLM_TRY(merger_of(keyword)(c, *mine, entry.second, &merged));
        jinja::dict_set(&c->memory, out->d, entry.first, merged);
    }
    if (member(a, "properties") || member(b, "properties")) {
        json properties;
        LLM_TRY(merge_properties(c, a, b, &properties));
        jinja::dict_set(&c->memory, out->d, jinja::of_string(&c->memory, "properties"), properties);
    }
    c->depth--;
    return LLM_OK;
}

} // namespace grammar_rules
} // namespace llm

#include "text/grammar/schema.h"
#include <algorithm>
#include <math.h>
#include <stdarg.h>
#include <string.h>

namespace llm {
namespace grammar_rules {

llm_status refuse_schema(schema_compiler *c, llm_status code, const char *format, ...) {
    char sentence[512];
    va_list list;
    va_start(list, format);
    vsnprintf(sentence, sizeof sentence, format, list);
    va_end(list);
    return fail(c->err, code, "%s", sentence);
}

uint32_t new_rule(schema_compiler *c, const char *name) {
    c->g->all.push_back({name, nullptr});
    return (uint32_t)c->g->all.size() - 1;
}

bool schema_depth_ok(schema_compiler *c) { return c->depth < 64; }

std::string json_text(schema_compiler *, const json &v) {
    const jinja::json_style style;
    jinja::budget left = {10000000, (size_t)1 << 24};
    jinja::text out;
    std::string reason;
    jinja::to_json(v, &style, &left, &out, &reason);
    return out.bytes;
}

const json *member(const json &object, const char *name) {
    return object.type == jinja::DICT ? jinja::dict_find(object.d, name) : nullptr;
}

namespace {

enum keyword_use : uint8_t { ENFORCED, DESCRIBES, REFUSED };
struct keyword_row {
    const char *name;
    keyword_use use;
};
const keyword_row keywords[] = {
    {"type", ENFORCED},
    {"enum", ENFORCED},
    {"const", ENFORCED},
    {"properties", ENFORCED},
    {"required", ENFORCED},
    {"additionalProperties", ENFORCED},
    {"items", ENFORCED},
    {"prefixItems", ENFORCED},
    {"additionalItems", ENFORCED},
    {"minItems", ENFORCED},
    {"maxItems", ENFORCED},
    {"minLength", ENFORCED},
    {"maxLength", ENFORCED},
    {"pattern", ENFORCED},
    {"format", ENFORCED},
    {"minimum", ENFORCED},
    {"maximum", ENFORCED},
    {"exclusiveMinimum", ENFORCED},
    {"exclusiveMaximum", ENFORCED},
    {"multipleOf", ENFORCED},
    {"anyOf", ENFORCED},
    {"oneOf", ENFORCED},
    {"allOf", ENFORCED},
    {"$ref", ENFORCED},
    {"nullable", ENFORCED},
    {"title", DESCRIBES},
    {"description", DESCRIBES},
    {"default", DESCRIBES},
    {"examples", DESCRIBES},
    {"example", DESCRIBES},
    {"$comment", DESCRIBES},
    {"$id", DESCRIBES},
    {"id", DESCRIBES},
    {"$schema", DESCRIBES},
    {"$defs", DESCRIBES},
    {"definitions", DESCRIBES},
    {"deprecated", DESCRIBES},
    {"readOnly", DESCRIBES},
    {"writeOnly", DESCRIBES},
    {"$anchor", DESCRIBES},
    {"$vocabulary", DESCRIBES},
    {"strict", DESCRIBES},
};

keyword_use use_of(const std::string &name) {
    for (const keyword_row &row : keywords)
        if (name == row.name) return row.use;
    return REFUSED;
}

llm_status check_keywords(schema_compiler *c, const json &schema) {
    for (const auto &entry : schema.d->items) {
        const std::string &name = entry.first.s->bytes;
        if (name == "uniqueItems" && entry.second.type == jinja::BOOL && !entry.second.b) continue;
        if (use_of(name) == REFUSED)
            return refuse_schema(c, LLM_ERR_UNSUPPORTED, "schema: keyword \"%s\" cannot be enforced", name.c_str());
    }
    return LLM_OK;
}

bool is_string(const json *v, const char *text) { return v && v->type == jinja::STRING && v->s->bytes == text; }
std::vector<json> list_of(const json *v) {
    return !v ? std::vector<json>() : jinja::is_sequence(*v) ? v->l->items : std::vector<json>{*v};
}

json without(schema_compiler *c, const json &schema, std::initializer_list<const char *> names) {
    json out = jinja::new_dict(&c->memory);
    for (const auto &entry : schema.d->items)
        if (std::none_of(names.begin(), names.end(), [&](const char *n) { return entry.first.s->bytes == n; }))
            jinja::dict_set(&c->memory, out.d, entry.first, entry.second);
    return out;
}

bool constrains(const json &schema) {
    return std::any_of(schema.d->items.begin(), schema.d->items.end(),
                       [](const auto &entry) { return use_of(entry.first.s->bytes) == ENFORCED; });
}

// "#", "#/a/b~1c/0": within this document.
llm_status resolve(schema_compiler *c, const json &ref, json *out) {
    if (ref.type != jinja::STRING || ref.s->bytes.empty() || ref.s->bytes[0] != '#' ||
        (ref.s->bytes.size() > 1 && ref.s->bytes[1] != '/'))
        return refuse_schema(c, LLM_ERR_UNSUPPORTED, "schema: \"$ref\": %s does not lie within the schema",
                             json_text(c, ref).c_str());
    const std::string &path = ref.s->bytes;
    *out = c->root;
    for (size_t at = 1; at < path.size();) {
        const size_t end = std::min(path.find('/', at + 1), path.size());
        std::string key = path.substr(at + 1, end - at - 1);
        for (const char *escape : {"~1/", "~0~"})
            for (size_t i = 0; (i = key.find(std::string(escape, 2), i)) != std::string::npos; i++)
                key.replace(i, 2, 1, escape[2]);
        const json *next = member(*out, key.c_str());
        if (!next && jinja::is_sequence(*out) && !key.empty() &&
            key.find_first_not_of("0123456789") == std::string::npos && key.size() < 9) {
            const size_t index = std::stoul(key);
            if (index < out->l->items.size()) next = &out->l->items[index];
        }
        if (!next) return refuse_schema(c, LLM_ERR_ARGUMENT, "schema: \"$ref\": \"%s\" leads nowhere", path.c_str());
        *out = *next;
        at = end;
    }
    return LLM_OK;
}

llm_status compile(schema_compiler *c, const json &schema, part *out);

// ---- objects ----

struct property {
    std::string name;
    json schema;
    bool required;
};

llm_status list_properties(schema_compiler *c, const json &schema, std::vector<property> *out) {
    const json *properties = member(schema, "properties"), *others = member(schema, "additionalProperties");
    std::vector<std::string> required;
    for (const json &name : list_of(member(schema, "required"))) {
        if (name.type != jinja::STRING)
            return refuse_schema(c, LLM_ERR_ARGUMENT, "schema: \"required\" must list names");
        required.push_back(name.s->bytes);
    }
    auto is_required = [&](const std::string &name) {
        return std::find(required.begin(), required.end(), name) != required.end();
    };
    if (properties && properties->type != jinja::DICT)
        return refuse_schema(c, LLM_ERR_ARGUMENT, "schema: \"properties\" must be an object");
    for (size_t i = 0; properties && i < properties->d->items.size(); i++) {
        const auto &entry = properties->d->items[i];
        out->push_back({entry.first.s->bytes, entry.second, is_required(entry.first.s->bytes)});
    }
    for (const std::string &name : required) {
        if (std::any_of(out->begin(), out->end(), [&](const property &p) { return p.name == name; })) continue;
        out->push_back({name, others ? *others : jinja::of_bool(true), true});
    }
    return LLM_OK;
}

part spaced(schema_compiler *c, const char *what) {
    const part space = match_rule(c->g, c->space);
    return match_sequence(c->g, {space, match_bytes(c->g, what), space});
}

// Further pairs; without `first` each begins with a comma.
llm_status other_pairs(schema_compiler *c, const json &schema, const std::vector<property> &known, bool first,
                       part *out) {
    const json *others = member(schema, "additionalProperties");
    const bool none = others ? others->type == jinja::BOOL && !others->b : member(schema, "properties") != nullptr;
    *out = match_nothing(c->g);
    if (none) return LLM_OK;
    std::vector<std::string> names;
    for (const property &p : known) names.push_back(p.name);
    part value;
    LLM_TRY(compile(c, others ? *others : jinja::of_bool(true), &value));
    const part pair = match_sequence(c->g, {other_key(c, names), spaced(c, ":"), value});
    const part more = match_repeat(c->g, match_sequence(c->g, {spaced(c, ","), pair}), 0, NO_MAXIMUM);
    *out = first ? match_optional(c->g, match_sequence(c->g, {pair, more})) : more;
    return LLM_OK;
}

// Pairs in the order of the schema. Rule (i, first) holds what may come from property i on: with it, or without it when
// it need not be there. Rules, since each is led to from two places.
llm_status object_part(schema_compiler *c, const json &schema, part *out) {
    std::vector<property> all;
    LLM_TRY(list_properties(c, schema, &all));
    part next[2]; // [first]
    for (int first = 0; first < 2; first++) LLM_TRY(other_pairs(c, schema, all, first, &next[first]));
    for (size_t i = all.size(); i-- > 0;) {
        const bool forbidden = all[i].schema.type == jinja::BOOL && !all[i].schema.b;
        if (forbidden && all[i].required)
            return refuse_schema(c, LLM_ERR_ARGUMENT, "schema: property \"%s\" is required and not allowed",
                                 all[i].name.c_str());
        if (forbidden) continue;
        part value;
        LLM_TRY(compile(c, all[i].schema, &value));
        const std::string key = json_text(c, jinja::of_string(&c->memory, all[i].name));
        part here[2];
        for (int first = 0; first < 2; first++) {
            std::vector<part> pair = {match_bytes(c->g, key), spaced(c, ":"), value, next[0]};
            if (!first) pair.insert(pair.begin(), spaced(c, ","));
            part whole = match_sequence(c->g, pair);
            if (!all[i].required) whole = match_choice(c->g, {whole, next[first]});
            const uint32_t rule = new_rule(c, "properties");
            c->g->all[rule].body = whole;
            here[first] = match_rule(c->g, rule);
        }
        next[0] = here[0];
        next[1] = here[1];
    }
    const part space = match_rule(c->g, c->space);
    *out = match_sequence(c->g, {match_bytes(c->g, "{"), space, next[1], space, match_bytes(c->g, "}")});
    return LLM_OK;
}

// ---- arrays ----

llm_status read_count(schema_compiler *c, const json &schema, const char *name, uint32_t fallback, uint32_t *out) {
    const json *v = member(schema, name);
    *out = fallback;
    if (!v) return LLM_OK;
    const double f = jinja::is_number(*v) ? jinja::number_of(*v) : -1;
    if (!(f >= 0) || f != floor(f))
        return refuse_schema(c, LLM_ERR_ARGUMENT, "schema: \"%s\" must be a natural number", name);
    if (f > 10000) return refuse_schema(c, LLM_ERR_UNSUPPORTED, "schema: \"%s\" beyond 10000 cannot be enforced", name);
    *out = (uint32_t)f;
    return LLM_OK;
}

// Elements after `n_before` others.
part more_items(schema_compiler *c, part item, uint32_t n_before, uint32_t least, uint32_t most) {
    const uint32_t from = least > n_before ? least - n_before : 0, to = most == NO_MAXIMUM ? NO_MAXIMUM
                                                                        : most > n_before  ? most - n_before
                                                                                           : 0;
    if (to == 0) return match_nothing(c->g);
    const part next = match_sequence(c->g, {spaced(c, ","), item});
    if (n_before) return match_repeat(c->g, next, from, to);
    const part list =
        match_sequence(c->g, {item, match_repeat(c->g, next, from ? from - 1 : 0, to == NO_MAXIMUM ? to : to - 1)});
    return from ? list : match_optional(c->g, list);
}

llm_status array_part(schema_compiler *c, const json &schema, part *out) {
    const json *items = member(schema, "items"), *prefix = member(schema, "prefixItems"), *rest = items;
    uint32_t least, most;
    LLM_TRY(read_count(c, schema, "minItems", 0, &least));
    LLM_TRY(read_count(c, schema, "maxItems", NO_MAXIMUM, &most));
    if (most < least) return refuse_schema(c, LLM_ERR_ARGUMENT, "schema: \"maxItems\" is smaller than \"minItems\"");
    if (items && jinja::is_sequence(*items)) prefix = items, rest = member(schema, "additionalItems"); // as before 2020
    if (prefix && !jinja::is_sequence(*prefix)) {
        if (!rest) rest = prefix; // seen in the wild: one schema for all
        prefix = nullptr;
    }
    const std::vector<json> first = list_of(prefix);
    // A tuple that says nothing of further elements has none; without a tuple everything goes.
    const json further = rest ? *rest : jinja::of_bool(first.empty());
    const uint32_t n_first = (uint32_t)std::min<size_t>(first.size(), most);
    part tail = match_nothing(c->g);
    const bool closed = further.type == jinja::BOOL && !further.b;
    if (closed && least > first.size())
        return refuse_schema(c, LLM_ERR_ARGUMENT, "schema: \"minItems\" asks for more elements than are allowed");
    if (!closed && most > n_first) {
        part item;
        LLM_TRY(compile(c, further, &item));
        tail = more_items(c, item, n_first, least, most);
    }
    for (uint32_t i = n_first; i-- > 0;) {
        part item;
        LLM_TRY(compile(c, first[i], &item));
        tail = i ? match_sequence(c->g, {spaced(c, ","), item, tail}) : match_sequence(c->g, {item, tail});
        if (i >= least) tail = match_optional(c->g, tail);
    }
    const part space = match_rule(c->g, c->space);
    *out = match_sequence(c->g, {match_bytes(c->g, "["), space, tail, space, match_bytes(c->g, "]")});
    return LLM_OK;
}

// ---- values by type ----

llm_status boolean_part(schema_compiler *c, const json &, part *out) {
    *out = match_choice(c->g, {match_bytes(c->g, "true"), match_bytes(c->g, "false")});
    return LLM_OK;
}
llm_status null_part(schema_compiler *c, const json &, part *out) {
    *out = match_bytes(c->g, "null");
    return LLM_OK;
}

struct type_row {
    const char *name;
    llm_status (*make)(schema_compiler *c, const json &schema, part *out);
    const char *keywords; // that speak of this type, where none is given
};
const type_row types[] = {
    {"object", object_part, " properties required additionalProperties "},
    {"array", array_part, " items prefixItems additionalItems minItems maxItems "},
    {"string", string_part, " minLength maxLength pattern format "},
    {"number", number_part, " minimum maximum exclusiveMinimum exclusiveMaximum multipleOf "},
    {"integer", integer_part, ""},
    {"boolean", boolean_part, ""},
    {"null", null_part, ""},
};

const type_row *type_named(const json &name) {
    for (const type_row &row : types)
        if (is_string(&name, row.name)) return &row;
    return nullptr;
}

bool speaks_of(const json &schema, const type_row *row) {
    for (const auto &entry : schema.d->items)
        if (strstr(row->keywords, (" " + entry.first.s->bytes + " ").c_str())) return true;
    return false;
}

llm_status typed_part(schema_compiler *c, const json &schema, part *out) {
    std::vector<const type_row *> wanted;
    for (const json &name : list_of(member(schema, "type"))) {
        const type_row *row = type_named(name);
        if (!row) return refuse_schema(c, LLM_ERR_ARGUMENT, "schema: there is no type %s", json_text(c, name).c_str());
        wanted.push_back(row);
    }
    if (wanted.empty())
        for (const type_row &row : types)
            if (speaks_of(schema, &row)) wanted.push_back(&row);
    if (wanted.empty()) return *out = match_rule(c->g, c->any), LLM_OK;
    if (is_string(member(schema, "nullable"), "true") ||
        (member(schema, "nullable") && jinja::is_true(*member(schema, "nullable"))))
        wanted.push_back(&types[6]);
    std::vector<part> choices;
    for (const type_row *row : wanted) {
        choices.emplace_back();
        LLM_TRY(row->make(c, schema, &choices.back()));
    }
    *out = match_choice(c->g, choices);
    return LLM_OK;
}

bool has_type(const json &v, const json &schema) {
    const json *type = member(schema, "type");
    if (!type) return true;
    static const char *const names[] = {"null",   "boolean", "integer", "integer", "number",
                                        "string", "array",   "array",   "object"};
    for (const json &name : list_of(type)) {
        if (is_string(&name, names[v.type - jinja::NONE])) return true;
        if (is_string(&name, "number") && jinja::is_number(v) && v.type != jinja::BOOL) return true;
        if (is_string(&name, "integer") && v.type == jinja::FLOAT && v.f == floor(v.f)) return true;
    }
    return false;
}

// const and enum: the values of the right type. Other constraints beside them would have to be checked against each.
llm_status listed_part(schema_compiler *c, const json &schema, part *out) {
    const json *only = member(schema, "const"), *some = member(schema, "enum");
    const json rest = without(c, schema, {"const", "enum", "type", "nullable"});
    if (constrains(rest))
        return refuse_schema(c, LLM_ERR_UNSUPPORTED,
                             "schema: \"enum\" and \"const\" cannot be enforced together with %s",
                             json_text(c, rest).c_str());
    std::vector<part> choices;
    const std::vector<json> values = only ? std::vector<json>{*only} : list_of(some);
    for (const json &v : values) {
        bool listed = !only || !some;
        for (const json &other : list_of(some)) {
            jinja::budget left = {100000, SIZE_MAX};
            bool same = false;
            jinja::equal(v, other, &left, &same);
            listed = listed || same;
        }
        if (listed && has_type(v, schema)) choices.push_back(literal_value(c, v));
    }
    if (choices.empty())
        return refuse_schema(c, LLM_ERR_ARGUMENT, "schema: no value is allowed by %s", json_text(c, schema).c_str());
    *out = match_choice(c->g, choices);
    return LLM_OK;
}

// ---- combinations ----

// Do two schemas exclude each other by type, or by a required property with different fixed values?
bool fixed_apart(schema_compiler *c, const json &a, const json &b) {
    std::vector<json> mine = list_of(member(a, "const")), theirs = list_of(member(b, "const"));
    if (mine.empty()) mine = list_of(member(a, "enum"));
    if (theirs.empty()) theirs = list_of(member(b, "enum"));
    if (mine.empty() || theirs.empty()) return false;
    for (const json &x : mine)
        for (const json &y : theirs)
            if (json_text(c, x) == json_text(c, y)) return false;
    return true;
}
bool disjoint(schema_compiler *c, json a, json b) {
    for (json *side : {&a, &b})
        if (const json *ref = member(*side, "$ref")) {
            json target;
            if (resolve(c, *ref, &target) != LLM_OK) return false;
            *side = target;
        }
    if (a.type != jinja::DICT || b.type != jinja::DICT) return false;
    if (fixed_apart(c, a, b)) return true;
    const std::vector<json> mine = list_of(member(a, "type")), theirs = list_of(member(b, "type"));
    bool apart = !mine.empty() && !theirs.empty();
    for (const json &x : mine)
        for (const json &y : theirs) {
            const bool numbers = (is_string(&x, "integer") && is_string(&y, "number")) ||
                                 (is_string(&x, "number") && is_string(&y, "integer"));
            if (json_text(c, x) == json_text(c, y) || numbers) apart = false;
        }
    if (apart) return true;
    const json *p = member(a, "properties"), *q = member(b, "properties");
    auto required = [&c](const json &schema, const std::string &name) {
        (void)c;
        for (const json &r : list_of(member(schema, "required")))
            if (is_string(&r, name.c_str())) return true;
        return false;
    };
    for (size_t i = 0; p && q && i < p->d->items.size(); i++) {
        const std::string &name = p->d->items[i].first.s->bytes;
        const json *other = jinja::dict_find(q->d, name);
        if (other && required(a, name) && required(b, name) && fixed_apart(c, p->d->items[i].second, *other))
            return true;
    }
    return false;
}

llm_status alternatives(schema_compiler *c, const json &schema, const char *keyword, part *out) {
    const json rest = without(c, schema, {keyword});
    const std::vector<json> branches = list_of(member(schema, keyword));
    if (branches.empty()) return refuse_schema(c, LLM_ERR_ARGUMENT, "schema: \"%s\" is empty", keyword);
    for (size_t i = 0; !strcmp(keyword, "oneOf") && i < branches.size(); i++)
        for (size_t k = 0; k < i; k++)
            if (!disjoint(c, branches[i], branches[k]))
                return refuse_schema(c, LLM_ERR_UNSUPPORTED,
                                     "schema: \"oneOf\" cannot be enforced where its parts overlap; \"anyOf\" can");
    std::vector<part> choices;
    for (const json &branch : branches) {
        json merged = branch;
        if (constrains(rest)) LLM_TRY(merge_schemas(c, rest, branch, &merged));
        choices.emplace_back();
        LLM_TRY(compile(c, merged, &choices.back()));
    }
    *out = match_choice(c->g, choices);
    return LLM_OK;
}

llm_status together(schema_compiler *c, const json &schema, part *out) {
    json all = without(c, schema, {"allOf"});
    for (const json &one : list_of(member(schema, "allOf"))) {
        json resolved = one, merged;
        if (const json *ref = member(one, "$ref")) {
            json target;
            LLM_TRY(resolve(c, *ref, &target));
            LLM_TRY(merge_schemas(c, target, without(c, one, {"$ref"}), &resolved));
        }
        LLM_TRY(merge_schemas(c, all, resolved, &merged));
        all = merged;
    }
    return compile(c, all, out);
}

llm_status body_of(schema_compiler *c, const json &schema, part *out) {
    LLM_TRY(check_keywords(c, schema));
    if (const json *ref = member(schema, "$ref")) {
        json target, rest = without(c, schema, {"$ref"}), merged;
        LLM_TRY(resolve(c, *ref, &target));
        if (!constrains(rest)) return compile(c, target, out);
        LLM_TRY(merge_schemas(c, target, rest, &merged));
        return compile(c, merged, out);
    }
    if (member(schema, "allOf")) return together(c, schema, out);
    for (const char *keyword : {"anyOf", "oneOf"})
        if (member(schema, keyword)) return alternatives(c, schema, keyword, out);
    if (member(schema, "const") || member(schema, "enum")) return listed_part(c, schema, out);
    return typed_part(c, schema, out);
}

// Each schema is a rule, found again by its text: that is how recursion ends.
llm_status compile(schema_compiler *c, const json &schema, part *out) {
    if (schema.type == jinja::BOOL) {
        *out = schema.b ? match_rule(c->g, c->any) : match_class(c->g, {});
        return LLM_OK;
    }
    if (schema.type != jinja::DICT)
        return refuse_schema(c, LLM_ERR_ARGUMENT, "schema: %s is no schema", json_text(c, schema).c_str());
    const std::string text = json_text(c, schema);
    auto known = c->rule_of.find(text);
    if (known == c->rule_of.end()) {
        if (!schema_depth_ok(c)) return refuse_schema(c, LLM_ERR_UNSUPPORTED, "schema: it is nested too deeply");
        const uint32_t rule = new_rule(c, "schema");
        known = c->rule_of.emplace(text, rule).first;
        part body;
        c->depth++;
        LLM_TRY(body_of(c, schema, &body));
        c->depth--;
        c->g->all[rule].body = body;
    }
    *out = match_rule(c->g, known->second);
    return LLM_OK;
}

// Any value at all.
llm_status define_any(schema_compiler *c) {
    c->any = new_rule(c, "value");
    std::vector<part> choices;
    const json nothing = jinja::new_dict(&c->memory);
    for (const type_row &row : types) {
        if (!strcmp(row.name, "integer")) continue;
        choices.emplace_back();
        LLM_TRY(row.make(c, nothing, &choices.back()));
    }
    c->g->all[c->any].body = match_choice(c->g, choices);
    return LLM_OK;
}

} // namespace

llm_status parse_schema(std::string_view text, rules *out, llm_error *err) {
    schema_compiler c;
    std::string reason;
    c.g = out;
    c.err = err;
    if (!jinja::from_json(&c.memory, text, &c.root, &reason))
        return fail(err, LLM_ERR_ARGUMENT, "the schema is no JSON: %s", reason.c_str());
    define_basic_rules(&c);
    LLM_TRY(define_any(&c));
    part root;
    LLM_TRY(compile(&c, c.root, &root));
    out->root = new_rule(&c, "root");
    out->all[out->root].body = root;
    return LLM_OK;
}

} // namespace grammar_rules
} // namespace llm

// JSON Schema (draft 2020-12, and `definitions`, tuples as `items` arrays from before) to rules. Every keyword is
// enforced or refused by name; what only describes (title, default, ...) is passed over.
#pragma once
#include "text/grammar/expression.h"
#include "text/jinja/value.h"
#include <map>

namespace llm {
namespace grammar_rules {

using json = jinja::value;

struct schema_compiler {
    rules *g;
    llm_error *err;
    jinja::heap memory;
    json root;
    std::map<std::string, uint32_t> rule_of;                // of schemas, by their text
    uint32_t space = 0, any = 0, string = 0, character = 0; // rules
    int depth = 0;
};

llm_status refuse_schema(schema_compiler *c, llm_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
uint32_t new_rule(schema_compiler *c, const char *name);
bool schema_depth_ok(schema_compiler *c);
std::string json_text(schema_compiler *c, const json &v);
const json *member(const json &object, const char *name); // NULL: not there

// schema_values.cpp
void define_basic_rules(schema_compiler *c);
part literal_value(schema_compiler *c, const json &v); // exactly this value, spaced as one likes
llm_status integer_part(schema_compiler *c, const json &schema, part *out);
llm_status number_part(schema_compiler *c, const json &schema, part *out);
llm_status string_part(schema_compiler *c, const json &schema, part *out);
part encoded_class(schema_compiler *c, std::vector<code_range> ranges,
                   bool negated); // one character inside a JSON string
part encoded_text(schema_compiler *c, std::string_view text);
// A key that is none of `names`, quotes included.
part other_key(schema_compiler *c, const std::vector<std::string> &names);

// schema_pattern.cpp: what may stand between the quotes.
llm_status pattern_part(schema_compiler *c, std::string_view pattern, part *out);

// schema_merge.cpp: what satisfies both.
llm_status merge_schemas(schema_compiler *c, const json &a, const json &b, json *out);

} // namespace grammar_rules
} // namespace llm

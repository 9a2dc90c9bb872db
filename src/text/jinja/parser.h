// What the two halves of the parser share: expressions (parse_expression.cpp) and statements (parse_statement.cpp).
#pragma once
#include "text/jinja/ast.h"

namespace llm {
namespace jinja {

struct parser {
    const std::vector<token> *tokens;
    jinja_template *out;
    syntax_error *error;
    size_t at = 0;
    int depth = 0;       // of nested expressions and blocks
    int loop_depth = 0;  // of loops around, within the macro at hand
    int conditional = 0; // of conditions around: an unknown filter or test there fails only when it is used
};

// Deeper templates than people write; the stack is the caller's.
constexpr int MAX_NESTING = 64;
struct nesting {
    parser *p;
    explicit nesting(parser *q) : p(q) { p->depth++; }
    ~nesting() { p->depth--; }
};

inline const token &current(const parser *p) { return (*p->tokens)[p->at]; }
inline const token &ahead(const parser *p) { return (*p->tokens)[std::min(p->at + 1, p->tokens->size() - 1)]; }
bool refuse(parser *p, std::string message); // at the current token; returns false
std::string describe(const token &t);
inline bool is_name(const token &t, std::string_view name) { return t.kind == TOKEN_NAME && t.bytes == name; }
inline bool is_operator(const token &t, std::string_view op) { return t.kind == TOKEN_OPERATOR && t.bytes == op; }
bool skip_name(parser *p, std::string_view name); // true: it was there
bool skip_operator(parser *p, std::string_view op);
bool expect_operator(parser *p, std::string_view op);
bool expect_identifier(parser *p, std::string *out);

node *new_node(parser *p, node_kind kind, jinja_place at);
uint32_t name_number(parser *p, const std::string &name);

// NULL: refused.
const node *parse_expression(parser *p, bool with_condition = true);
// a, b, c: a tuple where there is a comma.
const node *parse_tuple(parser *p, bool with_condition = true);
const node *parse_primary_chain(parser *p); // with subscripts and calls, without filters
const node *parse_filters(parser *p, const node *input, bool with_tests);
const node *parse_filter(parser *p, const node *input, jinja_place at); // name(arguments), after the |
// a, (b, c), ns.x: what can be assigned to.
const node *parse_target(parser *p, bool attributes);
bool parse_arguments(parser *p, std::vector<argument> *out); // from ( to )

bool parse_body(parser *p, std::initializer_list<const char *> ends, std::vector<const node *> *out);

} // namespace jinja
} // namespace llm

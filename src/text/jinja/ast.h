// A compiled template: nodes of expressions and statements.
#pragma once
#include "text/jinja/lexer.h"
#include "text/jinja/value.h"

namespace llm {
namespace jinja {

enum node_kind : uint8_t {
    // expressions; children in `a`
    NODE_CONSTANT,  // constant
    NODE_NAME,      // name
    NODE_LIST,      // items
    NODE_TUPLE,     // items
    NODE_DICT,      // key, value, key, value, ...
    NODE_ATTRIBUTE, // object; bytes: name
    NODE_SUBSCRIPT, // object, index
    NODE_SLICE,     // object, start, stop, step (NULL: not given)
    NODE_CALL,      // callee; arguments
    NODE_FILTER,    // input; bytes, row, arguments
    NODE_TEST,      // input; bytes, row, arguments
    NODE_NOT,       // operand
    NODE_NEGATIVE,  // operand
    NODE_POSITIVE,  // operand
    NODE_BINARY,    // left, right; bytes: operator
    NODE_AND,       // left, right
    NODE_OR,        // left, right
    NODE_CONCAT,    // parts
    NODE_COMPARE,   // first, then one per operator in `operators`
    NODE_CONDITION, // then, condition, else (may be NULL)
    // statements; bodies in `body`, `other`
    NODE_DATA,         // constant
    NODE_PRINT,        // expression
    NODE_IF,           // condition; body, other
    NODE_FOR,          // target, sequence, condition (may be NULL); recursive; body, other
    NODE_SET,          // target, expression
    NODE_SET_BLOCK,    // target, filtered (may be NULL; a FILTER chain over NODE_CAPTURED); body
    NODE_CAPTURED,     // the text that a block has made
    NODE_FILTER_BLOCK, // filtered; body
    NODE_MACRO,        // bytes: name; parameters, defaults in a; body
    NODE_CALL_BLOCK,   // call; parameters; body
    NODE_WITH,         // target, expression, target, expression, ...; body
    NODE_SCOPE,        // body: {% generation %}
    NODE_BREAK,
    NODE_CONTINUE,
    NODE_TARGET_ATTRIBUTE // bytes: name; a[0]: the namespace's NAME
};

struct node;
struct argument {
    std::string name;  // empty: by position
    uint8_t stars = 0; // 1: *x, 2: **x
    const node *expression;
};

struct node {
    node_kind kind;
    jinja_place at;
    std::vector<const node *> a;
    std::string bytes;
    uint32_t name = 0; // number of a variable
    const function_row *row = nullptr;
    value constant;
    std::vector<argument> arguments;
    std::vector<std::string> operators; // NODE_COMPARE
    std::vector<uint32_t> parameters;   // names; the last of them have defaults
    std::vector<const node *> body, other;
    bool recursive = false;
};

} // namespace jinja

struct jinja_template {
    std::deque<jinja::node> nodes;
    std::vector<const jinja::node *> body;
    std::vector<std::string> names; // of variables, by number
    std::unordered_map<std::string, uint32_t> number_of;
    jinja::heap constants;
};

namespace jinja {

// Fills *out from tokens.
bool parse(const std::vector<token> &tokens, jinja_template *out, syntax_error *error);

} // namespace jinja
} // namespace llm

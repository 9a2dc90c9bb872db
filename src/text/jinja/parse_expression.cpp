// Precedence, loosest first: a if b else c; or; and; not; comparisons; + -; ~; * / // %; **; unary; filters and tests.
#include "text/jinja/parser.h"
#include "text/jinja/run.h"
#include <charconv>

namespace llm {
namespace jinja {

bool refuse(parser *p, std::string message) {
    if (p->error->message.empty()) *p->error = {std::move(message), current(p).at};
    return false;
}

std::string describe(const token &t) {
    switch (t.kind) {
    case TOKEN_END: return "end of template";
    case TOKEN_DATA: return "text";
    case TOKEN_BLOCK_BEGIN: return "begin of statement block";
    case TOKEN_BLOCK_END: return "end of statement block";
    case TOKEN_PRINT_BEGIN: return "begin of print statement";
    case TOKEN_PRINT_END: return "end of print statement";
    default: return t.bytes;
    }
}

bool skip_name(parser *p, std::string_view name) {
    if (!is_name(current(p), name)) return false;
    p->at++;
    return true;
}
bool skip_operator(parser *p, std::string_view op) {
    if (!is_operator(current(p), op)) return false;
    p->at++;
    return true;
}
bool expect_operator(parser *p, std::string_view op) {
    if (skip_operator(p, op)) return true;
    return refuse(p, "unexpected '" + describe(current(p)) + "', expected '" + std::string(op) + "'");
}
bool expect_identifier(parser *p, std::string *out) {
    if (current(p).kind != TOKEN_NAME) return refuse(p, "expected a name, got '" + describe(current(p)) + "'");
    *out = (*p->tokens)[p->at++].bytes;
    return true;
}

node *new_node(parser *p, node_kind kind, jinja_place at) {
    p->out->nodes.emplace_back();
    node *n = &p->out->nodes.back();
    n->kind = kind;
    n->at = at;
    return n;
}

uint32_t name_number(parser *p, const std::string &name) {
    auto found = p->out->number_of.find(name);
    if (found != p->out->number_of.end()) return found->second;
    p->out->names.push_back(name);
    return p->out->number_of[name] = (uint32_t)p->out->names.size() - 1;
}

namespace {

const node *constant(parser *p, jinja_place at, const value &v) {
    node *n = new_node(p, NODE_CONSTANT, at);
    n->constant = v;
    return n;
}

const node *with_children(parser *p, node_kind kind, jinja_place at, std::initializer_list<const node *> children) {
    for (const node *child : children)
        if (!child) return nullptr;
    node *n = new_node(p, kind, at);
    n->a = children;
    return n;
}

value integer_of(parser *p, const std::string &digits) {
    int base = 10;
    size_t skip = 0;
    if (digits.size() > 2 && digits[0] == '0' && !isdigit((unsigned char)digits[1])) {
        const char letter = (char)tolower((unsigned char)digits[1]);
        base = letter == 'x' ? 16 : letter == 'o' ? 8 : 2;
        skip = 2;
    }
    int64_t i = 0;
    const char *end = digits.data() + digits.size();
    if (std::from_chars(digits.data() + skip, end, i, base).ec == std::errc()) return of_int(i);
    value v = of_string(&p->out->constants, digits);
    v.type = BIG;
    return v;
}

const node *parse_constant(parser *p) {
    const token &t = current(p);
    p->at++;
    if (t.kind == TOKEN_INTEGER) return constant(p, t.at, integer_of(p, t.bytes));
    if (t.kind == TOKEN_FLOAT) {
        double f = 0;
        std::from_chars(t.bytes.data(), t.bytes.data() + t.bytes.size(), f);
        return constant(p, t.at, of_float(f));
    }
    std::string s = t.bytes; // neighbouring strings are one
    while (current(p).kind == TOKEN_STRING) s += (*p->tokens)[p->at++].bytes;
    return constant(p, t.at, of_string(&p->out->constants, s));
}

const node *parse_name(parser *p) {
    const token &t = current(p);
    p->at++;
    if (t.bytes == "true" || t.bytes == "True") return constant(p, t.at, of_bool(true));
    if (t.bytes == "false" || t.bytes == "False") return constant(p, t.at, of_bool(false));
    if (t.bytes == "none" || t.bytes == "None") return constant(p, t.at, of_none());
    node *n = new_node(p, NODE_NAME, t.at);
    n->name = name_number(p, t.bytes);
    return n;
}

// Elements up to `end`; a comma may follow the last one.
bool parse_elements(parser *p, const char *end, std::vector<const node *> *out) {
    while (!is_operator(current(p), end)) {
        if (!out->empty() && !expect_operator(p, ",")) return false;
        if (is_operator(current(p), end)) break;
        out->push_back(parse_expression(p));
        if (!out->back()) return false;
    }
    p->at++;
    return true;
}

const node *parse_list(parser *p) {
    node *n = new_node(p, NODE_LIST, current(p).at);
    p->at++;
    return parse_elements(p, "]", &n->a) ? n : nullptr;
}

const node *parse_dict(parser *p) {
    node *n = new_node(p, NODE_DICT, current(p).at);
    p->at++;
    while (!is_operator(current(p), "}")) {
        if (!n->a.empty() && !expect_operator(p, ",")) return nullptr;
        if (is_operator(current(p), "}")) break;
        n->a.push_back(parse_expression(p));
        if (!n->a.back() || !expect_operator(p, ":")) return nullptr;
        n->a.push_back(parse_expression(p));
        if (!n->a.back()) return nullptr;
    }
    p->at++;
    return n;
}

const node *parse_parentheses(parser *p) {
    const jinja_place at = current(p).at;
    p->at++;
    if (skip_operator(p, ")")) return new_node(p, NODE_TUPLE, at);
    const node *inner = parse_tuple(p);
    return inner && expect_operator(p, ")") ? inner : nullptr;
}

const node *parse_primary(parser *p) {
    const token &t = current(p);
    if (t.kind == TOKEN_NAME) return parse_name(p);
    if (t.kind == TOKEN_STRING || t.kind == TOKEN_INTEGER || t.kind == TOKEN_FLOAT) return parse_constant(p);
    if (is_operator(t, "(")) return parse_parentheses(p);
    if (is_operator(t, "[")) return parse_list(p);
    if (is_operator(t, "{")) return parse_dict(p);
    refuse(p, "Expected an expression, got '" + describe(t) + "'");
    return nullptr;
}

const node *parse_attribute(parser *p, const node *object) {
    node *n = new_node(p, NODE_ATTRIBUTE, current(p).at);
    p->at++;
    n->a = {object};
    if (current(p).kind == TOKEN_INTEGER) { // a.0 is a[0]
        n->kind = NODE_SUBSCRIPT;
        n->a.push_back(parse_constant(p));
        return n;
    }
    return expect_identifier(p, &n->bytes) ? n : nullptr;
}

// [index], [start:stop:step], [a, b]
const node *parse_subscript(parser *p, const node *object) {
    const jinja_place at = current(p).at;
    p->at++;
    const node *parts[3] = {nullptr, nullptr, nullptr};
    size_t n_parts = 0;
    bool colon = false;
    for (;; n_parts++) {
        if (!is_operator(current(p), ":") && !is_operator(current(p), "]")) {
            parts[n_parts] = n_parts || colon ? parse_expression(p) : parse_tuple(p);
            if (!parts[n_parts]) return nullptr;
        }
        if (n_parts == 2 || !skip_operator(p, ":")) break;
        colon = true;
    }
    if (!colon && !parts[0]) {
        refuse(p, "Expected an expression, got ']'");
        return nullptr;
    }
    if (!expect_operator(p, "]")) return nullptr;
    node *n = new_node(p, colon ? NODE_SLICE : NODE_SUBSCRIPT, at);
    n->a = {object, parts[0]};
    if (colon) n->a = {object, parts[0], parts[1], parts[2]};
    return n;
}

const node *parse_call(parser *p, const node *callee) {
    node *n = new_node(p, NODE_CALL, current(p).at);
    n->a = {callee};
    return parse_arguments(p, &n->arguments) ? n : nullptr;
}

const node *parse_postfix(parser *p, const node *n) {
    while (n) {
        if (is_operator(current(p), "."))
            n = parse_attribute(p, n);
        else if (is_operator(current(p), "["))
            n = parse_subscript(p, n);
        else if (is_operator(current(p), "("))
            n = parse_call(p, n);
        else
            break;
    }
    return n;
}

// x is [not] name [argument]
const node *parse_test(parser *p, const node *input) {
    const jinja_place at = current(p).at;
    p->at++;
    const bool negated = skip_name(p, "not");
    node *n = new_node(p, NODE_TEST, at);
    n->a = {input};
    if (!expect_identifier(p, &n->bytes)) return nullptr;
    n->row = find_test(n->bytes);
    if (!n->row && !p->conditional) {
        refuse(p, "No test named '" + n->bytes + "'.");
        return nullptr;
    }
    const token &t = current(p);
    if (is_operator(t, "(")) {
        if (!parse_arguments(p, &n->arguments)) return nullptr;
    } else if (t.kind == TOKEN_STRING || t.kind == TOKEN_INTEGER || t.kind == TOKEN_FLOAT || is_operator(t, "[") ||
               is_operator(t, "{") ||
               (t.kind == TOKEN_NAME && t.bytes != "else" && t.bytes != "or" && t.bytes != "and" && t.bytes != "if" &&
                t.bytes != "is")) {
        const node *argument = parse_postfix(p, parse_primary(p));
        if (!argument) return nullptr;
        n->arguments.push_back({{}, 0, argument});
    }
    if (is_name(current(p), "is")) {
        refuse(p, "You cannot chain multiple tests with is");
        return nullptr;
    }
    return negated ? with_children(p, NODE_NOT, at, {n}) : n;
}

const node *parse_unary(parser *p, bool with_filters) {
    nesting deeper(p);
    if (p->depth > MAX_NESTING) {
        refuse(p, "expressions are nested too deeply");
        return nullptr;
    }
    const jinja_place at = current(p).at;
    const node *n;
    if (skip_operator(p, "-"))
        n = with_children(p, NODE_NEGATIVE, at, {parse_unary(p, false)});
    else if (skip_operator(p, "+"))
        n = with_children(p, NODE_POSITIVE, at, {parse_unary(p, false)});
    else
        n = parse_primary(p);
    n = parse_postfix(p, n);
    return n && with_filters ? parse_filters(p, n, true) : n;
}

// Operators of one level, from the left.
using parse_level = const node *(*)(parser *);
const node *parse_left(parser *p, std::initializer_list<const char *> operators, parse_level next) {
    const node *left = next(p);
    for (;;) {
        const char *found = nullptr;
        for (const char *op : operators)
            if (is_operator(current(p), op)) found = op;
        if (!left || !found) return left;
        const jinja_place at = current(p).at;
        p->at++;
        const node *right = next(p);
        if (!right) return nullptr;
        node *n = new_node(p, NODE_BINARY, at);
        n->bytes = found;
        n->a = {left, right};
        left = n;
    }
}

const node *parse_power(parser *p) {
    return parse_left(p, {"**"}, [](parser *q) { return parse_unary(q, true); });
}
const node *parse_product(parser *p) { return parse_left(p, {"*", "/", "//", "%"}, parse_power); }

const node *parse_concat(parser *p) {
    const jinja_place at = current(p).at;
    std::vector<const node *> parts = {parse_product(p)};
    while (parts.back() && skip_operator(p, "~")) parts.push_back(parse_product(p));
    if (parts.size() == 1 || !parts.back()) return parts.back();
    node *n = new_node(p, NODE_CONCAT, at);
    n->a = std::move(parts);
    return n;
}
const node *parse_sum(parser *p) { return parse_left(p, {"+", "-"}, parse_concat); }

bool take_comparison(parser *p, std::string *out) {
    for (const char *op : {"==", "!=", "<", "<=", ">", ">="})
        if (skip_operator(p, op)) return *out = op, true;
    if (skip_name(p, "in")) return *out = "in", true;
    if (!is_name(current(p), "not") || !is_name(ahead(p), "in")) return false;
    p->at += 2;
    *out = "not in";
    return true;
}

const node *parse_comparison(parser *p) {
    const jinja_place at = current(p).at;
    const node *first = parse_sum(p);
    std::string op;
    if (!first || !take_comparison(p, &op)) return first;
    node *n = new_node(p, NODE_COMPARE, at);
    n->a = {first};
    do {
        n->operators.push_back(op);
        n->a.push_back(parse_sum(p));
        if (!n->a.back()) return nullptr;
    } while (take_comparison(p, &op));
    return n;
}

const node *parse_not(parser *p) {
    nesting deeper(p);
    if (p->depth > MAX_NESTING) {
        refuse(p, "expressions are nested too deeply");
        return nullptr;
    }
    const jinja_place at = current(p).at;
    if (skip_name(p, "not")) return with_children(p, NODE_NOT, at, {parse_not(p)});
    return parse_comparison(p);
}

const node *parse_logic(parser *p, const char *word, node_kind kind, parse_level next) {
    const node *left = next(p);
    while (left && is_name(current(p), word)) {
        const jinja_place at = current(p).at;
        p->at++;
        left = with_children(p, kind, at, {left, next(p)});
    }
    return left;
}
const node *parse_and(parser *p) { return parse_logic(p, "and", NODE_AND, parse_not); }
const node *parse_or(parser *p) { return parse_logic(p, "or", NODE_OR, parse_and); }

bool ends_tuple(const token &t) {
    return t.kind == TOKEN_BLOCK_END || t.kind == TOKEN_PRINT_END || t.kind == TOKEN_END || is_operator(t, ")") ||
           is_operator(t, "]") || is_operator(t, "}") || is_operator(t, "=") || is_name(t, "in") ||
           is_name(t, "recursive");
}

} // namespace

const node *parse_expression(parser *p, bool with_condition) {
    nesting deeper(p);
    if (p->depth > MAX_NESTING) {
        refuse(p, "expressions are nested too deeply");
        return nullptr;
    }
    const node *n = parse_or(p);
    while (n && with_condition && is_name(current(p), "if")) {
        const jinja_place at = current(p).at;
        p->at++;
        const node *condition = parse_or(p);
        const node *other = nullptr;
        if (condition && skip_name(p, "else")) {
            other = parse_expression(p);
            if (!other) return nullptr;
        }
        if (!condition) return nullptr;
        node *whole = new_node(p, NODE_CONDITION, at);
        whole->a = {n, condition, other};
        n = whole;
    }
    return n;
}

const node *parse_tuple(parser *p, bool with_condition) {
    const jinja_place at = current(p).at;
    const node *first = parse_expression(p, with_condition);
    if (!first || !is_operator(current(p), ",")) return first;
    node *n = new_node(p, NODE_TUPLE, at);
    n->a = {first};
    while (skip_operator(p, ",")) {
        if (ends_tuple(current(p))) break;
        n->a.push_back(parse_expression(p, with_condition));
        if (!n->a.back()) return nullptr;
    }
    return n;
}

const node *parse_primary_chain(parser *p) { return parse_postfix(p, parse_primary(p)); }

const node *parse_filter(parser *p, const node *input, jinja_place at) {
    node *n = new_node(p, NODE_FILTER, at);
    n->a = {input};
    if (!expect_identifier(p, &n->bytes)) return nullptr;
    n->row = find_filter(n->bytes);
    if (!n->row && !p->conditional) {
        p->at--;
        refuse(p, "No filter named '" + n->bytes + "'.");
        return nullptr;
    }
    if (is_operator(current(p), "(") && !parse_arguments(p, &n->arguments)) return nullptr;
    return n;
}

const node *parse_filters(parser *p, const node *input, bool with_tests) {
    const node *n = input;
    while (n) {
        const jinja_place at = current(p).at;
        if (skip_operator(p, "|"))
            n = parse_filter(p, n, at);
        else if (with_tests && is_name(current(p), "is"))
            n = parse_test(p, n);
        else if (with_tests && is_operator(current(p), "("))
            n = parse_call(p, n);
        else
            break;
    }
    return n;
}

bool parse_arguments(parser *p, std::vector<argument> *out) {
    if (!expect_operator(p, "(")) return false;
    while (!is_operator(current(p), ")")) {
        if (!out->empty() && !expect_operator(p, ",")) return false;
        if (is_operator(current(p), ")")) break;
        argument a = {{}, 0, nullptr};
        if (skip_operator(p, "*"))
            a.stars = 1;
        else if (skip_operator(p, "**"))
            a.stars = 2;
        else if (current(p).kind == TOKEN_NAME && is_operator(ahead(p), "=")) {
            a.name = current(p).bytes;
            p->at += 2;
        } else if (!out->empty() && (!out->back().name.empty() || out->back().stars == 2)) {
            return refuse(p, "invalid syntax for function call expression");
        }
        a.expression = parse_expression(p);
        if (!a.expression) return false;
        out->push_back(std::move(a));
    }
    p->at++;
    return true;
}

} // namespace jinja
} // namespace llm

#include "text/jinja/parser.h"

namespace llm {
namespace jinja {

namespace {

using statement_parser = const node *(*)(parser *p, jinja_place at);

bool end_block(parser *p) {
    if (current(p).kind == TOKEN_BLOCK_END) return p->at++, true;
    return refuse(p, "expected token 'end of statement block', got '" + describe(current(p)) + "'");
}

// Body up to {% end %}, which is taken whole.
bool parse_to_end(parser *p, const char *end, std::vector<const node *> *out) {
    if (!end_block(p) || !parse_body(p, {end}, out)) return false;
    p->at++;
    return end_block(p);
}

const node *parse_if(parser *p, jinja_place at) {
    node *whole = new_node(p, NODE_IF, at), *n = whole;
    p->conditional++;
    for (;;) {
        const node *condition = parse_tuple(p, false);
        if (!condition) return nullptr;
        n->a = {condition};
        if (!end_block(p) || !parse_body(p, {"elif", "else", "endif"}, &n->body)) return nullptr;
        const jinja_place next = current(p).at;
        if (!skip_name(p, "elif")) break;
        node *inner = new_node(p, NODE_IF, next);
        n->other = {inner};
        n = inner;
    }
    if (skip_name(p, "else") && (!end_block(p) || !parse_body(p, {"endif"}, &n->other))) return nullptr;
    p->conditional--;
    p->at++;
    return end_block(p) ? whole : nullptr;
}

const node *parse_for(parser *p, jinja_place at) {
    node *n = new_node(p, NODE_FOR, at);
    const node *target = parse_target(p, false);
    if (!target) return nullptr;
    if (!skip_name(p, "in")) {
        refuse(p, "expected 'in', got '" + describe(current(p)) + "'");
        return nullptr;
    }
    const node *sequence = parse_tuple(p, false), *condition = nullptr;
    if (!sequence) return nullptr;
    if (skip_name(p, "if") && !(condition = parse_expression(p))) return nullptr;
    n->recursive = skip_name(p, "recursive");
    n->a = {target, sequence, condition};
    p->loop_depth++;
    if (!end_block(p) || !parse_body(p, {"else", "endfor"}, &n->body)) return nullptr;
    p->loop_depth--;
    if (skip_name(p, "else") && (!end_block(p) || !parse_body(p, {"endfor"}, &n->other))) return nullptr;
    p->at++;
    return end_block(p) ? n : nullptr;
}

// {% set a, b = x %}, {% set ns.a = x %}, {% set a | filter %}...{% endset %}
const node *parse_set(parser *p, jinja_place at) {
    const node *target = parse_target(p, true);
    if (!target) return nullptr;
    if (skip_operator(p, "=")) {
        const node *expression = parse_tuple(p);
        if (!expression || !end_block(p)) return nullptr;
        node *n = new_node(p, NODE_SET, at);
        n->a = {target, expression};
        return n;
    }
    node *n = new_node(p, NODE_SET_BLOCK, at);
    const node *filtered = parse_filters(p, new_node(p, NODE_CAPTURED, at), false);
    if (!filtered) return nullptr;
    n->a = {target, filtered};
    return parse_to_end(p, "endset", &n->body) ? n : nullptr;
}

// (a, b=1)
bool parse_parameters(parser *p, node *n) {
    if (!expect_operator(p, "(")) return false;
    while (!is_operator(current(p), ")")) {
        std::string name;
        if (!n->parameters.empty() && !expect_operator(p, ",")) return false;
        if (is_operator(current(p), ")")) break;
        if (!expect_identifier(p, &name)) return false;
        n->parameters.push_back(name_number(p, name));
        if (skip_operator(p, "=")) {
            n->a.push_back(parse_expression(p));
            if (!n->a.back()) return false;
        } else if (!n->a.empty()) {
            return refuse(p, "non-default argument follows default argument");
        }
    }
    p->at++;
    return true;
}

// A macro's body is no part of the loops around it.
bool parse_macro_body(parser *p, const char *end, node *n) {
    const int around = p->loop_depth;
    p->loop_depth = 0;
    const bool ok = parse_to_end(p, end, &n->body);
    p->loop_depth = around;
    return ok;
}

const node *parse_macro(parser *p, jinja_place at) {
    node *n = new_node(p, NODE_MACRO, at);
    if (!expect_identifier(p, &n->bytes)) return nullptr;
    n->name = name_number(p, n->bytes);
    return parse_parameters(p, n) && parse_macro_body(p, "endmacro", n) ? n : nullptr;
}

const node *parse_call_block(parser *p, jinja_place at) {
    node *n = new_node(p, NODE_CALL_BLOCK, at);
    n->bytes = "caller";
    if (is_operator(current(p), "(") && !parse_parameters(p, n)) return nullptr;
    const node *call = parse_expression(p);
    if (!call) return nullptr;
    if (call->kind != NODE_CALL) {
        refuse(p, "expected call");
        return nullptr;
    }
    n->a.insert(n->a.begin(), call);
    return parse_macro_body(p, "endcall", n) ? n : nullptr;
}

const node *parse_filter_block(parser *p, jinja_place at) {
    node *n = new_node(p, NODE_FILTER_BLOCK, at);
    const node *filtered = parse_filter(p, new_node(p, NODE_CAPTURED, at), at);
    filtered = filtered ? parse_filters(p, filtered, false) : nullptr;
    if (!filtered) return nullptr;
    n->a = {filtered};
    return parse_to_end(p, "endfilter", &n->body) ? n : nullptr;
}

const node *parse_with(parser *p, jinja_place at) {
    node *n = new_node(p, NODE_WITH, at);
    while (current(p).kind != TOKEN_BLOCK_END) {
        if (!n->a.empty() && !expect_operator(p, ",")) return nullptr;
        n->a.push_back(parse_target(p, false));
        if (!n->a.back() || !expect_operator(p, "=")) return nullptr;
        n->a.push_back(parse_expression(p));
        if (!n->a.back()) return nullptr;
    }
    return parse_to_end(p, "endwith", &n->body) ? n : nullptr;
}

const node *parse_generation(parser *p, jinja_place at) {
    node *n = new_node(p, NODE_SCOPE, at);
    return parse_to_end(p, "endgeneration", &n->body) ? n : nullptr;
}

const node *parse_jump(parser *p, jinja_place at, node_kind kind) {
    if (p->loop_depth == 0) {
        refuse(p, "break and continue are possible in loops only");
        return nullptr;
    }
    return end_block(p) ? new_node(p, kind, at) : nullptr;
}
const node *parse_break(parser *p, jinja_place at) { return parse_jump(p, at, NODE_BREAK); }
const node *parse_continue(parser *p, jinja_place at) { return parse_jump(p, at, NODE_CONTINUE); }

struct statement_row {
    const char *name;
    statement_parser parse;
};
const statement_row statements[] = {
    {"if", parse_if},           {"for", parse_for},
    {"set", parse_set},         {"macro", parse_macro},
    {"call", parse_call_block}, {"filter", parse_filter_block},
    {"with", parse_with},       {"generation", parse_generation},
    {"break", parse_break},     {"continue", parse_continue},
};

const node *parse_block(parser *p) {
    const jinja_place at = current(p).at;
    if (current(p).kind != TOKEN_NAME) {
        refuse(p, "tag name expected");
        return nullptr;
    }
    for (const statement_row &row : statements)
        if (skip_name(p, row.name)) return row.parse(p, at);
    refuse(p, "Encountered unknown tag '" + current(p).bytes + "'.");
    return nullptr;
}

const node *parse_print(parser *p, jinja_place at) {
    const node *expression = parse_tuple(p);
    if (!expression) return nullptr;
    if (current(p).kind != TOKEN_PRINT_END) {
        refuse(p, "expected token 'end of print statement', got '" + describe(current(p)) + "'");
        return nullptr;
    }
    p->at++;
    node *n = new_node(p, NODE_PRINT, at);
    n->a = {expression};
    return n;
}

const node *parse_data(parser *p) {
    node *n = new_node(p, NODE_DATA, current(p).at);
    n->constant = of_string(&p->out->constants, current(p).bytes);
    p->at++;
    return n;
}

bool at_end(const parser *p, std::initializer_list<const char *> ends) {
    if (current(p).kind != TOKEN_BLOCK_BEGIN) return false;
    for (const char *end : ends)
        if (is_name(ahead(p), end)) return true;
    return false;
}

const node *parse_target_name(parser *p, bool attributes) {
    const jinja_place at = current(p).at;
    std::string name;
    if (current(p).kind != TOKEN_NAME) {
        refuse(p, "Expected an expression, got '" + describe(current(p)) + "'");
        return nullptr;
    }
    expect_identifier(p, &name);
    node *variable = new_node(p, NODE_NAME, at);
    variable->name = name_number(p, name);
    if (!attributes || !skip_operator(p, ".")) return variable;
    node *n = new_node(p, NODE_TARGET_ATTRIBUTE, at);
    n->a = {variable};
    return expect_identifier(p, &n->bytes) ? n : nullptr;
}

} // namespace

const node *parse_target(parser *p, bool attributes) {
    nesting deeper(p);
    if (p->depth > MAX_NESTING) {
        refuse(p, "expressions are nested too deeply");
        return nullptr;
    }
    const jinja_place at = current(p).at;
    std::vector<const node *> parts;
    bool comma = false;
    do {
        if (comma && (is_name(current(p), "in") || is_operator(current(p), "=") || is_operator(current(p), ")"))) break;
        const node *part;
        if (skip_operator(p, "(")) {
            part = parse_target(p, attributes);
            if (part && !expect_operator(p, ")")) return nullptr;
        } else {
            part = parse_target_name(p, attributes);
        }
        if (!part) return nullptr;
        parts.push_back(part);
        if (skip_operator(p, ","))
            comma = true;
        else
            break;
    } while (true);
    if (!comma) return parts[0];
    node *n = new_node(p, NODE_TUPLE, at);
    n->a = std::move(parts);
    return n;
}

// Stops before the name of the tag that ends it.
bool parse_body(parser *p, std::initializer_list<const char *> ends, std::vector<const node *> *out) {
    nesting deeper(p);
    if (p->depth > MAX_NESTING) return refuse(p, "blocks are nested too deeply");
    while (!at_end(p, ends)) {
        const token &t = current(p);
        const node *n;
        if (t.kind == TOKEN_END) {
            if (ends.size() == 0) return true;
            std::string expected;
            for (const char *end : ends) expected += (expected.empty() ? "'" : " or '") + std::string(end) + "'";
            return refuse(p, "Unexpected end of template. Jinja was looking for the following tags: " + expected + ".");
        }
        if (t.kind == TOKEN_DATA) {
            n = parse_data(p);
        } else {
            const jinja_place at = t.at;
            p->at++;
            n = t.kind == TOKEN_PRINT_BEGIN ? parse_print(p, at) : parse_block(p);
        }
        if (!n) return false;
        out->push_back(n);
    }
    p->at++;
    return true;
}

bool parse(const std::vector<token> &tokens, jinja_template *out, syntax_error *error) {
    parser p = {&tokens, out, error};
    return parse_body(&p, {}, &out->body);
}

} // namespace jinja
} // namespace llm

#include "text/jinja/run.h"
#include <algorithm>
#include <time.h>

namespace llm {
namespace jinja {

namespace {

enum flow : uint8_t { FLOW_ERROR, FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE };

flow run_body(run *r, const std::vector<const node *> &body);

scope *new_scope(run *r, scope *parent) {
    r->memory.used += sizeof(scope);
    r->scopes.push_back({parent, {}});
    return &r->scopes.back();
}

void set_variable(run *r, uint32_t name, const value &v) {
    for (auto &variable : r->here->variables)
        if (variable.first == name) {
            variable.second = v;
            return;
        }
    r->memory.used += sizeof(value) + 8;
    r->here->variables.push_back({name, v});
}

bool assign(run *r, const node *target, const value &v) {
    if (target->kind == NODE_NAME) return set_variable(r, target->name, v), true;
    if (target->kind == NODE_TARGET_ATTRIBUTE) {
        value *space = find_variable(r, target->a[0]->name);
        r->at = target;
        if (!space || space->type != NAMESPACE) return raise(r, "cannot assign attribute on non-namespace object");
        return dict_set(&r->memory, space->d, of_string(&r->memory, target->bytes), v);
    }
    std::vector<value> parts;
    r->at = target;
    if (!elements_of(r, v, &parts)) return false;
    if (parts.size() != target->a.size())
        return raise(r, (parts.size() < target->a.size() ? "not enough" : "too many") +
                            std::string(" values to unpack (expected ") + std::to_string(target->a.size()) + ", got " +
                            std::to_string(parts.size()) + ")");
    for (size_t i = 0; i < parts.size(); i++)
        if (!assign(r, target->a[i], parts[i])) return false;
    return true;
}

// What `body` prints, as a text of its own.
bool capture(run *r, const std::vector<const node *> &body, text *out) {
    text *before = r->out;
    r->out = out;
    const flow f = run_body(r, body);
    r->out = before;
    return f != FLOW_ERROR;
}

// ---- loops ----

bool keep_where(run *r, const node *n, scope *around, std::vector<value> *items) {
    std::vector<value> kept;
    for (const value &item : *items) {
        r->here = new_scope(r, around);
        value condition;
        if (!assign(r, n->a[0], item) || !evaluate(r, n->a[2], &condition)) return false;
        if (is_true(condition)) kept.push_back(item);
    }
    items->swap(kept);
    return true;
}

uint32_t number_of_loop(const run *r) {
    auto found = r->t->number_of.find("loop");
    return found == r->t->number_of.end() ? UINT32_MAX : found->second;
}

flow run_loop(run *r, const node *n, scope *around, const value &sequence, int depth) {
    std::vector<value> items;
    if (!elements_of(r, sequence, &items)) return FLOW_ERROR;
    if (n->a[2] && !keep_where(r, n, around, &items)) return FLOW_ERROR;
    r->memory.used += sizeof(loop_state) + items.size() * sizeof(value);
    r->memory.loops.emplace_back();
    loop_state *loop = &r->memory.loops.back();
    loop->items = std::move(items);
    loop->depth = depth;
    loop->definition = n;
    loop->around = around;
    value self;
    self.type = LOOP;
    self.loop = loop;
    const uint32_t name = number_of_loop(r);
    for (; loop->at < loop->items.size(); loop->at++) {
        r->here = new_scope(r, around);
        if (name != UINT32_MAX) set_variable(r, name, self);
        if (!assign(r, n->a[0], loop->items[loop->at])) return FLOW_ERROR;
        const flow f = run_body(r, n->body);
        if (f == FLOW_ERROR) return f;
        if (f == FLOW_BREAK) break;
    }
    r->here = around;
    if (!loop->items.empty()) return FLOW_NEXT;
    return run_body(r, n->other);
}

flow run_for(run *r, const node *n) {
    value sequence;
    if (!evaluate(r, n->a[1], &sequence)) return FLOW_ERROR;
    r->at = n;
    scope *around = r->here;
    const flow f = run_loop(r, n, around, sequence, 1);
    r->here = around;
    return f;
}

flow run_if(run *r, const node *n) {
    for (;;) {
        value condition;
        if (!evaluate(r, n->a[0], &condition)) return FLOW_ERROR;
        if (is_true(condition)) return run_body(r, n->body);
        if (n->other.size() != 1 || n->other[0]->kind != NODE_IF) return run_body(r, n->other);
        n = n->other[0];
    }
}

flow result(bool ok) { return ok ? FLOW_NEXT : FLOW_ERROR; }

bool run_set(run *r, const node *n) {
    value v;
    return evaluate(r, n->a[1], &v) && assign(r, n->a[0], v);
}

// The text of a body, through filters.
bool filtered(run *r, const node *n, const node *filters, value *out) {
    text captured;
    scope *around = r->here;
    r->here = new_scope(r, around);
    const bool ok = capture(r, n->body, &captured);
    r->here = around;
    if (!ok) return false;
    const text *before = r->captured;
    r->captured = &captured;
    const bool done = evaluate(r, filters, out);
    r->captured = before;
    return done;
}

bool run_set_block(run *r, const node *n) {
    value v;
    return filtered(r, n, n->a[1], &v) && assign(r, n->a[0], v);
}
bool run_filter_block(run *r, const node *n) {
    value v;
    return filtered(r, n, n->a[0], &v) && text_of(r, v, r->out);
}

value new_macro(run *r, const node *n) {
    value v;
    v.type = MACRO;
    r->memory.used += sizeof(macro);
    r->memory.macros.push_back({n, r->here});
    v.m = &r->memory.macros.back();
    return v;
}

bool run_macro(run *r, const node *n) {
    set_variable(r, n->name, new_macro(r, n));
    return true;
}

// {% call f(x) %}body{% endcall %}: the body is a macro that f calls as caller().
bool run_call_block(run *r, const node *n) {
    const node *call = n->a[0];
    value callee, out;
    args a;
    if (!evaluate(r, call->a[0], &callee)) return false;
    for (const argument &given : call->arguments) {
        value v;
        if (!evaluate(r, given.expression, &v)) return false;
        if (given.name.empty())
            a.at.push_back(v);
        else
            a.named.push_back({given.name, v});
    }
    a.named.push_back({"caller", new_macro(r, n)});
    r->at = n;
    return call_value(r, callee, &a, &out) && text_of(r, out, r->out);
}

flow run_with(run *r, const node *n) {
    scope *around = r->here, *inner = new_scope(r, around);
    std::vector<value> values(n->a.size() / 2);
    for (size_t i = 0; i < values.size(); i++)
        if (!evaluate(r, n->a[2 * i + 1], &values[i])) return FLOW_ERROR;
    r->here = inner;
    for (size_t i = 0; i < values.size(); i++)
        if (!assign(r, n->a[2 * i], values[i])) return FLOW_ERROR;
    const flow f = run_body(r, n->body);
    r->here = around;
    return f;
}

flow run_print(run *r, const node *n) {
    value v;
    if (!evaluate(r, n->a[0], &v) || !text_of(r, v, r->out)) return FLOW_ERROR;
    return r->out->bytes.size() <= r->max_bytes ? FLOW_NEXT : result(out_of_budget(r));
}

flow run_statement(run *r, const node *n) {
    switch (n->kind) {
    case NODE_DATA: append(r->out, *n->constant.s); return FLOW_NEXT;
    case NODE_PRINT: return run_print(r, n);
    case NODE_IF: return run_if(r, n);
    case NODE_FOR: return run_for(r, n);
    case NODE_SET: return result(run_set(r, n));
    case NODE_SET_BLOCK: return result(run_set_block(r, n));
    case NODE_FILTER_BLOCK: return result(run_filter_block(r, n));
    case NODE_MACRO: return result(run_macro(r, n));
    case NODE_CALL_BLOCK: return result(run_call_block(r, n));
    case NODE_WITH: return run_with(r, n);
    case NODE_SCOPE: return run_body(r, n->body);
    case NODE_BREAK: return FLOW_BREAK;
    case NODE_CONTINUE: return FLOW_CONTINUE;
    default: return result(raise(r, "an expression stands where a statement is expected"));
    }
}

flow run_body(run *r, const std::vector<const node *> &body) {
    if (r->depth >= MAX_RUN_DEPTH) return result(raise(r, "maximum recursion depth exceeded"));
    r->depth++;
    flow f = FLOW_NEXT;
    for (size_t i = 0; f == FLOW_NEXT && i < body.size(); i++) {
        r->at = body[i];
        if (!r->left.spend(1))
            f = result(out_of_budget(r));
        else
            f = run_statement(r, body[i]);
    }
    r->depth--;
    return f;
}

// ---- macros ----

const value *named_argument(const args *a, const std::string &name) {
    for (const auto &given : a->named)
        if (given.first == name) return &given.second;
    return nullptr;
}

void set_by_name(run *r, const char *name, const value &v) {
    auto found = r->t->number_of.find(name);
    if (found != r->t->number_of.end()) set_variable(r, found->second, v);
}

// What the parameters do not take goes to varargs and kwargs, if the body mentions these.
bool take_rest(run *r, const node *n, const args *a) {
    std::vector<value> more;
    if (a->at.size() > n->parameters.size()) more.assign(a->at.begin() + (ptrdiff_t)n->parameters.size(), a->at.end());
    value named = new_dict(&r->memory);
    for (const auto &given : a->named) {
        auto number = r->t->number_of.find(given.first);
        bool taken = given.first == "caller";
        for (uint32_t parameter : n->parameters)
            taken = taken || (number != r->t->number_of.end() && number->second == parameter);
        if (given.first == "caller") set_by_name(r, "caller", given.second);
        if (!taken) dict_set(&r->memory, named.d, of_string(&r->memory, given.first), given.second);
    }
    const bool takes_more = r->t->number_of.count("varargs"), takes_named = r->t->number_of.count("kwargs");
    if (!more.empty() && !takes_more)
        return raise(r, "macro '" + n->bytes + "' takes not more than " + std::to_string(n->parameters.size()) +
                            " argument(s)");
    if (!named.d->items.empty() && !takes_named)
        return raise(r,
                     "macro '" + n->bytes + "' takes no keyword argument '" + named.d->items[0].first.s->bytes + "'");
    set_by_name(r, "varargs", of_list(&r->memory, std::move(more), TUPLE));
    set_by_name(r, "kwargs", named);
    return true;
}

bool bind_parameters(run *r, const node *n, const args *a) {
    const size_t first_default = n->kind == NODE_CALL_BLOCK ? 1 : 0; // a[0] is the call there
    const size_t n_defaults = n->a.size() - first_default, n_plain = n->parameters.size() - n_defaults;
    if (!take_rest(r, n, a)) return false;
    for (size_t i = 0; i < n->parameters.size(); i++) {
        const std::string &name = r->t->names[n->parameters[i]];
        const value *given = i < a->at.size() ? &a->at[i] : named_argument(a, name);
        value v = undefined(r, "parameter '" + name + "' was not provided");
        if (given)
            v = *given;
        else if (i >= n_plain && !evaluate(r, n->a[first_default + i - n_plain], &v))
            return false;
        set_variable(r, n->parameters[i], v);
    }
    return true;
}

} // namespace

bool call_macro(run *r, const macro *m, const args *a, value *out) {
    scope *before = r->here;
    r->here = new_scope(r, m->around);
    text t;
    const bool ok = bind_parameters(r, m->definition, a) && capture(r, m->definition->body, &t);
    r->here = before;
    if (!ok) return false;
    *out = of_text(&r->memory, std::move(t));
    return true;
}

bool call_loop(run *r, const loop_state *loop, const value &sequence, value *out) {
    if (!loop->definition->recursive)
        return raise(r, "The loop must have the 'recursive' marker to be called recursively.");
    scope *before = r->here;
    text t, *printed = r->out;
    r->out = &t;
    const flow f = run_loop(r, loop->definition, loop->around, sequence, loop->depth + 1);
    r->out = printed;
    r->here = before;
    if (f == FLOW_ERROR) return false;
    *out = of_text(&r->memory, std::move(t));
    return true;
}

bool execute(run *r, const std::vector<const node *> &body) { return run_body(r, body) != FLOW_ERROR; }

} // namespace jinja

// ---- the outside ----

using namespace jinja;

void jinja_free::operator()(jinja_template *t) const { delete t; }

static llm_status report(const syntax_error &error, const char *what, jinja_place *at, llm_error *err) {
    if (at) *at = error.at;
    if (!error.at.line) return fail(err, LLM_ERR_TEMPLATE, "%s: %s", what, error.message.c_str());
    return fail(err, LLM_ERR_TEMPLATE, "%s, line %u, column %u: %s", what, error.at.line, error.at.column,
                error.message.c_str());
}

llm_status jinja_compile(std::string_view source, jinja_handle *out, jinja_place *at, llm_error *err) {
    jinja_handle t(new jinja_template);
    std::vector<token> tokens;
    syntax_error error;
    if (!tokenise(source, &tokens, &error) || !parse(tokens, t.get(), &error))
        return report(error, "template", at, err);
    *out = std::move(t);
    return LLM_OK;
}

// A role: letters, digits and what joins them, so that by itself it spells no control token.
static bool is_plain_name(std::string_view name) {
    return std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
}

// What a program passes and no user writes counts as the template's own: templates print bos_token, and some build
// control tokens from roles ('<|' + message.role + '|>').
static void trust_names(const dict *variables) {
    for (const char *token : {"bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token"})
        if (const value *v = dict_find(variables, token))
            if (v->type == STRING) v->s->marks.clear();
    const value *messages = dict_find(variables, "messages");
    if (!messages || messages->type != LIST) return;
    for (const value &message : messages->l->items) {
        const value *role = message.type == DICT ? dict_find(message.d, "role") : nullptr;
        if (role && role->type == STRING && is_plain_name(role->s->bytes)) role->s->marks.clear();
    }
}

static bool read_variables(run *r, std::string_view json) {
    std::string reason;
    if (!from_json(&r->memory, json, &r->variables, &reason)) return raise(r, "the variables are no JSON: " + reason);
    if (r->variables.type != DICT) return raise(r, "the variables must be a JSON object");
    trust_names(r->variables.d);
    r->here = &(r->scopes.push_back({nullptr, {}}), r->scopes.back());
    for (const auto &entry : r->variables.d->items) {
        auto number = r->t->number_of.find(entry.first.s->bytes);
        if (number != r->t->number_of.end()) r->here->variables.push_back({number->second, entry.second});
    }
    return true;
}

llm_status jinja_render(const jinja_template *t, std::string_view variables, const jinja_time *now,
                        const jinja_limits *limits, jinja_result *out, jinja_place *at, llm_error *err) {
    const jinja_limits usual;
    if (!limits) limits = &usual;
    text result;
    run r;
    r.t = t;
    r.left = {limits->steps, limits->bytes};
    r.max_bytes = limits->bytes;
    r.now = now;
    r.out = &result;
    if (!read_variables(&r, variables) || !execute(&r, t->body)) return report(r.error, "template", at, err);
    out->text = std::move(result.bytes);
    out->marks = std::move(result.marks);
    return LLM_OK;
}

bool jinja_time_parse(const char *iso, jinja_time *out) {
    jinja_time t;
    int end = 0;
    if (sscanf(iso, "%4d-%2d-%2dT%2d:%2d:%2d%n", &t.year, &t.month, &t.day, &t.hour, &t.minute, &t.second, &end) != 6)
        return false;
    if (iso[end] || t.month < 1 || t.month > 12 || t.day < 1 || t.day > 31 || t.hour > 23 || t.minute > 59 ||
        t.second > 60)
        return false;
    *out = t;
    return true;
}

jinja_time jinja_time_now() {
    const time_t now = time(nullptr);
    struct tm t = {};
#if defined(_WIN32)
    localtime_s(&t, &now);
#else
    localtime_r(&now, &t);
#endif
    return {t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec};
}

} // namespace llm

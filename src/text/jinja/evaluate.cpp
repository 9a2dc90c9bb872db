#include "text/jinja/run.h"
#include <math.h>

namespace llm {
namespace jinja {

bool raise(run *r, std::string message) {
    if (r->error.message.empty()) r->error = {std::move(message), r->at ? r->at->at : jinja_place()};
    return false;
}

bool out_of_budget(run *r) {
    return raise(r, "the template takes more memory or steps than are allowed, or nests values too deeply");
}

value undefined(run *r, std::string hint) {
    value v = of_text(&r->memory, {std::move(hint), {}});
    v.type = UNDEFINED;
    return v;
}
bool raise_undefined(run *r, const value &v) { return raise(r, v.s ? v.s->bytes : "a value is undefined"); }

value of_text_checked(run *r, text t) { return of_text(&r->memory, std::move(t)); }

value *find_variable(run *r, uint32_t name) {
    for (scope *s = r->here; s; s = s->parent)
        for (size_t i = s->variables.size(); i-- > 0;)
            if (s->variables[i].first == name) return &s->variables[i].second;
    return nullptr;
}

bool text_of(run *r, const value &v, text *out) { return within(r, print(v, &r->left, out)); }

bool less(run *r, const value &a, const value &b, bool *out) {
    int order;
    bool comparable;
    if (!compare(a, b, &r->left, &order, &comparable)) return out_of_budget(r);
    *out = order < 0;
    if (a.type == UNDEFINED) return raise_undefined(r, a);
    if (b.type == UNDEFINED) return raise_undefined(r, b);
    if (comparable) return true;
    return raise(r, std::string("'<' not supported between instances of '") + type_name(a) + "' and '" + type_name(b) +
                        "'");
}

bool elements_of(run *r, const value &v, std::vector<value> *out) {
    switch (v.type) {
    case UNDEFINED: return true;
    case LIST:
    case TUPLE: *out = v.l->items; break;
    case DICT:
        for (const auto &entry : v.d->items) out->push_back(entry.first);
        break;
    case STRING: {
        const std::vector<size_t> starts = character_starts(v.s->bytes);
        if (!within(r, r->left.spend(starts.size()))) return false;
        for (size_t i = 0; i + 1 < starts.size(); i++)
            out->push_back(of_text(&r->memory, slice_text(*v.s, starts[i], starts[i + 1] - starts[i])));
        return true;
    }
    case RANGE: {
        const int64_t n = range_length(v.r);
        if (!within(r, r->left.spend((uint64_t)n))) return false;
        for (int64_t i = 0; i < n; i++) out->push_back(of_int(v.r->start + i * v.r->step));
        return true;
    }
    default: return raise(r, std::string("'") + type_name(v) + "' object is not iterable");
    }
    return within(r, r->left.spend(out->size()));
}

// ---- operators ----

namespace {

bool bad_operands(run *r, const std::string &op, const value &a, const value &b) {
    if (a.type == UNDEFINED) return raise_undefined(r, a);
    if (b.type == UNDEFINED) return raise_undefined(r, b);
    if (op == "+" && a.type == STRING)
        return raise(r, std::string("can only concatenate str (not \"") + type_name(b) + "\") to str");
    return raise(r, "unsupported operand type(s) for " + op + ": '" + type_name(a) + "' and '" + type_name(b) + "'");
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }
double floor_mod(double a, double b) {
    const double m = a - floor(a / b) * b;
    return m == b ? 0 : m;
}

// Whole exponents, and one half; templates count with these. libm's pow() would be another thing to agree on
// everywhere.
bool float_power(run *r, double base, double exponent, value *out) {
    if (exponent == 0.5) return *out = of_float(sqrt(base)), true;
    if (exponent != floor(exponent) || fabs(exponent) > 1024) return raise(r, "only whole exponents are supported");
    double result = 1, factor = base;
    for (uint64_t n = (uint64_t)fabs(exponent); n; n >>= 1, factor *= factor)
        if (n & 1) result *= factor;
    *out = of_float(exponent < 0 ? 1 / result : result);
    return true;
}

bool power(run *r, int64_t base, int64_t exponent, value *out) {
    if (exponent < 0) return float_power(r, (double)base, (double)exponent, out);
    int64_t result = 1;
    for (; exponent; exponent >>= 1) {
        if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) return raise(r, "integer out of range");
        if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) return raise(r, "integer out of range");
    }
    *out = of_int(result);
    return true;
}

bool integer_operation(run *r, const std::string &op, int64_t a, int64_t b, value *out) {
    int64_t i = 0;
    bool overflow = false;
    if (op == "+")
        overflow = __builtin_add_overflow(a, b, &i);
    else if (op == "-")
        overflow = __builtin_sub_overflow(a, b, &i);
    else if (op == "*")
        overflow = __builtin_mul_overflow(a, b, &i);
    else if (op == "**")
        return power(r, a, b, out);
    else if (b == 0)
        return raise(r, op == "/" ? "division by zero" : "integer division or modulo by zero");
    else if (op == "/")
        return *out = of_float((double)a / (double)b), true;
    else if (a == INT64_MIN && b == -1)
        overflow = op == "//";
    else
        i = op == "//" ? floor_div(a, b) : a - floor_div(a, b) * b;
    if (overflow) return raise(r, "integer out of range");
    *out = of_int(i);
    return true;
}

bool float_operation(run *r, const std::string &op, double a, double b, value *out) {
    if ((op == "/" || op == "//" || op == "%") && b == 0) return raise(r, "float division by zero");
    if (op == "**") return float_power(r, a, b, out);
    *out = of_float(op == "+"    ? a + b
                    : op == "-"  ? a - b
                    : op == "*"  ? a * b
                    : op == "/"  ? a / b
                    : op == "//" ? floor(a / b)
                                 : floor_mod(a, b));
    return true;
}

// "ab" * 3, [1] * 2
bool repeat(run *r, const value &what, const value &times, value *out) {
    const int64_t n = std::max<int64_t>(times.type == BOOL ? times.b : times.i, 0);
    const size_t each = what.type == STRING ? what.s->bytes.size() : what.l->items.size() * sizeof(value);
    if (each && (uint64_t)n > r->max_bytes / each) return out_of_budget(r);
    if (what.type == STRING) {
        text t;
        for (int64_t i = 0; each && i < n; i++) append(&t, *what.s);
        return *out = of_text(&r->memory, std::move(t)), true;
    }
    std::vector<value> items;
    for (int64_t i = 0; each && i < n; i++) items.insert(items.end(), what.l->items.begin(), what.l->items.end());
    *out = of_list(&r->memory, std::move(items), what.type);
    return true;
}

bool join_two(run *r, const value &a, const value &b, value *out) {
    if (a.type == STRING) {
        text t = *a.s;
        append(&t, *b.s);
        return *out = of_text(&r->memory, std::move(t)), true;
    }
    std::vector<value> items = a.l->items;
    items.insert(items.end(), b.l->items.begin(), b.l->items.end());
    *out = of_list(&r->memory, std::move(items), a.type);
    return true;
}

} // namespace

bool binary(run *r, const std::string &op, const value &a, const value &b, value *out) {
    if (is_integer(a) && is_integer(b))
        return integer_operation(r, op, a.type == BOOL ? a.b : a.i, b.type == BOOL ? b.b : b.i, out);
    if (is_number(a) && is_number(b)) {
        if (a.type == BIG || b.type == BIG) return raise(r, "integer out of range");
        return float_operation(r, op, number_of(a), number_of(b), out);
    }
    if (op == "+" && a.type == b.type && (a.type == STRING || is_sequence(a))) return join_two(r, a, b, out);
    if (op == "*" && (a.type == STRING || is_sequence(a)) && is_integer(b)) return repeat(r, a, b, out);
    if (op == "*" && (b.type == STRING || is_sequence(b)) && is_integer(a)) return repeat(r, b, a, out);
    if (op == "%" && a.type == STRING) {
        text t;
        if (!format_percent(r, *a.s, b, &t)) return false;
        return *out = of_text(&r->memory, std::move(t)), true;
    }
    return bad_operands(r, op, a, b);
}

bool contains(run *r, const value &container, const value &item, bool *out) {
    *out = false;
    switch (container.type) {
    case UNDEFINED: return true;
    case STRING:
        if (item.type != STRING)
            return raise(r, std::string("'in <string>' requires string as left operand, not ") + type_name(item));
        *out = container.s->bytes.find(item.s->bytes) != std::string::npos;
        return within(r, r->left.spend(container.s->bytes.size() / 64));
    case DICT: *out = dict_find(container.d, item) != nullptr; return true;
    default: break;
    }
    if (!is_sequence(container) && container.type != RANGE)
        return raise(r, std::string("argument of type '") + type_name(container) + "' is not iterable");
    std::vector<value> items;
    if (!elements_of(r, container, &items)) return false;
    for (size_t i = 0; !*out && i < items.size(); i++)
        if (!equal(items[i], item, &r->left, out)) return out_of_budget(r);
    return true;
}

// ---- attributes and items ----

namespace {

bool loop_attribute(run *r, const value &v, const std::string &name, value *out) {
    const loop_state *l = v.loop;
    const int64_t at = (int64_t)l->at, n = (int64_t)l->items.size();
    if (name == "index")
        *out = of_int(at + 1);
    else if (name == "index0")
        *out = of_int(at);
    else if (name == "revindex")
        *out = of_int(n - at);
    else if (name == "revindex0")
        *out = of_int(n - at - 1);
    else if (name == "first")
        *out = of_bool(at == 0);
    else if (name == "last")
        *out = of_bool(at + 1 == n);
    else if (name == "length")
        *out = of_int(n);
    else if (name == "depth")
        *out = of_int(l->depth);
    else if (name == "depth0")
        *out = of_int(l->depth - 1);
    else if (name == "previtem")
        *out = at > 0 ? l->items[l->at - 1] : undefined(r, "there is no previous item");
    else if (name == "nextitem")
        *out = at + 1 < n ? l->items[l->at + 1] : undefined(r, "there is no next item");
    else
        return false;
    return true;
}

std::string object_name(const value &v) {
    return v.type == NONE ? "None" : std::string("'") + type_name(v) + " object'";
}

bool slice_bounds(run *r, const value parts[3], int64_t n, int64_t *start, int64_t *stop, int64_t *step) {
    int64_t given[3] = {0, 0, 1};
    for (int i = 0; i < 3; i++) {
        if (parts[i].type == NONE) continue;
        if (!is_integer(parts[i]))
            return raise(r, "slice indices must be integers or None or have an __index__ method");
        given[i] = parts[i].type == BOOL ? parts[i].b : parts[i].i;
    }
    if (given[2] == 0) return raise(r, "slice step cannot be zero");
    *step = std::max<int64_t>(given[2], -INT64_MAX);
    const bool back = *step < 0;
    auto clamp = [n, back](int64_t x) {
        if (x < 0) x = x < -n ? -1 : x + n;
        if (x < 0) return back ? (int64_t)-1 : (int64_t)0;
        return x >= n ? (back ? n - 1 : n) : x;
    };
    *start = parts[0].type == NONE ? (back ? n - 1 : 0) : clamp(given[0]);
    *stop = parts[1].type == NONE ? (back ? -1 : n) : clamp(given[1]);
    return true;
}

bool slice(run *r, const value &object, const value parts[3], value *out) {
    if (object.type == UNDEFINED) return raise_undefined(r, object);
    if (object.type != STRING && !is_sequence(object) && object.type != RANGE)
        return raise(r, std::string("'") + type_name(object) + "' object is not subscriptable");
    std::vector<value> items;
    std::vector<size_t> starts;
    if (object.type == STRING)
        starts = character_starts(object.s->bytes);
    else if (!elements_of(r, object, &items))
        return false;
    const int64_t n = object.type == STRING ? (int64_t)starts.size() - 1 : (int64_t)items.size();
    int64_t start = 0, stop = 0, step = 1;
    if (!slice_bounds(r, parts, n, &start, &stop, &step)) return false;
    if (!within(r, r->left.spend((uint64_t)n))) return false;
    text t;
    std::vector<value> kept;
    for (int64_t i = start; step > 0 ? i < stop : i > stop;) {
        if (object.type == STRING)
            append(&t, *object.s, starts[(size_t)i], starts[(size_t)i + 1] - starts[(size_t)i]);
        else
            kept.push_back(items[(size_t)i]);
        if (step > 0 ? step >= stop - i : step <= stop - i) break;
        i += step;
    }
    *out = object.type == STRING ? of_text(&r->memory, std::move(t))
                                 : of_list(&r->memory, std::move(kept), object.type == TUPLE ? TUPLE : LIST);
    return true;
}

} // namespace

bool attribute_of(run *r, const value &object, const std::string &name, value *out) {
    if (object.type == UNDEFINED) return raise_undefined(r, object);
    if (object.type == NAMESPACE) {
        const value *found = dict_find(object.d, name);
        *out = found ? *found : undefined(r, "'Namespace object' has no attribute '" + name + "'");
        return true;
    }
    if (object.type == LOOP && loop_attribute(r, object, name, out)) return true;
    if (const function_row *method = find_method(object.type, name)) {
        out->type = METHOD;
        r->memory.methods.push_back({object, method});
        r->memory.used += sizeof(bound_method);
        out->method = &r->memory.methods.back();
        return true;
    }
    const value *found = object.type == DICT ? dict_find(object.d, name) : nullptr;
    *out = found ? *found : undefined(r, object_name(object) + " has no attribute '" + name + "'");
    return true;
}

bool item_of(run *r, const value &object, const value &index, value *out) {
    if (object.type == UNDEFINED) return raise_undefined(r, object);
    if (object.type == DICT) {
        if (const value *found = dict_find(object.d, index)) return *out = *found, true;
    } else if (is_integer(index) && (is_sequence(object) || object.type == STRING || object.type == RANGE)) {
        const int64_t i = index.type == BOOL ? index.b : index.i;
        std::vector<size_t> starts;
        if (object.type == STRING) starts = character_starts(object.s->bytes);
        const int64_t n = object.type == STRING  ? (int64_t)starts.size() - 1
                          : object.type == RANGE ? range_length(object.r)
                                                 : (int64_t)object.l->items.size();
        const int64_t k = i < 0 ? i + n : i;
        if (k >= 0 && k < n) {
            if (object.type == RANGE)
                *out = of_int(object.r->start + k * object.r->step);
            else if (object.type == STRING)
                *out = of_text(&r->memory,
                               slice_text(*object.s, starts[(size_t)k], starts[(size_t)k + 1] - starts[(size_t)k]));
            else
                *out = object.l->items[(size_t)k];
            return true;
        }
        *out = undefined(r, std::string(type_name(object)) + " object has no element " + std::to_string(i));
        return true;
    }
    if (index.type == STRING) return attribute_of(r, object, index.s->bytes, out);
    text shown;
    if (!within(r, print_quoted(index, &r->left, &shown, 0))) return false;
    *out = undefined(r, (object.type == NONE ? "None" : std::string(type_name(object)) + " object") +
                            " has no element " + shown.bytes);
    return true;
}

// ---- nodes ----

namespace {

bool evaluate_name(run *r, const node *n, value *out) {
    if (const value *found = find_variable(r, n->name)) return *out = *found, true;
    const std::string &name = r->t->names[n->name];
    if (const function_row *global = find_global(name)) {
        out->type = FUNCTION;
        out->function = global;
        return true;
    }
    *out = undefined(r, "'" + name + "' is undefined");
    return true;
}

bool evaluate_all(run *r, const std::vector<const node *> &nodes, std::vector<value> *out) {
    out->resize(nodes.size());
    for (size_t i = 0; i < nodes.size(); i++)
        if (!evaluate(r, nodes[i], &(*out)[i])) return false;
    return true;
}

bool evaluate_dict(run *r, const node *n, value *out) {
    value d = new_dict(&r->memory);
    for (size_t i = 0; i < n->a.size(); i += 2) {
        value k, v;
        if (!evaluate(r, n->a[i], &k) || !evaluate(r, n->a[i + 1], &v)) return false;
        if (!dict_set(&r->memory, d.d, k, v)) return raise(r, std::string("unhashable type: '") + type_name(k) + "'");
    }
    *out = d;
    return true;
}

bool evaluate_slice(run *r, const node *n, value *out) {
    value object, parts[3];
    if (!evaluate(r, n->a[0], &object)) return false;
    for (int i = 0; i < 3; i++) {
        parts[i] = of_none();
        if (n->a[(size_t)i + 1] && !evaluate(r, n->a[(size_t)i + 1], &parts[i])) return false;
    }
    r->at = n;
    return slice(r, object, parts, out);
}

bool spread(run *r, const argument &a, const value &v, args *out) {
    if (a.stars == 1) {
        std::vector<value> items;
        if (!elements_of(r, v, &items)) return false;
        out->at.insert(out->at.end(), items.begin(), items.end());
        return true;
    }
    if (v.type != DICT) return raise(r, "argument after ** must be a mapping");
    for (const auto &entry : v.d->items) {
        if (entry.first.type != STRING) return raise(r, "keywords must be strings");
        out->named.push_back({entry.first.s->bytes, entry.second});
    }
    return true;
}

bool evaluate_arguments(run *r, const node *n, args *out) {
    for (const argument &a : n->arguments) {
        value v;
        if (!evaluate(r, a.expression, &v)) return false;
        if (a.stars) {
            if (!spread(r, a, v, out)) return false;
        } else if (!a.name.empty()) {
            out->named.push_back({a.name, v});
        } else {
            out->at.push_back(v);
        }
    }
    return true;
}

bool evaluate_call(run *r, const node *n, value *out) {
    value callee;
    args a;
    if (!evaluate(r, n->a[0], &callee) || !evaluate_arguments(r, n, &a)) return false;
    r->at = n;
    return call_value(r, callee, &a, out);
}

bool evaluate_row(run *r, const node *n, value *out) {
    args a;
    a.at.resize(1);
    if (!evaluate(r, n->a[0], &a.at[0]) || !evaluate_arguments(r, n, &a)) return false;
    r->at = n;
    if (!n->row)
        return raise(r,
                     std::string("No ") + (n->kind == NODE_FILTER ? "filter" : "test") + " named '" + n->bytes + "'.");
    return n->row->call(r, &a, out);
}

// Operators of one level lean to the left; a long sum is a loop, not a deep recursion.
bool evaluate_binary(run *r, const node *n, value *out) {
    std::vector<const node *> spine;
    const node *first = n;
    for (; first->kind == NODE_BINARY; first = first->a[0]) spine.push_back(first);
    if (!evaluate(r, first, out)) return false;
    for (size_t i = spine.size(); i-- > 0;) {
        value left = *out, right;
        if (!evaluate(r, spine[i]->a[1], &right)) return false;
        r->at = spine[i];
        if (!binary(r, spine[i]->bytes, left, right, out)) return false;
        if (r->memory.used > r->max_bytes) return out_of_budget(r);
    }
    return true;
}

bool evaluate_logic(run *r, const node *n, value *out) {
    std::vector<const node *> spine;
    const node *first = n;
    for (; first->kind == n->kind; first = first->a[0]) spine.push_back(first);
    if (!evaluate(r, first, out)) return false;
    for (size_t i = spine.size(); i-- > 0;) {
        if (is_true(*out) == (n->kind == NODE_OR)) return true;
        if (!evaluate(r, spine[i]->a[1], out)) return false;
    }
    return true;
}

bool evaluate_sign(run *r, const node *n, value *out) {
    value v;
    if (!evaluate(r, n->a[0], &v)) return false;
    r->at = n;
    const bool negative = n->kind == NODE_NEGATIVE;
    if (v.type == FLOAT) return *out = of_float(negative ? -v.f : v.f), true;
    if (v.type == BIG) {
        std::string digits = v.s->bytes;
        if (negative) digits = digits[0] == '-' ? digits.substr(1) : "-" + digits;
        *out = of_string(&r->memory, digits);
        out->type = BIG;
        return true;
    }
    if (is_integer(v)) return integer_operation(r, negative ? "-" : "+", 0, v.type == BOOL ? v.b : v.i, out);
    if (v.type == UNDEFINED) return raise_undefined(r, v);
    return raise(r, std::string("bad operand type for unary ") + (negative ? "-" : "+") + ": '" + type_name(v) + "'");
}

bool evaluate_concat(run *r, const node *n, value *out) {
    text t;
    for (const node *part : n->a) {
        value v;
        if (!evaluate(r, part, &v) || !text_of(r, v, &t)) return false;
    }
    *out = of_text(&r->memory, std::move(t));
    return true;
}

bool compare_two(run *r, const std::string &op, const value &a, const value &b, bool *out) {
    if (op == "in") return contains(r, b, a, out);
    if (op == "not in") return contains(r, b, a, out) && (*out = !*out, true);
    if (op == "==" || op == "!=") {
        if (!equal(a, b, &r->left, out)) return out_of_budget(r);
        if (op == "!=") *out = !*out;
        return true;
    }
    if (op == "<") return less(r, a, b, out);
    if (op == ">") return less(r, b, a, out);
    // Not the negation: a NaN is neither.
    bool is_less, same;
    if (!less(r, op == "<=" ? a : b, op == "<=" ? b : a, &is_less)) return false;
    if (!equal(a, b, &r->left, &same)) return out_of_budget(r);
    *out = is_less || same;
    return true;
}

bool evaluate_compare(run *r, const node *n, value *out) {
    value left;
    if (!evaluate(r, n->a[0], &left)) return false;
    bool holds = true;
    for (size_t i = 0; holds && i < n->operators.size(); i++) {
        value right;
        if (!evaluate(r, n->a[i + 1], &right)) return false;
        r->at = n;
        if (!compare_two(r, n->operators[i], left, right, &holds)) return false;
        left = right;
    }
    *out = of_bool(holds);
    return true;
}

bool evaluate_condition(run *r, const node *n, value *out) {
    value condition;
    if (!evaluate(r, n->a[1], &condition)) return false;
    if (is_true(condition)) return evaluate(r, n->a[0], out);
    if (n->a[2]) return evaluate(r, n->a[2], out);
    *out = undefined(r, "the inline if-expression has no else section and its condition was false");
    return true;
}

bool evaluate_node(run *r, const node *n, value *out) {
    std::vector<value> some;
    switch (n->kind) {
    case NODE_CONSTANT: *out = n->constant; return true;
    case NODE_NAME: return evaluate_name(r, n, out);
    case NODE_LIST:
    case NODE_TUPLE:
        if (!evaluate_all(r, n->a, &some)) return false;
        *out = of_list(&r->memory, std::move(some), n->kind == NODE_LIST ? LIST : TUPLE);
        return true;
    case NODE_DICT: return evaluate_dict(r, n, out);
    case NODE_ATTRIBUTE:
        if (!evaluate_all(r, n->a, &some)) return false;
        r->at = n;
        return attribute_of(r, some[0], n->bytes, out);
    case NODE_SUBSCRIPT:
        if (!evaluate_all(r, n->a, &some)) return false;
        r->at = n;
        return item_of(r, some[0], some[1], out);
    case NODE_SLICE: return evaluate_slice(r, n, out);
    case NODE_CALL: return evaluate_call(r, n, out);
    case NODE_FILTER:
    case NODE_TEST: return evaluate_row(r, n, out);
    case NODE_NOT:
        if (!evaluate_all(r, n->a, &some)) return false;
        *out = of_bool(!is_true(some[0]));
        return true;
    case NODE_NEGATIVE:
    case NODE_POSITIVE: return evaluate_sign(r, n, out);
    case NODE_BINARY: return evaluate_binary(r, n, out);
    case NODE_AND:
    case NODE_OR: return evaluate_logic(r, n, out);
    case NODE_CONCAT: return evaluate_concat(r, n, out);
    case NODE_COMPARE: return evaluate_compare(r, n, out);
    case NODE_CONDITION: return evaluate_condition(r, n, out);
    case NODE_CAPTURED: *out = of_text(&r->memory, *r->captured); return true;
    default: return raise(r, "a statement stands where an expression is expected");
    }
}

} // namespace

bool evaluate(run *r, const node *n, value *out) {
    r->at = n;
    if (!r->left.spend(1) || r->memory.used > r->max_bytes) return out_of_budget(r);
    if (r->depth >= MAX_RUN_DEPTH) return raise(r, "maximum recursion depth exceeded");
    r->depth++;
    const bool ok = evaluate_node(r, n, out);
    r->depth--;
    return ok;
}

bool call_value(run *r, const value &callee, args *a, value *out) {
    switch (callee.type) {
    case UNDEFINED: return raise_undefined(r, callee);
    case MACRO: return call_macro(r, callee.m, a, out);
    case LOOP:
        if (a->at.size() != 1) return raise(r, "loop() takes the sequence to go on with");
        return call_loop(r, callee.loop, a->at[0], out);
    case FUNCTION: return callee.function->call(r, a, out);
    case METHOD: a->at.insert(a->at.begin(), callee.method->self); return callee.method->row->call(r, a, out);
    case STEPPER: {
        stepper *s = callee.step;
        if (s->items->items.empty()) return raise(r, "no items to cycle through");
        if (s->joins)
            *out = s->next++ ? s->items->items[0] : of_string(&r->memory, "");
        else
            *out = s->items->items[s->next++ % s->items->items.size()];
        return true;
    }
    default: return raise(r, std::string("'") + type_name(callee) + "' object is not callable");
    }
}

} // namespace jinja
} // namespace llm

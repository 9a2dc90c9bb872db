// `x is name`. Each test puts a BOOL.
#include "text/jinja/run.h"
#include <math.h>
#include <utf8proc.h>
#include "text/utf8.h"

namespace llm {
namespace jinja {

namespace {

template <bool (*holds)(const value &)> bool simple(run *, const args *a, value *out) {
    *out = of_bool(holds(a->at[0]));
    return true;
}

bool is_defined(const value &v) { return v.type != UNDEFINED; }
bool is_undefined(const value &v) { return v.type == UNDEFINED; }
bool is_none(const value &v) { return v.type == NONE; }
bool is_boolean(const value &v) { return v.type == BOOL; }
bool is_true_itself(const value &v) { return v.type == BOOL && v.b; }
bool is_false_itself(const value &v) { return v.type == BOOL && !v.b; }
bool is_whole(const value &v) { return v.type == INT || v.type == BIG; }
bool is_float(const value &v) { return v.type == FLOAT; }
bool is_string(const value &v) { return v.type == STRING; }
bool is_mapping(const value &v) { return v.type == DICT; }
bool is_iterable(const value &v) {
    return v.type == STRING || is_sequence(v) || v.type == DICT || v.type == RANGE || v.type == UNDEFINED;
}
bool has_length_and_items(const value &v) {
    return v.type == STRING || is_sequence(v) || v.type == DICT || v.type == RANGE;
}
bool is_callable(const value &v) {
    return v.type == FUNCTION || v.type == METHOD || v.type == MACRO || v.type == STEPPER || v.type == LOOP;
}
bool never(const value &) { return false; }

bool is_cased(const value &v, bool upper) {
    bool any = false;
    if (v.type != STRING) return false;
    const char *at = v.s->bytes.data(), *end = at + v.s->bytes.size();
    while (at != end) {
        const utf8_char c = utf8_next(at, end);
        at += c.n;
        const auto category = utf8proc_category((utf8proc_int32_t)c.code);
        if (category == (upper ? UTF8PROC_CATEGORY_LL : UTF8PROC_CATEGORY_LU)) return false;
        any = any || category == (upper ? UTF8PROC_CATEGORY_LU : UTF8PROC_CATEGORY_LL);
    }
    return any;
}
bool is_lower(const value &v) { return is_cased(v, false); }
bool is_upper(const value &v) { return is_cased(v, true); }

bool divides(run *r, const args *a, int64_t by, int64_t rest, value *out) {
    value m;
    if (!binary(r, "%", a->at[0], of_int(by), &m)) return false;
    *out = of_bool(number_of(m) == (double)rest);
    return true;
}
bool is_odd(run *r, const args *a, value *out) { return divides(r, a, 2, 1, out); }
bool is_even(run *r, const args *a, value *out) { return divides(r, a, 2, 0, out); }
bool is_divisible(run *r, const args *a, value *out) {
    int64_t by;
    return integer_argument(r, a, 1, "num", 0, &by) && divides(r, a, by, 0, out);
}

const value *other_value(run *r, const args *a) {
    const value *v = argument_at(a, 1, "other");
    if (!v) raise(r, "the test needs something to compare with");
    return v;
}

bool is_equal(run *r, const args *a, value *out) {
    const value *other = other_value(r, a);
    bool same = false;
    if (!other || !within(r, equal(a->at[0], *other, &r->left, &same))) return false;
    *out = of_bool(same);
    return true;
}
bool is_unequal(run *r, const args *a, value *out) {
    if (!is_equal(r, a, out)) return false;
    out->b = !out->b;
    return true;
}

template <bool swapped, bool or_equal> bool ordered(run *r, const args *a, value *out) {
    const value *other = other_value(r, a);
    bool holds, same = false;
    if (!other) return false;
    if (!less(r, swapped ? *other : a->at[0], swapped ? a->at[0] : *other, &holds)) return false;
    if (or_equal && !within(r, equal(a->at[0], *other, &r->left, &same))) return false;
    *out = of_bool(holds || same);
    return true;
}

bool is_in(run *r, const args *a, value *out) {
    const value *other = other_value(r, a);
    bool holds = false;
    if (!other || !contains(r, *other, a->at[0], &holds)) return false;
    *out = of_bool(holds);
    return true;
}

bool is_same(run *r, const args *a, value *out) {
    const value *other = other_value(r, a);
    if (!other) return false;
    if (other->type != a->at[0].type) return *out = of_bool(false), true;
    return is_equal(r, a, out);
}

template <const function_row *(*find)(const std::string &)> bool exists(run *, const args *a, value *out) {
    *out = of_bool(a->at[0].type == STRING && find(a->at[0].s->bytes));
    return true;
}

const function_row tests[] = {
    {"defined", KINDS, simple<is_defined>},
    {"undefined", KINDS, simple<is_undefined>},
    {"none", KINDS, simple<is_none>},
    {"boolean", KINDS, simple<is_boolean>},
    {"true", KINDS, simple<is_true_itself>},
    {"false", KINDS, simple<is_false_itself>},
    {"integer", KINDS, simple<is_whole>},
    {"float", KINDS, simple<is_float>},
    {"number", KINDS, simple<is_number>},
    {"string", KINDS, simple<is_string>},
    {"mapping", KINDS, simple<is_mapping>},
    {"iterable", KINDS, simple<is_iterable>},
    {"sequence", KINDS, simple<has_length_and_items>},
    {"callable", KINDS, simple<is_callable>},
    {"escaped", KINDS, simple<never>},
    {"lower", KINDS, simple<is_lower>},
    {"upper", KINDS, simple<is_upper>},
    {"odd", KINDS, is_odd},
    {"even", KINDS, is_even},
    {"divisibleby", KINDS, is_divisible},
    {"eq", KINDS, is_equal},
    {"equalto", KINDS, is_equal},
    {"==", KINDS, is_equal},
    {"ne", KINDS, is_unequal},
    {"!=", KINDS, is_unequal},
    {"lt", KINDS, ordered<false, false>},
    {"lessthan", KINDS, ordered<false, false>},
    {"<", KINDS, ordered<false, false>},
    {"le", KINDS, ordered<false, true>},
    {"<=", KINDS, ordered<false, true>},
    {"gt", KINDS, ordered<true, false>},
    {"greaterthan", KINDS, ordered<true, false>},
    {">", KINDS, ordered<true, false>},
    {"ge", KINDS, ordered<true, true>},
    {">=", KINDS, ordered<true, true>},
    {"in", KINDS, is_in},
    {"sameas", KINDS, is_same},
    {"filter", KINDS, exists<find_filter>},
    {"test", KINDS, exists<find_test>},
};

} // namespace

const function_row *find_test(const std::string &name) {
    for (const function_row &row : tests)
        if (name == row.name) return &row;
    return nullptr;
}

bool passes_test(run *r, const function_row *test, const args *a, bool *out) {
    value v;
    if (!test->call(r, a, &v)) return false;
    *out = is_true(v);
    return true;
}

} // namespace jinja
} // namespace llm

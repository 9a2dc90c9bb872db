// A rendering at work, and the tables of what templates can call.
#pragma once
#include "text/jinja/ast.h"

namespace llm {
namespace jinja {

struct scope {
    scope *parent;
    std::vector<std::pair<uint32_t, value>> variables;
};

struct loop_state {
    std::vector<value> items;
    size_t at = 0;
    int depth = 1;
    const node *definition = nullptr; // of the `for`
    scope *around = nullptr;
    bool any_changed = false; // loop.changed() has been asked
    value changed;
};

struct macro {
    const node *definition;
    scope *around;
};

struct bound_method {
    value self;
    const function_row *row;
};

struct run {
    const jinja_template *t;
    heap memory;
    budget left;
    size_t max_bytes;
    const jinja_time *now;
    value variables; // as given
    std::deque<scope> scopes;
    scope *here = nullptr;
    text *out = nullptr; // where printing goes
    const text *captured = nullptr;
    int depth = 0;
    const node *at = nullptr; // what is being evaluated
    syntax_error error;
};

// Calls nest and bodies nest: the stack is the caller's.
constexpr int MAX_RUN_DEPTH = 150;

// Ends the rendering with a sentence; returns false.
bool raise(run *r, std::string message);
bool out_of_budget(run *r);
inline bool within(run *r, bool ok) { return ok || out_of_budget(r); }

value undefined(run *r, std::string hint); // hint: the sentence of the error when it is used
bool raise_undefined(run *r, const value &v);

bool evaluate(run *r, const node *n, value *out);
bool execute(run *r, const std::vector<const node *> &body); // false: error
bool call_value(run *r, const value &callee, struct args *a, value *out);
bool call_macro(run *r, const macro *m, const struct args *a, value *out);
bool call_loop(run *r, const loop_state *loop, const value &sequence, value *out);
bool attribute_of(run *r, const value &object, const std::string &name, value *out);
bool item_of(run *r, const value &object, const value &index, value *out);
bool binary(run *r, const std::string &op, const value &a, const value &b, value *out);
bool contains(run *r, const value &container, const value &item, bool *out);

// What a value gives when it is walked over: elements, keys, characters.
bool elements_of(run *r, const value &v, std::vector<value> *out);
bool text_of(run *r, const value &v, text *out);              // str(v)
bool less(run *r, const value &a, const value &b, bool *out); // raises what cannot be compared
value *find_variable(run *r, uint32_t name);
value of_text_checked(run *r, text t);

// Arguments of a call: the value filtered or tested, or the method's own value, comes first.
struct args {
    std::vector<value> at;
    std::vector<std::pair<std::string, value>> named;
};
using builtin = bool(run *r, const args *a, value *out);
struct function_row {
    const char *name;
    kind self; // methods: the type they belong to; KINDS: any
    builtin *call;
};

const function_row *find_filter(const std::string &name);
const function_row *find_test(const std::string &name);
const function_row *find_method(kind self, const std::string &name);
const function_row *find_global(const std::string &name);
bool passes_test(run *r, const function_row *test, const args *a, bool *out);

// Argument number `i` (0: the value itself) or the one named so; NULL when neither is given.
const value *argument_at(const args *a, size_t i, const char *name);
bool integer_argument(run *r, const args *a, size_t i, const char *name, int64_t fallback, int64_t *out);
bool flag_argument(const args *a, size_t i, const char *name, bool fallback);
bool string_argument(run *r, const args *a, size_t i, const char *name, const text **out); // required

// Text helpers (strings.cpp).
std::vector<size_t> character_starts(std::string_view s); // and the end
text slice_text(const text &s, size_t begin, size_t n);
text stripped(const text &s, const std::string *set, bool left, bool right);
bool format_percent(run *r, const text &format, const value &v, text *out); // printf style
bool format_braces(run *r, const text &format, const args *a, text *out);   // str.format
std::string format_time(const jinja_time *t, std::string_view format);

} // namespace jinja
} // namespace llm

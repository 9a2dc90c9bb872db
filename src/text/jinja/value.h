// Values of a running template, with Python's meaning of equality, order, truth and printing.
//
// All values of one rendering live in its heap and die with it: nothing is counted or freed one by one.
#pragma once
#include <deque>
#include <stddef.h>
#include <stdint.h>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace llm {
namespace jinja {

enum kind : uint8_t {
    UNDEFINED,
    NONE,
    BOOL,
    INT,
    BIG, // an integer beyond 64 bits, as its digits
    FLOAT,
    STRING,
    LIST,
    TUPLE,
    DICT,
    RANGE,
    NAMESPACE,
    LOOP,
    FUNCTION, // built in
    METHOD,   // built in, bound to a value
    MACRO,
    STEPPER, // joiner(), cycler()
    KINDS
};

// marks: empty (nothing comes from the variables) or as long as bytes.
struct text {
    std::string bytes, marks;
};

struct list;
struct dict;
struct range;
struct loop_state;
struct macro;
struct bound_method;
struct stepper;
struct function_row;

struct value {
    kind type = UNDEFINED;
    union {
        bool b;
        int64_t i;
        double f;
        text *s; // STRING, BIG, and the name of an UNDEFINED (may be NULL)
        list *l; // LIST, TUPLE
        dict *d; // DICT, NAMESPACE
        range *r;
        loop_state *loop;
        const function_row *function;
        bound_method *method;
        macro *m;
        stepper *step;
    };
    value() : s(nullptr) {}
};

struct list {
    std::vector<value> items;
};
struct dict {
    std::vector<std::pair<value, value>> items;   // in the order of insertion
    std::unordered_map<std::string, uint32_t> at; // by key_of()
};
struct range {
    int64_t start, stop, step;
};
struct stepper {
    bool joins; // joiner: nothing, then items[0] for ever; else cycler: items in turn
    list *items;
    size_t next = 0;
};

struct heap {
    std::deque<text> texts;
    std::deque<list> lists;
    std::deque<dict> dicts;
    std::deque<range> ranges;
    std::deque<stepper> steppers;
    std::deque<bound_method> methods;
    std::deque<loop_state> loops;
    std::deque<macro> macros;
    size_t used = 0;
    heap();
    ~heap();
};

value of_none();
value of_bool(bool b);
value of_int(int64_t i);
value of_float(double f);
value of_text(heap *h, text t);
value of_string(heap *h, std::string_view bytes);
value of_list(heap *h, std::vector<value> items, kind type = LIST);
value new_dict(heap *h, kind type = DICT);

bool is_number(const value &v);   // BOOL, INT, BIG, FLOAT
bool is_integer(const value &v);  // BOOL, INT
bool is_sequence(const value &v); // LIST, TUPLE
double number_of(const value &v);
const char *type_name(const value &v); // as Python names it
bool is_true(const value &v);

int64_t range_length(const range *r);

// A dictionary key as text; false for what cannot be one. Keys that are equal have equal texts.
bool key_of(const value &v, std::string *out);
const value *dict_find(const dict *d, const value &key);
const value *dict_find(const dict *d, std::string_view key);
bool dict_set(heap *h, dict *d, const value &key, const value &v);
bool dict_remove(dict *d, const value &key);

// How deep values may nest where they are walked by recursion, and how much may be walked.
constexpr int MAX_DEPTH = 100;
struct budget {
    uint64_t steps; // left
    size_t bytes;   // that a result may have
    bool spend(uint64_t n) {
        if (n > steps) return steps = 0, false;
        steps -= n;
        return true;
    }
};

// False when the budget ends or nesting is too deep.
bool equal(const value &a, const value &b, budget *left, bool *out, int depth = 0);
// -1, 0, 1; comparable: false when Python would refuse.
bool compare(const value &a, const value &b, budget *left, int *out, bool *comparable, int depth = 0);
bool print(const value &v, budget *left, text *out);                   // str()
bool print_quoted(const value &v, budget *left, text *out, int depth); // repr()
std::string float_text(double f);                                      // repr() of a float

// Appends; keeps marks in step.
void append(text *to, std::string_view bytes, bool marked = false);
void append(text *to, const text &from);
void append(text *to, const text &from, size_t begin, size_t n);

// JSON in and out (json.cpp).
struct json_style {
    bool ascii = false, sort_keys = false;
    int indent = -1; // -1: one line
    std::string indent_text, item_separator = ", ", key_separator = ": ";
};
// reason: what cannot be written, as Python says it; empty when the budget ended.
bool to_json(const value &v, const json_style *style, budget *left, text *out, std::string *reason);
// Strings of the result are marked as coming from the variables. depth: levels that are around the value already.
bool from_json(heap *h, std::string_view json, value *out, std::string *reason, size_t depth = 0);

} // namespace jinja
} // namespace llm

// Functions that every template sees.
#include "text/jinja/run.h"

namespace llm {
namespace jinja {

namespace {

bool make_range(run *r, const args *a, value *out) {
    int64_t numbers[3] = {0, 0, 1};
    const size_t n = a->at.size();
    if (n < 1 || n > 3) return raise(r, "range expected 1 to 3 arguments, got " + std::to_string(n));
    for (size_t i = 0; i < n; i++) {
        if (!is_integer(a->at[i]))
            return raise(r, std::string("'") + type_name(a->at[i]) + "' object cannot be interpreted as an integer");
        numbers[n == 1 ? 1 : i] = a->at[i].type == BOOL ? a->at[i].b : a->at[i].i;
    }
    if (numbers[2] == 0) return raise(r, "range() arg 3 must not be zero");
    r->memory.ranges.push_back({numbers[0], numbers[1], numbers[2]});
    r->memory.used += sizeof(range);
    if (range_length(&r->memory.ranges.back()) > 100000)
        return raise(r, "range too big; at most 100000 elements are possible");
    out->type = RANGE;
    out->r = &r->memory.ranges.back();
    return true;
}

// A copy of what is given: mappings and pairs first, then names.
bool fill(run *r, const args *a, dict *d) {
    for (const value &v : a->at) {
        std::vector<value> items;
        if (!elements_of(r, v, &items)) return false;
        for (const value &item : items) {
            value key = item, content;
            if (v.type == DICT) {
                content = *dict_find(v.d, item);
            } else {
                if (!is_sequence(item) || item.l->items.size() != 2) return raise(r, "a dictionary is made of pairs");
                key = item.l->items[0];
                content = item.l->items[1];
            }
            if (!dict_set(&r->memory, d, key, content))
                return raise(r, std::string("unhashable type: '") + type_name(key) + "'");
        }
    }
    for (const auto &given : a->named) dict_set(&r->memory, d, of_string(&r->memory, given.first), given.second);
    return true;
}

bool make_dict(run *r, const args *a, value *out) {
    *out = new_dict(&r->memory);
    return fill(r, a, out->d);
}
bool make_namespace(run *r, const args *a, value *out) {
    *out = new_dict(&r->memory, NAMESPACE);
    return fill(r, a, out->d);
}

bool make_stepper(run *r, bool joins, std::vector<value> items, value *out) {
    const value list = of_list(&r->memory, std::move(items));
    r->memory.steppers.push_back({joins, list.l});
    r->memory.used += sizeof(stepper);
    out->type = STEPPER;
    out->step = &r->memory.steppers.back();
    return true;
}
bool make_joiner(run *r, const args *a, value *out) {
    const value *separator = argument_at(a, 0, "sep");
    return make_stepper(r, true, {separator ? *separator : of_string(&r->memory, ", ")}, out);
}
bool make_cycler(run *r, const args *a, value *out) { return make_stepper(r, false, a->at, out); }

bool raise_exception(run *r, const args *a, value *) {
    text message;
    if (!a->at.empty() && !text_of(r, a->at[0], &message)) return false;
    return raise(r, message.bytes.empty() ? "the template refuses this conversation" : message.bytes);
}

bool strftime_now(run *r, const args *a, value *out) {
    const text *format;
    if (!string_argument(r, a, 0, "format", &format)) return false;
    const jinja_time now = r->now ? *r->now : jinja_time_now();
    *out = of_string(&r->memory, format_time(&now, format->bytes));
    return true;
}

bool lipsum(run *r, const args *, value *) { return raise(r, "lipsum() is not available in chat templates"); }
bool self(run *r, const args *, value *) { return raise(r, "blocks are not available in chat templates"); }

const function_row globals[] = {
    {"range", KINDS, make_range},          {"dict", KINDS, make_dict},     {"namespace", KINDS, make_namespace},
    {"joiner", KINDS, make_joiner},        {"cycler", KINDS, make_cycler}, {"raise_exception", KINDS, raise_exception},
    {"strftime_now", KINDS, strftime_now}, {"lipsum", KINDS, lipsum},      {"self", KINDS, self},
};

} // namespace

const function_row *find_global(const std::string &name) {
    for (const function_row &row : globals)
        if (name == row.name) return &row;
    return nullptr;
}

} // namespace jinja
} // namespace llm

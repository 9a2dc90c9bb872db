#include "text/jinja/run.h"

namespace llm {
namespace jinja {

const value *argument_at(const args *a, size_t i, const char *name) {
    if (i < a->at.size()) return &a->at[i];
    for (const auto &given : a->named)
        if (given.first == name) return &given.second;
    return nullptr;
}

bool integer_argument(run *r, const args *a, size_t i, const char *name, int64_t fallback, int64_t *out) {
    const value *v = argument_at(a, i, name);
    *out = fallback;
    if (!v || v->type == NONE) return true;
    if (!is_integer(*v)) return raise(r, std::string(name) + " must be an integer, not " + type_name(*v));
    *out = v->type == BOOL ? v->b : v->i;
    return true;
}

bool flag_argument(const args *a, size_t i, const char *name, bool fallback) {
    const value *v = argument_at(a, i, name);
    return v ? is_true(*v) : fallback;
}

bool string_argument(run *r, const args *a, size_t i, const char *name, const text **out) {
    const value *v = argument_at(a, i, name);
    if (!v) return raise(r, std::string("missing argument: ") + name);
    if (v->type == UNDEFINED) return raise_undefined(r, *v);
    if (v->type != STRING) return raise(r, std::string(name) + " must be str, not " + type_name(*v));
    *out = v->s;
    return true;
}

} // namespace jinja
} // namespace llm

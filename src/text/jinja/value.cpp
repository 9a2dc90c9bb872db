#include "text/jinja/value.h"
#include "text/jinja/run.h"
#include "text/utf8.h"
#include <algorithm>
#include <charconv>
#include <math.h>
#include <string.h>
#include <utf8proc.h>

namespace llm {
namespace jinja {

heap::heap() = default;
heap::~heap() = default;

value of_none() {
    value v;
    v.type = NONE;
    return v;
}
value of_bool(bool b) {
    value v;
    v.type = BOOL;
    v.b = b;
    return v;
}
value of_int(int64_t i) {
    value v;
    v.type = INT;
    v.i = i;
    return v;
}
value of_float(double f) {
    value v;
    v.type = FLOAT;
    v.f = f;
    return v;
}
value of_text(heap *h, text t) {
    value v;
    v.type = STRING;
    h->used += sizeof(text) + t.bytes.size() + t.marks.size();
    h->texts.push_back(std::move(t));
    v.s = &h->texts.back();
    return v;
}
value of_string(heap *h, std::string_view bytes) { return of_text(h, {std::string(bytes), {}}); }
value of_list(heap *h, std::vector<value> items, kind type) {
    value v;
    v.type = type;
    h->used += sizeof(list) + items.size() * sizeof(value);
    h->lists.push_back({std::move(items)});
    v.l = &h->lists.back();
    return v;
}
value new_dict(heap *h, kind type) {
    value v;
    v.type = type;
    h->used += sizeof(dict);
    h->dicts.emplace_back();
    v.d = &h->dicts.back();
    return v;
}

bool is_number(const value &v) { return v.type >= BOOL && v.type <= FLOAT; }
bool is_integer(const value &v) { return v.type == BOOL || v.type == INT; }
bool is_sequence(const value &v) { return v.type == LIST || v.type == TUPLE; }

double number_of(const value &v) {
    switch (v.type) {
    case BOOL: return v.b;
    case INT: return (double)v.i;
    case FLOAT: return v.f;
    case BIG: {
        double f = 0;
        std::from_chars(v.s->bytes.data(), v.s->bytes.data() + v.s->bytes.size(), f);
        return f;
    }
    default: return 0;
    }
}

const char *type_name(const value &v) {
    static const char *const names[KINDS] = {"Undefined",   "NoneType", "bool",   "int",   "int",   "float",
                                             "str",         "list",     "tuple",  "dict",  "range", "Namespace",
                                             "LoopContext", "function", "method", "Macro", "Cycler"};
    return names[v.type];
}

int64_t range_length(const range *r) {
    if (r->step > 0)
        return r->start < r->stop ? (int64_t)(((uint64_t)r->stop - (uint64_t)r->start - 1) / (uint64_t)r->step + 1) : 0;
    return r->start > r->stop ? (int64_t)(((uint64_t)r->start - (uint64_t)r->stop - 1) / (0 - (uint64_t)r->step) + 1)
                              : 0;
}

bool is_true(const value &v) {
    switch (v.type) {
    case UNDEFINED:
    case NONE: return false;
    case BOOL: return v.b;
    case INT: return v.i != 0;
    case FLOAT: return v.f != 0;
    case STRING: return !v.s->bytes.empty();
    case LIST:
    case TUPLE: return !v.l->items.empty();
    case DICT: return !v.d->items.empty();
    case RANGE: return range_length(v.r) > 0;
    default: return true;
    }
}

// ---- dictionaries ----

bool key_of(const value &v, std::string *out) {
    switch (v.type) {
    case NONE: out->append("n"); return true;
    case BOOL:
    case INT: out->append("i" + std::to_string(v.type == BOOL ? (int64_t)v.b : v.i)); return true;
    case FLOAT:
        if (fabs(v.f) < 9e18 && v.f == (double)(int64_t)v.f)
            out->append("i" + std::to_string((int64_t)v.f));
        else
            out->append("f" + float_text(v.f));
        return true;
    case BIG: out->append("i" + v.s->bytes); return true;
    case STRING: out->append("s" + std::to_string(v.s->bytes.size()) + ":" + v.s->bytes); return true;
    case TUPLE:
        out->append("t" + std::to_string(v.l->items.size()));
        if (out->size() > 4096) return false;
        for (const value &item : v.l->items)
            if (!key_of(item, out)) return false;
        return true;
    default: return false;
    }
}

const value *dict_find(const dict *d, const value &key) {
    std::string k;
    if (!key_of(key, &k)) return nullptr;
    auto found = d->at.find(k);
    return found == d->at.end() ? nullptr : &d->items[found->second].second;
}
const value *dict_find(const dict *d, std::string_view key) {
    std::string k = "s" + std::to_string(key.size()) + ":";
    k.append(key);
    auto found = d->at.find(k);
    return found == d->at.end() ? nullptr : &d->items[found->second].second;
}

bool dict_set(heap *h, dict *d, const value &key, const value &v) {
    std::string k;
    if (!key_of(key, &k)) return false;
    auto found = d->at.find(k);
    if (found != d->at.end()) {
        d->items[found->second].second = v;
        return true;
    }
    h->used += 2 * sizeof(value) + 2 * k.size() + 48;
    d->at.emplace(std::move(k), (uint32_t)d->items.size());
    d->items.push_back({key, v});
    return true;
}

bool dict_remove(dict *d, const value &key) {
    std::string k;
    if (!key_of(key, &k)) return false;
    auto found = d->at.find(k);
    if (found == d->at.end()) return false;
    const uint32_t place = found->second;
    d->at.erase(found);
    d->items.erase(d->items.begin() + place);
    for (auto &entry : d->at)
        if (entry.second > place) entry.second--;
    return true;
}

// ---- equality and order ----

namespace {

bool same_items(const list *a, const list *b, budget *left, bool *out, int depth) {
    *out = a->items.size() == b->items.size();
    for (size_t i = 0; *out && i < a->items.size(); i++)
        if (!equal(a->items[i], b->items[i], left, out, depth + 1)) return false;
    return true;
}

bool same_entries(const dict *a, const dict *b, budget *left, bool *out, int depth) {
    *out = a->items.size() == b->items.size();
    for (size_t i = 0; *out && i < a->items.size(); i++) {
        const value *other = dict_find(b, a->items[i].first);
        *out = other != nullptr;
        if (other && !equal(a->items[i].second, *other, left, out, depth + 1)) return false;
    }
    return true;
}

bool same_number(const value &a, const value &b) {
    if (is_integer(a) && is_integer(b)) return (a.type == BOOL ? a.b : a.i) == (b.type == BOOL ? b.b : b.i);
    if (a.type == BIG && b.type == BIG) return a.s->bytes == b.s->bytes;
    if ((a.type == BIG && is_integer(b)) || (b.type == BIG && is_integer(a))) return false;
    return number_of(a) == number_of(b);
}

} // namespace

bool equal(const value &a, const value &b, budget *left, bool *out, int depth) {
    *out = false;
    if (depth > MAX_DEPTH || !left->spend(1)) return false;
    if (is_number(a) && is_number(b)) return *out = same_number(a, b), true;
    if (a.type != b.type) return true;
    switch (a.type) {
    case UNDEFINED:
    case NONE: *out = true; return true;
    case STRING: *out = a.s->bytes == b.s->bytes; return left->spend(a.s->bytes.size() / 64);
    case LIST:
    case TUPLE: return same_items(a.l, b.l, left, out, depth);
    case DICT: return same_entries(a.d, b.d, left, out, depth);
    case RANGE:
        *out = a.r->start == b.r->start && a.r->step == b.r->step && range_length(a.r) == range_length(b.r);
        return true;
    default: *out = a.s == b.s; return true;
    }
}

bool compare(const value &a, const value &b, budget *left, int *out, bool *comparable, int depth) {
    *out = 0;
    *comparable = true;
    if (depth > MAX_DEPTH || !left->spend(1)) return false;
    if (is_integer(a) && is_integer(b)) {
        int64_t x = a.type == BOOL ? a.b : a.i, y = b.type == BOOL ? b.b : b.i;
        *out = x < y ? -1 : x > y;
    } else if (is_number(a) && is_number(b)) {
        double x = number_of(a), y = number_of(b);
        *out = x < y ? -1 : x > y;
    } else if (a.type == STRING && b.type == STRING) {
        // Order of UTF-8 bytes is order of code points.
        int order = a.s->bytes.compare(b.s->bytes);
        *out = order < 0 ? -1 : order > 0;
    } else if (a.type == b.type && is_sequence(a)) {
        size_t n = std::min(a.l->items.size(), b.l->items.size());
        for (size_t i = 0; i < n; i++) {
            bool same;
            if (!equal(a.l->items[i], b.l->items[i], left, &same, depth + 1)) return false;
            if (!same) return compare(a.l->items[i], b.l->items[i], left, out, comparable, depth + 1);
        }
        *out = a.l->items.size() < b.l->items.size() ? -1 : a.l->items.size() > b.l->items.size();
    } else {
        *comparable = false;
    }
    return true;
}

// ---- printing ----

void append(text *to, std::string_view bytes, bool marked) {
    if (marked && to->marks.size() < to->bytes.size()) to->marks.resize(to->bytes.size(), 0);
    if (marked || !to->marks.empty()) to->marks.append(bytes.size(), (char)marked);
    to->bytes.append(bytes);
}
void append(text *to, const text &from, size_t begin, size_t n) {
    if (!from.marks.empty() && to->marks.size() < to->bytes.size()) to->marks.resize(to->bytes.size(), 0);
    if (!from.marks.empty())
        to->marks.append(from.marks, begin, n);
    else if (!to->marks.empty())
        to->marks.append(n, 0);
    to->bytes.append(from.bytes, begin, n);
}
void append(text *to, const text &from) { append(to, from, 0, from.bytes.size()); }

// The shortest digits that give the same number again, laid out as Python does: exponent below -4 and from 16 on.
std::string float_text(double f) {
    if (f != f) return "nan";
    if (isinf(f)) return f > 0 ? "inf" : "-inf";
    char digits[40];
    char *end = std::to_chars(digits, digits + sizeof digits, f, std::chars_format::scientific).ptr;
    std::string mantissa(digits, (size_t)(std::find(digits, end, 'e') - digits));
    int exponent = atoi(std::string(std::find(digits, end, 'e') + 1, end).c_str());
    if (exponent < -4 || exponent >= 16) {
        char tail[16];
        snprintf(tail, sizeof tail, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
        return mantissa + tail;
    }
    end = std::to_chars(digits, digits + sizeof digits, f, std::chars_format::fixed).ptr;
    std::string fixed(digits, end);
    if (fixed.find('.') == std::string::npos) fixed += ".0";
    return fixed;
}

namespace {

bool printable(uint32_t code) {
    if (code == ' ') return true;
    switch (utf8proc_category((utf8proc_int32_t)code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS: return false;
    default: return true;
    }
}

void quote_character(text *out, const text &from, size_t at, const utf8_char &c, char quote) {
    const bool marked = !from.marks.empty() && from.marks[at];
    char escape[16] = "";
    if (c.code == (uint32_t)quote || c.code == '\\')
        snprintf(escape, sizeof escape, "\\%c", (char)c.code);
    else if (c.code == '\n')
        strcpy(escape, "\\n");
    else if (c.code == '\r')
        strcpy(escape, "\\r");
    else if (c.code == '\t')
        strcpy(escape, "\\t");
    else if (!printable(c.code))
        snprintf(escape, sizeof escape, c.code < 0x100 ? "\\x%02x" : c.code < 0x10000 ? "\\u%04x" : "\\U%08x", c.code);
    if (*escape)
        append(out, escape, marked);
    else
        append(out, from, at, c.n);
}

void quote(const text &s, text *out) {
    const char mark = s.bytes.find('\'') != std::string::npos && s.bytes.find('"') == std::string::npos ? '"' : '\'';
    append(out, std::string_view(&mark, 1));
    for (size_t at = 0; at < s.bytes.size();) {
        utf8_char c = utf8_next(s.bytes.data() + at, s.bytes.data() + s.bytes.size());
        quote_character(out, s, at, c, mark);
        at += c.n;
    }
    append(out, std::string_view(&mark, 1));
}

bool print_items(const value &v, budget *left, text *out, int depth) {
    append(out, v.type == LIST ? "[" : "(");
    for (size_t i = 0; i < v.l->items.size(); i++) {
        if (i) append(out, ", ");
        if (!print_quoted(v.l->items[i], left, out, depth + 1)) return false;
    }
    if (v.type == TUPLE && v.l->items.size() == 1) append(out, ",");
    append(out, v.type == LIST ? "]" : ")");
    return true;
}

bool print_entries(const dict *d, budget *left, text *out, int depth) {
    append(out, "{");
    for (size_t i = 0; i < d->items.size(); i++) {
        if (i) append(out, ", ");
        if (!print_quoted(d->items[i].first, left, out, depth + 1)) return false;
        append(out, ": ");
        if (!print_quoted(d->items[i].second, left, out, depth + 1)) return false;
    }
    append(out, "}");
    return true;
}

void print_range(const range *r, text *out) {
    std::string s = "range(" + std::to_string(r->start) + ", " + std::to_string(r->stop);
    if (r->step != 1) s += ", " + std::to_string(r->step);
    append(out, s + ")");
}

} // namespace

bool print_quoted(const value &v, budget *left, text *out, int depth) {
    if (depth > MAX_DEPTH || !left->spend(1) || out->bytes.size() > left->bytes) return false;
    switch (v.type) {
    case UNDEFINED: append(out, "Undefined"); return true;
    case NONE: append(out, "None"); return true;
    case BOOL: append(out, v.b ? "True" : "False"); return true;
    case INT: append(out, std::to_string(v.i)); return true;
    case BIG: append(out, v.s->bytes); return true;
    case FLOAT: append(out, float_text(v.f)); return true;
    case STRING: quote(*v.s, out); return left->spend(v.s->bytes.size() / 16);
    case LIST:
    case TUPLE: return print_items(v, left, out, depth);
    case DICT: return print_entries(v.d, left, out, depth);
    case RANGE: print_range(v.r, out); return true;
    case NAMESPACE:
        append(out, "<Namespace ");
        if (!print_entries(v.d, left, out, depth)) return false;
        append(out, ">");
        return true;
    default: append(out, std::string("<") + type_name(v) + ">"); return true;
    }
}

bool print(const value &v, budget *left, text *out) {
    if (v.type == UNDEFINED) return true;
    if (v.type != STRING) return print_quoted(v, left, out, 0);
    append(out, *v.s);
    return out->bytes.size() <= left->bytes && left->spend(v.s->bytes.size() / 64);
}

} // namespace jinja
} // namespace llm

// Methods of text, lists and dictionaries, as Python has them.
#include "text/jinja/case.h"
#include "text/jinja/run.h"
#include "text/utf8.h"
#include <algorithm>
#include <utf8proc.h>

namespace llm {
namespace jinja {

namespace {

bool give(run *r, text t, value *out) {
    *out = of_text(&r->memory, std::move(t));
    return within(r, r->memory.used <= r->max_bytes);
}
const text &self(const args *a) { return *a->at[0].s; }

template <case_form FORM> bool cased(run *r, const args *a, value *out) {
    return give(r, with_case(self(a), FORM), out);
}

template <bool LEFT, bool RIGHT> bool strip(run *r, const args *a, value *out) {
    const value *set = argument_at(a, 1, "chars");
    const text *chars = nullptr;
    if (set && set->type != NONE && !string_argument(r, a, 1, "chars", &chars)) return false;
    return give(r, stripped(self(a), chars ? &chars->bytes : nullptr, LEFT, RIGHT), out);
}

// ---- splitting ----

void push(run *r, std::vector<value> *out, const text &s, size_t begin, size_t end) {
    out->push_back(of_text(&r->memory, slice_text(s, begin, end - begin)));
}

bool blank_at(const text &s, size_t at) {
    const text one = slice_text(s, at, utf8_next(s.bytes.data() + at, s.bytes.data() + s.bytes.size()).n);
    return stripped(one, nullptr, true, false).bytes.empty();
}

// Words between white space; the rest is one piece after `most` cuts.
void split_blanks(run *r, const text &s, int64_t most, std::vector<value> *out) {
    size_t at = 0;
    auto next = [&](size_t i) { return i + utf8_next(s.bytes.data() + i, s.bytes.data() + s.bytes.size()).n; };
    for (;;) {
        while (at < s.bytes.size() && blank_at(s, at)) at = next(at);
        if (at >= s.bytes.size()) return;
        size_t end = at;
        if (most-- == 0) {
            const text rest = stripped(slice_text(s, at, s.bytes.size() - at), nullptr, false, true);
            return push(r, out, s, at, at + rest.bytes.size());
        }
        while (end < s.bytes.size() && !blank_at(s, end)) end = next(end);
        push(r, out, s, at, end);
        at = end;
    }
}

void split_at(run *r, const text &s, const std::string &separator, int64_t most, bool from_right,
              std::vector<value> *out) {
    std::vector<size_t> cuts;
    if (from_right) {
        size_t end = s.bytes.size();
        while (most-- != 0 && end >= separator.size()) {
            const size_t found = s.bytes.rfind(separator, end - separator.size());
            if (found == std::string::npos) break;
            cuts.insert(cuts.begin(), found);
            end = found;
        }
    } else {
        for (size_t at = 0; most-- != 0 && (at = s.bytes.find(separator, at)) != std::string::npos;
             at += separator.size())
            cuts.push_back(at);
    }
    size_t begin = 0;
    for (size_t cut : cuts) {
        push(r, out, s, begin, cut);
        begin = cut + separator.size();
    }
    push(r, out, s, begin, s.bytes.size());
}

template <bool FROM_RIGHT> bool split(run *r, const args *a, value *out) {
    const value *given = argument_at(a, 1, "sep");
    int64_t most;
    std::vector<value> parts;
    if (!integer_argument(r, a, 2, "maxsplit", -1, &most) || !within(r, r->left.spend(self(a).bytes.size())))
        return false;
    if (!given || given->type == NONE) {
        split_blanks(r, self(a), most, &parts);
    } else {
        const text *separator;
        if (!string_argument(r, a, 1, "sep", &separator)) return false;
        if (separator->bytes.empty()) return raise(r, "empty separator");
        split_at(r, self(a), separator->bytes, most, FROM_RIGHT, &parts);
    }
    *out = of_list(&r->memory, std::move(parts));
    return within(r, r->memory.used <= r->max_bytes);
}

bool splitlines(run *r, const args *a, value *out) {
    const bool keep = flag_argument(a, 1, "keepends", false);
    const std::string &s = self(a).bytes;
    std::vector<value> lines;
    for (size_t at = 0; at < s.size();) {
        const size_t end = std::min(s.find_first_of("\n\r\v\f", at), s.size());
        const size_t next = end < s.size() ? end + (s.compare(end, 2, "\r\n") == 0 ? 2 : 1) : end;
        push(r, &lines, self(a), at, keep ? next : end);
        at = next;
    }
    *out = of_list(&r->memory, std::move(lines));
    return true;
}

template <bool LAST> bool partition(run *r, const args *a, value *out) {
    const text *separator;
    if (!string_argument(r, a, 1, "sep", &separator)) return false;
    if (separator->bytes.empty()) return raise(r, "empty separator");
    const text &s = self(a);
    const size_t found = LAST ? s.bytes.rfind(separator->bytes) : s.bytes.find(separator->bytes);
    const size_t n = s.bytes.size(), none = LAST ? 0 : n;
    const size_t begin = found == std::string::npos ? none : found;
    const size_t end = found == std::string::npos ? none : found + separator->bytes.size();
    std::vector<value> parts;
    push(r, &parts, s, 0, begin);
    push(r, &parts, s, begin, end);
    push(r, &parts, s, end, n);
    *out = of_list(&r->memory, std::move(parts), TUPLE);
    return true;
}

// ---- searching ----

// Characters before byte `at`.
int64_t characters(const std::string &s, size_t at) {
    return (int64_t)character_starts(std::string_view(s).substr(0, at)).size() - 1;
}

enum search_form { FIND, INDEX };
template <bool LAST, search_form FORM> bool find(run *r, const args *a, value *out) {
    const text *what;
    if (!string_argument(r, a, 1, "sub", &what) || !within(r, r->left.spend(self(a).bytes.size() / 16))) return false;
    const size_t found = LAST ? self(a).bytes.rfind(what->bytes) : self(a).bytes.find(what->bytes);
    if (found == std::string::npos && FORM == INDEX) return raise(r, "substring not found");
    *out = of_int(found == std::string::npos ? -1 : characters(self(a).bytes, found));
    return true;
}

bool count_text(run *r, const args *a, value *out) {
    const text *what;
    if (!string_argument(r, a, 1, "sub", &what) || !within(r, r->left.spend(self(a).bytes.size() / 16))) return false;
    int64_t n = 0;
    if (what->bytes.empty())
        n = characters(self(a).bytes, self(a).bytes.size()) + 1;
    else
        for (size_t at = 0; (at = self(a).bytes.find(what->bytes, at)) != std::string::npos; at += what->bytes.size())
            n++;
    *out = of_int(n);
    return true;
}

bool has_affix(const std::string &s, const std::string &affix, bool at_end) {
    return s.size() >= affix.size() && s.compare(at_end ? s.size() - affix.size() : 0, affix.size(), affix) == 0;
}

// One affix or a tuple of them.
template <bool AT_END> bool affixed(run *r, const args *a, value *out) {
    const value *given = argument_at(a, 1, "prefix");
    std::vector<value> some;
    if (given && given->type == TUPLE)
        some = given->l->items;
    else if (given)
        some = {*given};
    else
        return raise(r, "missing argument: prefix");
    bool holds = false;
    for (const value &v : some) {
        if (v.type == UNDEFINED) return raise_undefined(r, v);
        if (v.type != STRING)
            return raise(r, std::string("first arg must be str or a tuple of str, not ") + type_name(v));
        holds = holds || has_affix(self(a).bytes, v.s->bytes, AT_END);
    }
    *out = of_bool(holds);
    return true;
}

template <bool AT_END> bool without_affix(run *r, const args *a, value *out) {
    const text *affix;
    if (!string_argument(r, a, 1, "prefix", &affix)) return false;
    const size_t n = self(a).bytes.size(),
                 cut = has_affix(self(a).bytes, affix->bytes, AT_END) ? affix->bytes.size() : 0;
    return give(r, slice_text(self(a), AT_END ? 0 : cut, n - cut), out);
}

bool replace_method(run *r, const args *a, value *out) { return find_filter("replace")->call(r, a, out); }

// ---- kinds of characters ----

bool all_of(const args *a, bool (*holds)(uint32_t code), value *out) {
    const std::string &s = self(a).bytes;
    bool all = !s.empty();
    for (size_t at = 0; all && at < s.size();) {
        const utf8_char c = utf8_next(s.data() + at, s.data() + s.size());
        all = holds(c.code);
        at += c.n;
    }
    *out = of_bool(all);
    return true;
}
utf8proc_category_t category(uint32_t code) { return utf8proc_category((utf8proc_int32_t)code); }
bool letter(uint32_t c) { return category(c) >= UTF8PROC_CATEGORY_LU && category(c) <= UTF8PROC_CATEGORY_LO; }
bool decimal(uint32_t c) { return category(c) == UTF8PROC_CATEGORY_ND; }
bool superscript(uint32_t c) {
    return c == 0xB2 || c == 0xB3 || c == 0xB9 || (c >= 0x2070 && c <= 0x2089) || (c >= 0x2460 && c <= 0x2468);
}
bool numeric(uint32_t c) { return category(c) >= UTF8PROC_CATEGORY_ND && category(c) <= UTF8PROC_CATEGORY_NO; }

bool isalpha_(run *, const args *a, value *out) { return all_of(a, letter, out); }
bool isdecimal_(run *, const args *a, value *out) { return all_of(a, decimal, out); }
bool isdigit_(run *, const args *a, value *out) {
    return all_of(
        a, [](uint32_t c) { return decimal(c) || superscript(c); }, out);
}
bool isnumeric_(run *, const args *a, value *out) { return all_of(a, numeric, out); }
bool isalnum_(run *, const args *a, value *out) {
    return all_of(
        a, [](uint32_t c) { return letter(c) || numeric(c); }, out);
}
bool isascii_(run *, const args *a, value *out) {
    return *out = of_bool(
               std::all_of(self(a).bytes.begin(), self(a).bytes.end(), [](char c) { return (unsigned char)c < 128; })),
           true;
}
bool isspace_(run *, const args *a, value *out) {
    *out = of_bool(!self(a).bytes.empty() && stripped(self(a), nullptr, true, false).bytes.empty());
    return true;
}
bool islower_(run *r, const args *a, value *out) { return find_test("lower")->call(r, a, out); }
bool isupper_(run *r, const args *a, value *out) { return find_test("upper")->call(r, a, out); }

// ---- layout ----

template <char ALIGN> bool justify(run *r, const args *a, value *out) {
    int64_t width;
    const value *given = argument_at(a, 2, "fillchar");
    if (!integer_argument(r, a, 1, "width", 0, &width)) return false;
    if (width > 100000) return out_of_budget(r);
    const std::string fill = given && given->type == STRING ? given->s->bytes : ALIGN == '0' ? "0" : " ";
    const int64_t n = characters(self(a).bytes, self(a).bytes.size()), gap = std::max<int64_t>(width - n, 0);
    const int64_t before = ALIGN == '<' ? 0 : ALIGN == '^' ? gap / 2 + (gap & width & 1) : gap;
    text t;
    size_t sign = ALIGN == '0' && !self(a).bytes.empty() && (self(a).bytes[0] == '-' || self(a).bytes[0] == '+');
    append(&t, self(a), 0, sign);
    for (int64_t i = 0; i < before; i++) append(&t, fill);
    append(&t, self(a), sign, self(a).bytes.size() - sign);
    for (int64_t i = before; i < gap; i++) append(&t, fill);
    return give(r, std::move(t), out);
}

bool expandtabs(run *r, const args *a, value *out) {
    int64_t size, column = 0;
    if (!integer_argument(r, a, 1, "tabsize", 8, &size)) return false;
    if (size > 1000) return out_of_budget(r);
    text t;
    const std::string &s = self(a).bytes;
    for (size_t at = 0; at < s.size();) {
        const utf8_char c = utf8_next(s.data() + at, s.data() + s.size());
        if (c.code == '\t') {
            const int64_t n = size > 0 ? size - column % size : 0;
            append(&t, std::string((size_t)n, ' '));
            column += n;
        } else {
            append(&t, self(a), at, c.n);
            column = c.code == '\n' || c.code == '\r' ? 0 : column + 1;
        }
        at += c.n;
    }
    return give(r, std::move(t), out);
}

bool join_method(run *r, const args *a, value *out) {
    std::vector<value> items;
    text t;
    if (a->at.size() != 2) return raise(r, "join() takes exactly one argument");
    if (!elements_of(r, a->at[1], &items)) return false;
    for (size_t i = 0; i < items.size(); i++) {
        if (items[i].type != STRING)
            return raise(r, std::string("sequence item ") + std::to_string(i) + ": expected str instance, " +
                                type_name(items[i]) + " found");
        if (i) append(&t, self(a));
        append(&t, *items[i].s);
        if (t.bytes.size() > r->max_bytes) return out_of_budget(r);
    }
    return give(r, std::move(t), out);
}

bool format_method(run *r, const args *a, value *out) {
    text t;
    return format_braces(r, self(a), a, &t) && give(r, std::move(t), out);
}

// b'...', the way Python shows bytes: nothing else can be done with them here.
bool encode(run *r, const args *a, value *out) {
    text t;
    append(&t, "b'");
    for (size_t i = 0; i < self(a).bytes.size(); i++) {
        const unsigned char c = (unsigned char)self(a).bytes[i];
        char code[8];
        const bool marked = !self(a).marks.empty() && self(a).marks[i];
        if (c == '\\' || c == '\'')
            snprintf(code, sizeof code, "\\%c", c);
        else
            snprintf(code, sizeof code,
                     c >= 32 && c < 127 ? "%c"
                     : c == '\n'        ? "\\n"
                     : c == '\t'        ? "\\t"
                     : c == '\r'        ? "\\r"
                                        : "\\x%02x",
                     c);
        append(&t, code, marked);
    }
    append(&t, "'");
    return give(r, std::move(t), out);
}

// ---- lists and dictionaries ----

bool list_index(run *r, const args *a, value *out) {
    if (a->at.size() < 2) return raise(r, "index expected at least 1 argument, got 0");
    for (size_t i = 0; i < a->at[0].l->items.size(); i++) {
        bool same;
        if (!within(r, equal(a->at[0].l->items[i], a->at[1], &r->left, &same))) return false;
        if (same) return *out = of_int((int64_t)i), true;
    }
    return raise(r, "the value is not in the list");
}
bool list_count(run *r, const args *a, value *out) {
    int64_t n = 0;
    for (const value &item : a->at[0].l->items) {
        bool same = false;
        if (a->at.size() > 1 && !within(r, equal(item, a->at[1], &r->left, &same))) return false;
        n += same;
    }
    *out = of_int(n);
    return true;
}

// transformers refuses to change lists and dictionaries; published templates do it all the same.
bool list_append(run *r, const args *a, value *out) {
    if (a->at.size() != 2) return raise(r, "append() takes exactly one argument");
    a->at[0].l->items.push_back(a->at[1]);
    r->memory.used += sizeof(value);
    *out = of_none();
    return true;
}
bool list_extend(run *r, const args *a, value *out) {
    std::vector<value> items;
    if (a->at.size() != 2 || !elements_of(r, a->at[1], &items)) return raise(r, "extend() takes exactly one argument");
    a->at[0].l->items.insert(a->at[0].l->items.end(), items.begin(), items.end());
    r->memory.used += items.size() * sizeof(value);
    *out = of_none();
    return true;
}
bool list_insert(run *r, const args *a, value *out) {
    int64_t at;
    if (a->at.size() != 3 || !integer_argument(r, a, 1, "index", 0, &at))
        return raise(r, "insert() takes a place and a value");
    std::vector<value> &items = a->at[0].l->items;
    const int64_t n = (int64_t)items.size();
    at = at < 0 ? std::max<int64_t>(at + n, 0) : std::min(at, n);
    items.insert(items.begin() + at, a->at[2]);
    r->memory.used += sizeof(value);
    *out = of_none();
    return true;
}
bool list_pop(run *r, const args *a, value *out) {
    int64_t at;
    std::vector<value> &items = a->at[0].l->items;
    if (!integer_argument(r, a, 1, "index", -1, &at)) return false;
    if (at < 0) at += (int64_t)items.size();
    if (at < 0 || at >= (int64_t)items.size()) return raise(r, "pop index out of range");
    *out = items[(size_t)at];
    items.erase(items.begin() + at);
    return true;
}

bool dict_get(run *r, const args *a, value *out) {
    if (a->at.size() < 2 || a->at.size() > 3) return raise(r, "get expected 1 or 2 arguments");
    const value *found = dict_find(a->at[0].d, a->at[1]);
    *out = found ? *found : a->at.size() > 2 ? a->at[2] : of_none();
    return true;
}
bool dict_items(run *r, const args *a, value *out) {
    std::vector<value> pairs;
    for (const auto &entry : a->at[0].d->items)
        pairs.push_back(of_list(&r->memory, {entry.first, entry.second}, TUPLE));
    *out = of_list(&r->memory, std::move(pairs));
    return within(r, r->left.spend(out->l->items.size()));
}
bool dict_keys(run *r, const args *a, value *out) {
    std::vector<value> keys;
    for (const auto &entry : a->at[0].d->items) keys.push_back(entry.first);
    *out = of_list(&r->memory, std::move(keys));
    return true;
}
bool dict_values(run *r, const args *a, value *out) {
    std::vector<value> values;
    for (const auto &entry : a->at[0].d->items) values.push_back(entry.second);
    *out = of_list(&r->memory, std::move(values));
    return true;
}
bool dict_pop(run *r, const args *a, value *out) {
    if (a->at.size() < 2) return raise(r, "pop expected at least 1 argument, got 0");
    const value *found = dict_find(a->at[0].d, a->at[1]);
    if (!found && a->at.size() < 3) return raise(r, "pop: the dictionary does not have this key");
    *out = found ? *found : a->at[2];
    if (found) dict_remove(a->at[0].d, a->at[1]);
    return within(r, r->left.spend(a->at[0].d->items.size()));
}
bool dict_update(run *r, const args *a, value *out) {
    *out = of_none();
    for (size_t i = 1; i < a->at.size(); i++) {
        if (a->at[i].type != DICT) return raise(r, "update() takes a mapping");
        const auto items = a->at[i].d->items;
        for (const auto &entry : items) dict_set(&r->memory, a->at[0].d, entry.first, entry.second);
    }
    for (const auto &given : a->named)
        dict_set(&r->memory, a->at[0].d, of_string(&r->memory, given.first), given.second);
    return true;
}
bool dict_copy(run *r, const args *a, value *out) {
    *out = new_dict(&r->memory);
    for (const auto &entry : a->at[0].d->items) dict_set(&r->memory, out->d, entry.first, entry.second);
    return true;
}

bool loop_changed(run *r, const args *a, value *out) {
    loop_state *loop = a->at[0].loop;
    const value now = of_list(&r->memory, {a->at.begin() + 1, a->at.end()}, TUPLE);
    bool same = false;
    if (loop->any_changed && !within(r, equal(now, loop->changed, &r->left, &same))) return false;
    loop->any_changed = true;
    loop->changed = now;
    *out = of_bool(!same);
    return true;
}
bool loop_cycle(run *r, const args *a, value *out) {
    if (a->at.size() < 2) return raise(r, "no items for cycling given");
    *out = a->at[1 + a->at[0].loop->at % (a->at.size() - 1)];
    return true;
}

bool bit_length(run *, const args *a, value *out) {
    uint64_t n = a->at[0].i < 0 ? 0 - (uint64_t)a->at[0].i : (uint64_t)a->at[0].i;
    int64_t bits = 0;
    for (; n; n >>= 1) bits++;
    *out = of_int(bits);
    return true;
}
bool is_integer_float(run *, const args *a, value *out) {
    const double f = a->at[0].f;
    *out = of_bool(f - f == 0 && (double)(int64_t)std::min(std::max(f, -9e18), 9e18) == f);
    return true;
}

bool stepper_next(run *r, const args *a, value *out) {
    args none;
    return call_value(r, a->at[0], &none, out);
}
bool stepper_reset(run *, const args *a, value *out) {
    a->at[0].step->next = 0;
    *out = of_none();
    return true;
}

const function_row methods[] = {
    {"upper", STRING, cased<CASE_UPPER>},
    {"lower", STRING, cased<CASE_LOWER>},
    {"title", STRING, cased<CASE_TITLE>},
    {"capitalize", STRING, cased<CASE_CAPITAL>},
    {"swapcase", STRING, cased<CASE_SWAPPED>},
    {"casefold", STRING, cased<CASE_FOLDED>},
    {"strip", STRING, strip<true, true>},
    {"lstrip", STRING, strip<true, false>},
    {"rstrip", STRING, strip<false, true>},
    {"split", STRING, split<false>},
    {"rsplit", STRING, split<true>},
    {"splitlines", STRING, splitlines},
    {"partition", STRING, partition<false>},
    {"rpartition", STRING, partition<true>},
    {"find", STRING, find<false, FIND>},
    {"rfind", STRING, find<true, FIND>},
    {"index", STRING, find<false, INDEX>},
    {"rindex", STRING, find<true, INDEX>},
    {"count", STRING, count_text},
    {"startswith", STRING, affixed<false>},
    {"endswith", STRING, affixed<true>},
    {"removeprefix", STRING, without_affix<false>},
    {"removesuffix", STRING, without_affix<true>},
    {"replace", STRING, replace_method},
    {"isalpha", STRING, isalpha_},
    {"isdecimal", STRING, isdecimal_},
    {"isdigit", STRING, isdigit_},
    {"isnumeric", STRING, isnumeric_},
    {"isalnum", STRING, isalnum_},
    {"isascii", STRING, isascii_},
    {"isspace", STRING, isspace_},
    {"islower", STRING, islower_},
    {"isupper", STRING, isupper_},
    {"ljust", STRING, justify<'<'>},
    {"rjust", STRING, justify<'>'>},
    {"center", STRING, justify<'^'>},
    {"zfill", STRING, justify<'0'>},
    {"expandtabs", STRING, expandtabs},
    {"join", STRING, join_method},
    {"format", STRING, format_method},
    {"encode", STRING, encode},
    {"index", LIST, list_index},
    {"count", LIST, list_count},
    {"index", TUPLE, list_index},
    {"count", TUPLE, list_count},
    {"append", LIST, list_append},
    {"extend", LIST, list_extend},
    {"insert", LIST, list_insert},
    {"pop", LIST, list_pop},
    {"get", DICT, dict_get},
    {"items", DICT, dict_items},
    {"keys", DICT, dict_keys},
    {"values", DICT, dict_values},
    {"pop", DICT, dict_pop},
    {"update", DICT, dict_update},
    {"copy", DICT, dict_copy},
    {"changed", LOOP, loop_changed},
    {"cycle", LOOP, loop_cycle},
    {"bit_length", INT, bit_length},
    {"is_integer", FLOAT, is_integer_float},
    {"next", STEPPER, stepper_next},
    {"reset", STEPPER, stepper_reset},
};

} // namespace

const function_row *find_method(kind self, const std::string &name) {
    for (const function_row &row : methods)
        if (row.self == self && name == row.name) return &row;
    return nullptr;
}

} // namespace jinja
} // namespace llm

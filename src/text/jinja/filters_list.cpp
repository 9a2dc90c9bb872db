#include "text/jinja/case.h"
#include "text/jinja/filters.h"
#include <algorithm>

namespace llm {
namespace jinja {

namespace {

bool give_list(run *r, std::vector<value> items, value *out) {
    *out = of_list(&r->memory, std::move(items));
    return within(r, r->memory.used <= r->max_bytes);
}

// a.b.0 of a value; missing parts are undefined.
bool path_of(run *r, const value &v, const value &path, value *out) {
    *out = v;
    if (path.type != STRING) return item_of(r, v, path, out);
    const std::string &s = path.s->bytes;
    for (size_t at = 0; at <= s.size();) {
        const size_t end = std::min(s.find('.', at), s.size());
        const std::string part = s.substr(at, end - at);
        const bool number =
            !part.empty() && part.size() < 18 && part.find_first_not_of("0123456789") == std::string::npos;
        const value object = *out, key = number ? of_int(std::stoll(part)) : of_string(&r->memory, part);
        if (object.type == UNDEFINED) return true;
        if (!item_of(r, object, key, out)) return false;
        at = end + 1;
    }
    return true;
}

// Text is compared without case unless asked otherwise, as Jinja2 does.
value folded(run *r, const value &v, bool case_sensitive) {
    if (case_sensitive || v.type != STRING) return v;
    return of_text(&r->memory, with_case(*v.s, CASE_LOWER));
}

bool sort_key(run *r, const value &item, const value *attribute, bool case_sensitive, value *out) {
    if (attribute && attribute->type != NONE) {
        if (!path_of(r, item, *attribute, out)) return false;
    } else {
        *out = item;
    }
    *out = folded(r, *out, case_sensitive);
    return true;
}

struct keyed {
    value key, item;
};

// Stable; the order of equal keys is kept in reverse too.
bool sort_keyed(run *r, std::vector<keyed> *all, bool reverse) {
    bool ok = true;
    auto before = [&](const keyed &a, const keyed &b) {
        bool is_less = false;
        ok = ok && less(r, reverse ? b.key : a.key, reverse ? a.key : b.key, &is_less);
        return ok && is_less;
    };
    // Merge sort by hand: a comparison that fails must not meet an algorithm that trusts it.
    std::vector<keyed> from = *all, to(all->size());
    for (size_t width = 1; width < from.size() && ok; width *= 2) {
        for (size_t begin = 0; begin < from.size(); begin += 2 * width) {
            const size_t middle = std::min(begin + width, from.size()), end = std::min(begin + 2 * width, from.size());
            size_t a = begin, b = middle;
            for (size_t i = begin; i < end; i++)
                to[i] = a < middle && (b >= end || !before(from[b], from[a])) ? from[a++] : from[b++];
        }
        from.swap(to);
    }
    all->swap(from);
    return ok;
}

bool keyed_items(run *r, const value &v, const value *attribute, bool case_sensitive, std::vector<keyed> *out) {
    std::vector<value> items;
    if (!elements_of(r, v, &items)) return false;
    for (const value &item : items) {
        keyed k;
        k.item = item;
        if (!sort_key(r, item, attribute, case_sensitive, &k.key)) return false;
        out->push_back(k);
    }
    return true;
}

bool end_of(run *r, const args *a, bool last, value *out) {
    std::vector<value> items;
    if (!elements_of(r, a->at[0], &items)) return false;
    *out = items.empty() ? undefined(r, std::string("No ") + (last ? "last" : "first") + " item, sequence was empty.")
           : last        ? items.back()
                         : items.front();
    return true;
}

} // namespace

bool filter_first(run *r, const args *a, value *out) { return end_of(r, a, false, out); }
bool filter_last(run *r, const args *a, value *out) { return end_of(r, a, true, out); }

bool filter_list(run *r, const args *a, value *out) {
    std::vector<value> items;
    return elements_of(r, a->at[0], &items) && give_list(r, std::move(items), out);
}

bool filter_length(run *r, const args *a, value *out) {
    const value &v = a->at[0];
    if (v.type == STRING)
        *out = of_int((int64_t)character_starts(v.s->bytes).size() - 1);
    else if (is_sequence(v))
        *out = of_int((int64_t)v.l->items.size());
    else if (v.type == DICT)
        *out = of_int((int64_t)v.d->items.size());
    else if (v.type == RANGE)
        *out = of_int(range_length(v.r));
    else if (v.type == UNDEFINED)
        *out = of_int(0);
    else
        return raise(r, std::string("object of type '") + type_name(v) + "' has no len()");
    return true;
}

bool filter_reverse(run *r, const args *a, value *out) {
    std::vector<value> items;
    if (!elements_of(r, a->at[0], &items)) return false;
    std::reverse(items.begin(), items.end());
    if (a->at[0].type != STRING) return give_list(r, std::move(items), out);
    text t;
    for (const value &item : items) append(&t, *item.s);
    return give_text(r, std::move(t), out);
}

bool filter_join(run *r, const args *a, value *out) {
    const value *separator = argument_at(a, 1, "d"), *attribute = argument_at(a, 2, "attribute");
    std::vector<value> items;
    text between, t;
    if (!elements_of(r, a->at[0], &items)) return false;
    if (separator && !text_of(r, *separator, &between)) return false;
    for (size_t i = 0; i < items.size(); i++) {
        value v = items[i];
        if (attribute && !path_of(r, items[i], *attribute, &v)) return false;
        if (i) append(&t, between);
        if (!text_of(r, v, &t)) return false;
    }
    return give_text(r, std::move(t), out);
}

bool filter_sum(run *r, const args *a, value *out) {
    const value *attribute = argument_at(a, 1, "attribute"), *start = argument_at(a, 2, "start");
    std::vector<value> items;
    if (!elements_of(r, a->at[0], &items)) return false;
    *out = start ? *start : of_int(0);
    for (const value &item : items) {
        value v = item;
        const value sum = *out;
        if (attribute && attribute->type != NONE && !path_of(r, item, *attribute, &v)) return false;
        if (!binary(r, "+", sum, v, out)) return false;
    }
    return true;
}

static bool extreme(run *r, const args *a, bool largest, value *out) {
    std::vector<keyed> all;
    if (!keyed_items(r, a->at[0], argument_at(a, 2, "attribute"), flag_argument(a, 1, "case_sensitive", false), &all))
        return false;
    if (all.empty()) return *out = undefined(r, "No aggregated item, sequence was empty."), true;
    size_t best = 0;
    for (size_t i = 1; i < all.size(); i++) {
        bool better;
        if (!less(r, all[largest ? best : i].key, all[largest ? i : best].key, &better)) return false;
        if (better) best = i;
    }
    *out = all[best].item;
    return true;
}
bool filter_min(run *r, const args *a, value *out) { return extreme(r, a, false, out); }
bool filter_max(run *r, const args *a, value *out) { return extreme(r, a, true, out); }

bool filter_sort(run *r, const args *a, value *out) {
    std::vector<keyed> all;
    const bool reverse = flag_argument(a, 1, "reverse", false),
               case_sensitive = flag_argument(a, 2, "case_sensitive", false);
    if (!keyed_items(r, a->at[0], argument_at(a, 3, "attribute"), case_sensitive, &all) ||
        !sort_keyed(r, &all, reverse))
        return false;
    std::vector<value> items;
    for (const keyed &k : all) items.push_back(k.item);
    return give_list(r, std::move(items), out);
}

bool filter_unique(run *r, const args *a, value *out) {
    std::vector<keyed> all;
    std::vector<value> kept;
    const value seen = new_dict(&r->memory);
    if (!keyed_items(r, a->at[0], argument_at(a, 2, "attribute"), flag_argument(a, 1, "case_sensitive", false), &all))
        return false;
    for (const keyed &k : all) {
        if (dict_find(seen.d, k.key)) continue;
        if (!dict_set(&r->memory, seen.d, k.key, k.item))
            return raise(r, std::string("unhashable type: '") + type_name(k.key) + "'");
        kept.push_back(k.item);
    }
    return give_list(r, std::move(kept), out);
}

// As Jinja2 does: what is not true has no elements here, None too.
static bool elements_or_none(run *r, const value &v, std::vector<value> *out) {
    return !is_true(v) || elements_of(r, v, out);
}

// map("filter", arguments...) or map(attribute=path, default=x)
bool filter_map(run *r, const args *a, value *out) {
    std::vector<value> items, results;
    if (!elements_or_none(r, a->at[0], &items)) return false;
    const value *attribute = a->at.size() < 2 ? argument_at(a, SIZE_MAX, "attribute") : nullptr;
    const value *fallback = argument_at(a, SIZE_MAX, "default");
    const function_row *filter = nullptr;
    if (!attribute) {
        if (a->at.size() < 2 || a->at[1].type != STRING) return raise(r, "map requires a filter argument");
        filter = find_filter(a->at[1].s->bytes);
        if (!filter) return raise(r, "No filter named '" + a->at[1].s->bytes + "'.");
    }
    for (const value &item : items) {
        value v;
        if (attribute) {
            if (!path_of(r, item, *attribute, &v)) return false;
            if (v.type == UNDEFINED && fallback) v = *fallback;
        } else {
            args inner = {{item}, a->named};
            inner.at.insert(inner.at.end(), a->at.begin() + 2, a->at.end());
            if (!within(r, r->left.spend(1)) || !filter->call(r, &inner, &v)) return false;
        }
        results.push_back(v);
    }
    return give_list(r, std::move(results), out);
}

// select(test, arguments...), selectattr(path, test, arguments...): by truth without a test.
static bool choose(run *r, const args *a, bool by_attribute, bool wanted, value *out) {
    std::vector<value> items, kept;
    const size_t first = by_attribute ? 2 : 1; // of the test
    if (!elements_or_none(r, a->at[0], &items)) return false;
    if (by_attribute && a->at.size() < 2) return raise(r, "Missing parameter for attribute name");
    const function_row *test = nullptr;
    if (a->at.size() > first) {
        if (a->at[first].type != STRING) return raise(r, "the name of a test must be text");
        test = find_test(a->at[first].s->bytes);
        if (!test) return raise(r, "No test named '" + a->at[first].s->bytes + "'.");
    }
    for (const value &item : items) {
        args inner;
        inner.at.resize(1);
        inner.at[0] = item;
        if (by_attribute && !path_of(r, item, a->at[1], &inner.at[0])) return false;
        if (a->at.size() > first) inner.at.insert(inner.at.end(), a->at.begin() + (ptrdiff_t)first + 1, a->at.end());
        bool holds = is_true(inner.at[0]);
        if (!within(r, r->left.spend(1)) || (test && !passes_test(r, test, &inner, &holds))) return false;
        if (holds == wanted) kept.push_back(item);
    }
    return give_list(r, std::move(kept), out);
}
bool filter_select(run *r, const args *a, value *out) { return choose(r, a, false, true, out); }
bool filter_reject(run *r, const args *a, value *out) { return choose(r, a, false, false, out); }
bool filter_selectattr(run *r, const args *a, value *out) { return choose(r, a, true, true, out); }
bool filter_rejectattr(run *r, const args *a, value *out) { return choose(r, a, true, false, out); }

bool filter_groupby(run *r, const args *a, value *out) {
    const value *attribute = argument_at(a, 1, "attribute"), *fallback = argument_at(a, 2, "default");
    std::vector<keyed> all;
    std::vector<value> groups;
    if (!attribute) return raise(r, "groupby needs an attribute");
    if (!keyed_items(r, a->at[0], attribute, flag_argument(a, 3, "case_sensitive", false), &all)) return false;
    for (keyed &k : all)
        if (k.key.type == UNDEFINED && fallback) k.key = *fallback;
    if (!sort_keyed(r, &all, false)) return false;
    for (size_t i = 0; i < all.size(); i++) {
        bool same = false;
        if (i && !within(r, equal(all[i].key, all[i - 1].key, &r->left, &same))) return false;
        if (!same) {
            value shown;
            if (!path_of(r, all[i].item, *attribute, &shown)) return false;
            if (shown.type == UNDEFINED && fallback) shown = *fallback;
            groups.push_back(of_list(&r->memory, {shown, of_list(&r->memory, {})}, TUPLE));
        }
        groups.back().l->items[1].l->items.push_back(all[i].item);
    }
    return give_list(r, std::move(groups), out);
}

bool filter_dictsort(run *r, const args *a, value *out) {
    const bool case_sensitive = flag_argument(a, 1, "case_sensitive", false),
               reverse = flag_argument(a, 3, "reverse", false);
    const value *by = argument_at(a, 2, "by");
    const bool by_value = by && by->type == STRING && by->s->bytes == "value";
    if (a->at[0].type != DICT) return raise(r, std::string("dictsort takes a mapping, not ") + type_name(a->at[0]));
    std::vector<keyed> all;
    for (const auto &entry : a->at[0].d->items) {
        keyed k;
        k.key = folded(r, by_value ? entry.second : entry.first, case_sensitive);
        k.item = of_list(&r->memory, {entry.first, entry.second}, TUPLE);
        all.push_back(k);
    }
    if (!sort_keyed(r, &all, reverse)) return false;
    std::vector<value> items;
    for (const keyed &k : all) items.push_back(k.item);
    return give_list(r, std::move(items), out);
}

bool filter_items(run *r, const args *a, value *out) {
    if (a->at[0].type == UNDEFINED) return give_list(r, {}, out);
    if (a->at[0].type != DICT) return raise(r, "Can only get item pairs from a mapping.");
    args self = {{a->at[0]}, {}};
    return find_method(DICT, "items")->call(r, &self, out);
}

bool filter_batch(run *r, const args *a, value *out) {
    int64_t n;
    const value *fill = argument_at(a, 2, "fill_with");
    std::vector<value> items, rows;
    if (!elements_of(r, a->at[0], &items) || !integer_argument(r, a, 1, "linecount", 0, &n)) return false;
    if (n < 1 || n > 100000) return raise(r, "batch takes a number of 1 or more");
    for (size_t i = 0; i < items.size(); i += (size_t)n) {
        std::vector<value> row(items.begin() + (ptrdiff_t)i,
                               items.begin() + (ptrdiff_t)std::min(i + (size_t)n, items.size()));
        while (fill && fill->type != NONE && row.size() < (size_t)n) row.push_back(*fill);
        rows.push_back(of_list(&r->memory, std::move(row)));
    }
    return give_list(r, std::move(rows), out);
}

bool filter_slice(run *r, const args *a, value *out) {
    int64_t n;
    const value *fill = argument_at(a, 2, "fill_with");
    std::vector<value> items, columns;
    if (!elements_of(r, a->at[0], &items) || !integer_argument(r, a, 1, "slices", 0, &n)) return false;
    if (n < 1 || n > 100000) return raise(r, "slice takes a number of 1 or more");
    const size_t each = items.size() / (size_t)n, more = items.size() % (size_t)n;
    size_t at = 0;
    for (size_t i = 0; i < (size_t)n; i++) {
        const size_t end = at + each + (i < more);
        std::vector<value> column(items.begin() + (ptrdiff_t)at, items.begin() + (ptrdiff_t)end);
        if (fill && fill->type != NONE && more && i >= more) column.push_back(*fill);
        columns.push_back(of_list(&r->memory, std::move(column)));
        at = end;
    }
    return give_list(r, std::move(columns), out);
}

bool filter_attr(run *r, const args *a, value *out) {
    const text *name;
    return string_argument(r, a, 1, "name", &name) && attribute_of(r, a->at[0], name->bytes, out);
}

} // namespace jinja
} // namespace llm

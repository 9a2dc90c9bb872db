// JSON as Python's json.dumps writes it; read with RapidJSON, iteratively, numbers as their digits.
#include "text/jinja/value.h"
#include "text/utf8.h"
#include <algorithm>
#include <charconv>
#include <math.h>
#define RAPIDJSON_ASSERT(x) ((void)0) // a failed assertion must not end the program; the handler below keeps them true
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

namespace llm {
namespace jinja {

namespace {

struct json_writer {
    const json_style *style;
    budget *left;
    text *out;
    std::string *reason;
};

void write_string(const json_writer *w, const text &s) {
    static const char *const short_escapes[] = {"\b\\b", "\f\\f", "\n\\n", "\r\\r", "\t\\t", "\"\\\"", "\\\\\\"};
    append(w->out, "\"");
    for (size_t at = 0; at < s.bytes.size();) {
        const utf8_char c = utf8_next(s.bytes.data() + at, s.bytes.data() + s.bytes.size());
        const bool marked = !s.marks.empty() && s.marks[at];
        const char *escape = nullptr;
        for (const char *row : short_escapes)
            if (c.code == (uint8_t)row[0]) escape = row + 1;
        char code[16];
        if (!escape && (c.code < 0x20 || (w->style->ascii && c.code > 0x7E))) {
            escape = code;
            if (c.code < 0x10000)
                snprintf(code, sizeof code, "\\u%04x", c.code);
            else
                snprintf(code, sizeof code, "\\u%04x\\u%04x", 0xD7C0 + (c.code >> 10), 0xDC00 + (c.code & 0x3FF));
        }
        if (escape)
            append(w->out, escape, marked);
        else
            append(w->out, s, at, c.n);
        at += c.n;
    }
    append(w->out, "\"");
}

void new_line(const json_writer *w, int depth) {
    if (w->style->indent < 0) return;
    append(w->out, "\n");
    for (int i = 0; i < depth; i++) append(w->out, w->style->indent_text);
}

void write_float(const json_writer *w, double f) {
    append(w->out, f != f ? "NaN" : isinf(f) ? (f > 0 ? "Infinity" : "-Infinity") : float_text(f));
}

bool write(const json_writer *w, const value &v, int depth);

bool write_key(const json_writer *w, const value &key) {
    if (key.type == STRING) return write_string(w, *key.s), true;
    if (!is_number(key) && key.type != NONE) {
        *w->reason = std::string("keys must be str, int, float, bool or None, not ") + type_name(key);
        return false;
    }
    append(w->out, "\"");
    if (!write(w, key, 0)) return false;
    append(w->out, "\"");
    return true;
}

bool write_list(const json_writer *w, const list *l, int depth) {
    if (l->items.empty()) return append(w->out, "[]"), true;
    append(w->out, "[");
    for (size_t i = 0; i < l->items.size(); i++) {
        if (i) append(w->out, w->style->item_separator);
        new_line(w, depth + 1);
        if (!write(w, l->items[i], depth + 1)) return false;
    }
    new_line(w, depth);
    append(w->out, "]");
    return true;
}

bool write_dict(const json_writer *w, const dict *d, int depth) {
    if (d->items.empty()) return append(w->out, "{}"), true;
    std::vector<const std::pair<value, value> *> entries;
    for (const auto &entry : d->items) entries.push_back(&entry);
    if (w->style->sort_keys)
        std::stable_sort(entries.begin(), entries.end(), [](const auto *a, const auto *b) {
            return a->first.type == STRING && b->first.type == STRING && a->first.s->bytes < b->first.s->bytes;
        });
    append(w->out, "{");
    for (size_t i = 0; i < entries.size(); i++) {
        if (i) append(w->out, w->style->item_separator);
        new_line(w, depth + 1);
        if (!write_key(w, entries[i]->first)) return false;
        append(w->out, w->style->key_separator);
        if (!write(w, entries[i]->second, depth + 1)) return false;
    }
    new_line(w, depth);
    append(w->out, "}");
    return true;
}

bool write(const json_writer *w, const value &v, int depth) {
    if (depth > MAX_DEPTH || !w->left->spend(1) || w->out->bytes.size() > w->left->bytes) return false;
    switch (v.type) {
    case NONE: append(w->out, "null"); return true;
    case BOOL: append(w->out, v.b ? "true" : "false"); return true;
    case INT: append(w->out, std::to_string(v.i)); return true;
    case BIG: append(w->out, v.s->bytes); return true;
    case FLOAT: write_float(w, v.f); return true;
    case STRING: write_string(w, *v.s); return w->left->spend(v.s->bytes.size() / 16);
    case LIST:
    case TUPLE: return write_list(w, v.l, depth);
    case DICT: return write_dict(w, v.d, depth);
    default: *w->reason = std::string("Object of type ") + type_name(v) + " is not JSON serializable"; return false;
    }
}

// ---- reading ----

constexpr size_t MAX_JSON_DEPTH = 64;

value number_value(heap *h, std::string_view digits) {
    const char *end = digits.data() + digits.size();
    if (digits.find_first_of(".eE") == std::string_view::npos) {
        int64_t i;
        if (std::from_chars(digits.data(), end, i).ec == std::errc()) return of_int(i);
        value v = of_string(h, digits);
        v.type = BIG;
        return v;
    }
    double f = 0;
    // Out of range gives what Python gives: infinity, or zero.
    if (std::from_chars(digits.data(), end, f).ec == std::errc::result_out_of_range)
        f = strtod(std::string(digits).c_str(), nullptr);
    return of_float(f);
}

struct json_builder {
    heap *h;
    value *result;
    size_t max_depth;
    std::vector<value> open; // lists and dictionaries that are not closed yet
    std::vector<value> keys; // of the open dictionaries; UNDEFINED until a key is read

    bool add(const value &v) {
        if (open.empty()) return *result = v, true;
        if (open.back().type == LIST) {
            open.back().l->items.push_back(v);
            h->used += sizeof(value);
            return true;
        }
        return dict_set(h, open.back().d, keys.back(), v);
    }
    value marked(const char *s, size_t n) { return of_text(h, {std::string(s, n), std::string(n, 1)}); }
    bool start(const value &v) {
        if (open.size() >= max_depth) return false;
        open.push_back(v);
        keys.emplace_back();
        return true;
    }
    bool close() {
        const value v = open.back();
        open.pop_back();
        keys.pop_back();
        return add(v);
    }

    bool Null() { return add(of_none()); }
    bool Bool(bool b) { return add(of_bool(b)); }
    bool Int(int) { return false; }
    bool Uint(unsigned) { return false; }
    bool Int64(int64_t) { return false; }
    bool Uint64(uint64_t) { return false; }
    bool Double(double) { return false; }
    bool RawNumber(const char *s, rapidjson::SizeType n, bool) { return add(number_value(h, {s, n})); }
    bool String(const char *s, rapidjson::SizeType n, bool) { return add(marked(s, n)); }
    bool StartObject() { return start(new_dict(h)); }
    bool Key(const char *s, rapidjson::SizeType n, bool) { return keys.back() = marked(s, n), true; }
    bool EndObject(rapidjson::SizeType) { return close(); }
    bool StartArray() { return start(of_list(h, {})); }
    bool EndArray(rapidjson::SizeType) { return close(); }
};

} // namespace

bool to_json(const value &v, const json_style *style, budget *left, text *out, std::string *reason) {
    const json_writer w = {style, left, out, reason};
    return write(&w, v, 0);
}

bool from_json(heap *h, std::string_view json, value *out, std::string *reason, size_t depth) {
    json_builder builder = {h, out, MAX_JSON_DEPTH - depth, {}, {}};
    rapidjson::MemoryStream stream(json.data(), json.size());
    rapidjson::Reader reader;
    constexpr unsigned FLAGS =
        rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseValidateEncodingFlag;
    const rapidjson::ParseResult result = reader.Parse<FLAGS>(stream, builder);
    if (!result.IsError()) return true;
    *reason = result.Code() == rapidjson::kParseErrorTermination ? "values are nested too deeply"
                                                                 : rapidjson::GetParseError_En(result.Code());
    *reason += " (at byte " + std::to_string(result.Offset()) + ")";
    return false;
}

} // namespace jinja
} // namespace llm

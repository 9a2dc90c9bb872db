#include "text/jinja/filters.h"
#include "text/utf8.h"
#include <algorithm>
#include <string.h>

namespace llm {
namespace jinja {

bool filter_trim(run *r, const args *a, value *out) {
    const value *given = argument_at(a, 1, "chars");
    text t;
    if (!text_of(r, a->at[0], &t)) return false;
    const std::string *set = given && given->type == STRING ? &given->s->bytes : nullptr;
    return give_text(r, stripped(t, set, true, true), out);
}

bool filter_replace(run *r, const args *a, value *out) {
    text from, to, s, t;
    const value *old_value = argument_at(a, 1, "old"), *new_value = argument_at(a, 2, "new");
    int64_t most;
    if (!old_value || !new_value) return raise(r, "replace needs what to replace and by what");
    if (!integer_argument(r, a, 3, "count", -1, &most) || !text_of(r, a->at[0], &s) || !text_of(r, *old_value, &from) ||
        !text_of(r, *new_value, &to))
        return false;
    if (!within(r, r->left.spend(s.bytes.size()))) return false;
    size_t at = 0;
    while (most-- != 0 && at <= s.bytes.size()) {
        const size_t found = s.bytes.find(from.bytes, at);
        if (found == std::string::npos) break;
        append(&t, s, at, found - at);
        append(&t, to);
        at = found + from.bytes.size();
        if (from.bytes.empty()) { // between all characters
            const size_t n =
                at < s.bytes.size() ? utf8_next(s.bytes.data() + at, s.bytes.data() + s.bytes.size()).n : 0;
            append(&t, s, at, n);
            at += n ? n : 1;
        }
        if (t.bytes.size() > r->max_bytes) return out_of_budget(r);
    }
    if (at < s.bytes.size()) append(&t, s, at, s.bytes.size() - at);
    return give_text(r, std::move(t), out);
}

bool filter_indent(run *r, const args *a, value *out) {
    const value *width = argument_at(a, 1, "width");
    const bool first = flag_argument(a, 2, "first", false), blank = flag_argument(a, 3, "blank", false);
    text s, t;
    int64_t n = 4;
    if (!text_of(r, a->at[0], &s)) return false;
    if (!(width && width->type == STRING) && !integer_argument(r, a, 1, "width", 4, &n)) return false;
    const std::string by = width && width->type == STRING
                               ? width->s->bytes
                               : std::string((size_t)std::min<int64_t>(std::max<int64_t>(n, 0), 1000), ' ');
    for (size_t at = 0, line = 0; at <= s.bytes.size(); line++) {
        const size_t end = std::min(s.bytes.find('\n', at), s.bytes.size());
        if (line ? (blank || end > at) : first) append(&t, by);
        append(&t, s, at, std::min(end + 1, s.bytes.size()) - at);
        at = end + 1;
        if (t.bytes.size() > r->max_bytes) return out_of_budget(r);
    }
    return give_text(r, std::move(t), out);
}

bool filter_truncate(run *r, const args *a, value *out) {
    int64_t length, leeway;
    const bool kill_words = flag_argument(a, 2, "killwords", false);
    const value *given = argument_at(a, 3, "end");
    const std::string end = given && given->type == STRING ? given->s->bytes : "...";
    text s;
    if (!text_of(r, a->at[0], &s) || !integer_argument(r, a, 1, "length", 255, &length) ||
        !integer_argument(r, a, 4, "leeway", 5, &leeway))
        return false;
    const std::vector<size_t> starts = character_starts(s.bytes);
    const int64_t n = (int64_t)starts.size() - 1, n_end = (int64_t)character_starts(end).size() - 1;
    if (length < n_end)
        return raise(r, "expected length >= " + std::to_string(n_end) + ", got " + std::to_string(length));
    if (n <= length + leeway) return give_text(r, std::move(s), out);
    text t = slice_text(s, 0, starts[(size_t)(length - n_end)]);
    if (!kill_words) {
        const size_t space = t.bytes.rfind(' ');
        if (space != std::string::npos) t = slice_text(t, 0, space);
    }
    append(&t, end);
    return give_text(r, std::move(t), out);
}

namespace {

std::vector<std::string> words_of(const std::string &line) {
    std::vector<std::string> words;
    for (size_t at = 0; at < line.size();) {
        const size_t begin = line.find_first_not_of(" \t", at);
        if (begin == std::string::npos) break;
        at = std::min(line.find_first_of(" \t", begin), line.size());
        words.push_back(line.substr(begin, at - begin));
    }
    return words;
}

std::string wrap_line(const std::string &line, size_t width, bool break_long, const std::string &newline) {
    std::string out, row;
    for (std::string word : words_of(line)) {
        while (break_long && word.size() > width) {
            if (!row.empty()) out += row + newline;
            row.clear();
            out += word.substr(0, width) + newline;
            word.erase(0, width);
        }
        if (!row.empty() && row.size() + 1 + word.size() > width) {
            out += row + newline;
            row = word;
        } else {
            row += (row.empty() ? "" : " ") + word;
        }
    }
    return out + row;
}

} // namespace

bool filter_wordwrap(run *r, const args *a, value *out) {
    int64_t width;
    const bool break_long = flag_argument(a, 2, "break_long_words", true);
    const value *given = argument_at(a, 3, "wrapstring");
    const std::string newline = given && given->type == STRING ? given->s->bytes : "\n";
    text s;
    std::string wrapped;
    if (!text_of(r, a->at[0], &s) || !integer_argument(r, a, 1, "width", 79, &width)) return false;
    if (width < 1 || newline.size() > 100) return raise(r, "invalid width");
    if (!within(r, r->left.spend(s.bytes.size()))) return false;
    for (size_t at = 0; at <= s.bytes.size();) {
        const size_t end = std::min(s.bytes.find('\n', at), s.bytes.size());
        if (at) wrapped += newline;
        wrapped += wrap_line(s.bytes.substr(at, end - at), (size_t)width, break_long, newline);
        at = end + 1;
    }
    text t;
    append(&t, wrapped, !s.marks.empty());
    return give_text(r, std::move(t), out);
}

bool filter_wordcount(run *r, const args *a, value *out) {
    text s;
    if (!text_of(r, a->at[0], &s)) return false;
    int64_t n = 0;
    bool inside = false;
    for (unsigned char c : s.bytes) {
        const bool word = isalnum(c) || c == '_' || c >= 128;
        n += word && !inside;
        inside = word;
    }
    *out = of_int(n);
    return true;
}

bool filter_center(run *r, const args *a, value *out) {
    int64_t width;
    text s, t;
    if (!text_of(r, a->at[0], &s) || !integer_argument(r, a, 1, "width", 80, &width)) return false;
    if (width > 100000) return out_of_budget(r);
    const int64_t n = (int64_t)character_starts(s.bytes).size() - 1, gap = std::max<int64_t>(width - n, 0);
    const int64_t before = gap / 2 + (gap & width & 1);
    append(&t, std::string((size_t)before, ' '));
    append(&t, s);
    append(&t, std::string((size_t)(gap - before), ' '));
    return give_text(r, std::move(t), out);
}

namespace {

void percent_encode(const text &s, const char *safe, bool plus, text *out) {
    for (size_t i = 0; i < s.bytes.size(); i++) {
        const unsigned char c = (unsigned char)s.bytes[i];
        const bool marked = !s.marks.empty() && s.marks[i];
        char code[8];
        if (isalnum(c) || (c && strchr(safe, c)))
            snprintf(code, sizeof code, "%c", c);
        else if (plus && c == ' ')
            snprintf(code, sizeof code, "+");
        else
            snprintf(code, sizeof code, "%%%02X", c);
        append(out, code, marked);
    }
}

} // namespace

bool filter_urlencode(run *r, const args *a, value *out) {
    text t;
    if (a->at[0].type != DICT && !is_sequence(a->at[0])) {
        text s;
        if (!text_of(r, a->at[0], &s)) return false;
        percent_encode(s, "_.-~/", false, &t);
        return give_text(r, std::move(t), out);
    }
    std::vector<value> items;
    if (!elements_of(r, a->at[0], &items)) return false;
    for (size_t i = 0; i < items.size(); i++) {
        value k = items[i], v;
        text key, content;
        if (a->at[0].type == DICT)
            v = *dict_find(a->at[0].d, k);
        else if (is_sequence(k) && k.l->items.size() == 2)
            v = items[i].l->items[1], k = items[i].l->items[0];
        else
            return raise(r, "urlencode takes text, a mapping or pairs");
        if (!text_of(r, k, &key) || !text_of(r, v, &content)) return false;
        if (i) append(&t, "&");
        percent_encode(key, "_.-~", true, &t);
        append(&t, "=");
        percent_encode(content, "_.-~", true, &t);
    }
    return give_text(r, std::move(t), out);
}

namespace {

text escaped(const text &s) {
    text t;
    for (size_t i = 0; i < s.bytes.size(); i++) {
        const char c = s.bytes[i];
        const char *escape = c == '&'    ? "&amp;"
                             : c == '<'  ? "&lt;"
                             : c == '>'  ? "&gt;"
                             : c == '\'' ? "&#39;"
                             : c == '"'  ? "&#34;"
                                         : nullptr;
        if (escape)
            append(&t, escape, !s.marks.empty() && s.marks[i]);
        else
            append(&t, s, i, 1);
    }
    return t;
}

} // namespace

bool filter_escape(run *r, const args *a, value *out) {
    text s;
    return text_of(r, a->at[0], &s) && give_text(r, escaped(s), out);
}

bool filter_striptags(run *r, const args *a, value *out) {
    text s, t;
    if (!text_of(r, a->at[0], &s)) return false;
    bool inside = false, blank = true;
    for (size_t i = 0; i < s.bytes.size(); i++) {
        const char c = s.bytes[i];
        if (c == '<' && s.bytes.find('>', i) != std::string::npos) inside = true;
        const bool space = isspace((unsigned char)c);
        if (!inside && !(space && blank)) append(&t, space ? text{" ", {}} : slice_text(s, i, 1));
        if (!inside) blank = space;
        if (c == '>') inside = false;
        if (!within(r, r->left.spend(1))) return false;
    }
    return give_text(r, stripped(t, nullptr, true, true), out);
}

bool filter_xmlattr(run *r, const args *a, value *out) {
    text t;
    if (a->at[0].type != DICT) return raise(r, "xmlattr takes a mapping");
    for (const auto &entry : a->at[0].d->items) {
        text key, content;
        if (entry.second.type == NONE || entry.second.type == UNDEFINED) continue;
        if (!text_of(r, entry.first, &key) || !text_of(r, entry.second, &content)) return false;
        append(&t, " ");
        append(&t, escaped(key));
        append(&t, "=\"");
        append(&t, escaped(content));
        append(&t, "\"");
    }
    return give_text(r, std::move(t), out);
}

bool filter_format(run *r, const args *a, value *out) {
    text s, t;
    if (!text_of(r, a->at[0], &s)) return false;
    value given = of_list(&r->memory, {a->at.begin() + 1, a->at.end()}, TUPLE);
    if (!a->named.empty()) {
        given = new_dict(&r->memory);
        for (const auto &named : a->named)
            dict_set(&r->memory, given.d, of_string(&r->memory, named.first), named.second);
    }
    return format_percent(r, s, given, &t) && give_text(r, std::move(t), out);
}

bool filter_filesizeformat(run *r, const args *a, value *out) {
    const bool binary_units = flag_argument(a, 1, "binary", false);
    if (!is_number(a->at[0])) return raise(r, "filesizeformat takes a number");
    double n = number_of(a->at[0]);
    const double base = binary_units ? 1024 : 1000;
    static const char *const units[2][8] = {{"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"},
                                            {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"}};
    char shown[64];
    if (n < base) {
        snprintf(shown, sizeof shown, n == 1 ? "1 Byte" : "%.0f Bytes", n);
    } else {
        int unit = 0;
        for (n /= base; n >= base && unit < 7; unit++) n /= base;
        snprintf(shown, sizeof shown, "%.1f %s", n, units[binary_units][unit]);
    }
    return give_text(r, {shown, {}}, out);
}

} // namespace jinja
} // namespace llm

// Text: characters, slices, white space, and the two ways of Python to format.
#include "text/jinja/run.h"
#include "text/utf8.h"
#include <algorithm>
#include <charconv>
#include <string.h>

namespace llm {
namespace jinja {

std::vector<size_t> character_starts(std::string_view s) {
    std::vector<size_t> starts;
    starts.reserve(s.size() + 1);
    for (size_t at = 0; at < s.size(); at += utf8_next(s.data() + at, s.data() + s.size()).n) starts.push_back(at);
    starts.push_back(s.size());
    return starts;
}

text slice_text(const text &s, size_t begin, size_t n) {
    text out;
    append(&out, s, begin, n);
    return out;
}

static bool is_blank(uint32_t c) {
    return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

// set: the characters to take off; NULL: white space.
text stripped(const text &s, const std::string *set, bool left, bool right) {
    const std::vector<size_t> starts = character_starts(s.bytes);
    size_t begin = 0, end = starts.size() - 1;
    auto goes = [&](size_t i) {
        if (set) return set->find(s.bytes.substr(starts[i], starts[i + 1] - starts[i])) != std::string::npos;
        return is_blank(utf8_next(s.bytes.data() + starts[i], s.bytes.data() + s.bytes.size()).code);
    };
    while (left && begin < end && goes(begin)) begin++;
    while (right && end > begin && goes(end - 1)) end--;
    return slice_text(s, starts[begin], starts[end] - starts[begin]);
}

// ---- formatting ----

namespace {

constexpr int64_t MAX_WIDTH = 10000;

// [[fill]align][sign][#][0][width][,][.precision][type] of str.format; the parts that % shares have its meaning.
struct format_spec {
    std::string fill = " ";
    char align = 0, sign = '-', type = 0;
    bool zero = false, comma = false, alternate = false;
    int64_t width = 0, precision = -1;
};

bool take_digits(const std::string &s, size_t *at, int64_t *out) {
    *out = 0;
    const size_t begin = *at;
    while (*at < s.size() && isdigit((unsigned char)s[*at]) && *out <= MAX_WIDTH) *out = *out * 10 + (s[(*at)++] - '0');
    return *at > begin;
}

std::string in_base(uint64_t n, unsigned base, bool upper) {
    char digits[70];
    std::string s(digits, std::to_chars(digits, digits + sizeof digits, n, (int)base).ptr);
    if (upper)
        for (char &c : s) c = (char)toupper((unsigned char)c);
    return s;
}

std::string with_commas(std::string digits) {
    size_t end = digits.find('.');
    if (end == std::string::npos) end = digits.size();
    for (size_t at = end; at > 3; at -= 3)
        if (at - 3 > 0 && isdigit((unsigned char)digits[at - 4])) digits.insert(at - 3, ",");
    return digits;
}

// The magnitude of a number in the form of `type`; *negative tells its sign.
bool number_digits(run *r, const value &v, const format_spec &spec, std::string *out, bool *negative) {
    const char type = spec.type ? spec.type : v.type == FLOAT ? 'g' : 'd';
    if (strchr("dixXob", type) && v.type != FLOAT && v.type != BIG) {
        const int64_t i = v.type == BOOL ? v.b : v.i;
        *negative = i < 0;
        const uint64_t magnitude = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
        *out = in_base(magnitude,
                       type == 'x' || type == 'X' ? 16
                       : type == 'o'              ? 8
                       : type == 'b'              ? 2
                                                  : 10,
                       type == 'X');
        if (spec.alternate && strchr("xXob", type)) *out = std::string("0") + type + *out;
        return true;
    }
    if (v.type == BIG && strchr("di", type)) {
        *negative = v.s->bytes[0] == '-';
        return *out = v.s->bytes.substr(*negative), true;
    }
    if (!strchr("eEfFgG%di", type)) return raise(r, std::string("unsupported format character '") + type + "'");
    double f = number_of(v);
    *negative = f < 0;
    f = f < 0 ? -f : f;
    if (strchr("di", type)) return *out = std::to_string((int64_t)std::min(f, 9e18)), true;
    if (!spec.type && spec.precision < 0) return *out = float_text(f), true;
    char format[8] = {'%', '.', '*', type == '%' ? 'f' : type, 0}, digits[512];
    snprintf(digits, sizeof digits, format, (int)(spec.precision < 0 ? 6 : std::min<int64_t>(spec.precision, 100)),
             type == '%' ? f * 100 : f);
    *out = digits;
    if (type == '%') *out += '%';
    return true;
}

void pad(const text &content, const format_spec &spec, char usual, text *out) {
    const int64_t n = (int64_t)character_starts(content.bytes).size() - 1, gap = std::max<int64_t>(spec.width - n, 0);
    const char align = spec.align ? spec.align : usual;
    const int64_t before = align == '>' ? gap : align == '^' ? gap / 2 : 0;
    for (int64_t i = 0; i < before; i++) append(out, spec.fill);
    append(out, content);
    for (int64_t i = before; i < gap; i++) append(out, spec.fill);
}

bool format_number(run *r, const value &v, const format_spec &spec, text *out) {
    std::string digits;
    bool negative = false;
    if (!number_digits(r, v, spec, &digits, &negative)) return false;
    if (spec.comma) digits = with_commas(digits);
    const std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
    if (spec.zero && !spec.align && (int64_t)(digits.size() + sign.size()) < spec.width)
        digits.insert(0, (size_t)spec.width - digits.size() - sign.size(), '0');
    pad({sign + digits, {}}, spec, '>', out);
    return true;
}

bool format_value(run *r, const value &v, const format_spec &spec, text *out) {
    if (is_number(v) && v.type != BOOL && spec.type != 's') return format_number(r, v, spec, out);
    if (v.type == BOOL && spec.type && spec.type != 's') return format_number(r, v, spec, out);
    text content;
    if (!text_of(r, v, &content)) return false;
    if (spec.type && spec.type != 's')
        return raise(r,
                     std::string("Unknown format code '") + spec.type + "' for object of type '" + type_name(v) + "'");
    const std::vector<size_t> starts = character_starts(content.bytes);
    if (spec.precision >= 0 && spec.precision < (int64_t)starts.size() - 1)
        content = slice_text(content, 0, starts[(size_t)spec.precision]);
    pad(content, spec, '<', out);
    return true;
}

bool parse_spec(run *r, const std::string &s, format_spec *out) {
    size_t at = 0;
    const std::vector<size_t> starts = character_starts(s);
    if (starts.size() > 2 && strchr("<>^=", s[starts[1]]) && s[starts[1]]) {
        out->fill = s.substr(0, starts[1]);
        out->align = s[starts[1]];
        at = starts[1] + 1;
    } else if (!s.empty() && strchr("<>^=", s[0])) {
        out->align = s[at++];
    }
    if (at < s.size() && strchr("+- ", s[at])) out->sign = s[at++];
    if (at < s.size() && s[at] == '#') out->alternate = true, at++;
    if (at < s.size() && s[at] == '0') out->zero = true, at++;
    take_digits(s, &at, &out->width);
    if (at < s.size() && (s[at] == ',' || s[at] == '_')) out->comma = true, at++;
    if (at < s.size() && s[at] == '.' && !take_digits(s, &++at, &out->precision))
        return raise(r, "Format specifier missing precision");
    if (at < s.size()) out->type = s[at++];
    if (at < s.size() || out->width > MAX_WIDTH || out->precision > MAX_WIDTH)
        return raise(r, "Invalid format specifier");
    return true;
}

// One %-directive from `at`, which is past the %.
bool parse_directive(run *r, const std::string &s, size_t *at, std::string *key, format_spec *out) {
    if (*at < s.size() && s[*at] == '(') {
        const size_t close = s.find(')', *at);
        if (close == std::string::npos) return raise(r, "incomplete format key");
        *key = s.substr(*at + 1, close - *at - 1);
        *at = close + 1;
    }
    for (; *at < s.size() && strchr("-+ #0", s[*at]); ++*at) {
        if (s[*at] == '-')
            out->align = '<';
        else if (s[*at] == '0')
            out->zero = true;
        else if (s[*at] == '#')
            out->alternate = true;
        else
            out->sign = s[*at];
    }
    take_digits(s, at, &out->width);
    if (*at < s.size() && s[*at] == '.') take_digits(s, &++*at, &out->precision);
    if (*at >= s.size()) return raise(r, "incomplete format");
    out->type = s[(*at)++];
    if (out->width > MAX_WIDTH || out->precision > MAX_WIDTH) return raise(r, "width too big");
    return true;
}

bool format_directive(run *r, const value &v, format_spec spec, text *out) {
    if (spec.type == 'r' || spec.type == 's' || spec.type == 'c') {
        value shown = v;
        text quoted;
        if (spec.type == 'r' && !within(r, print_quoted(v, &r->left, &quoted, 0))) return false;
        if (spec.type == 'r') shown = of_text(&r->memory, quoted);
        if (!spec.align) spec.align = '>';
        spec.type = 's';
        return format_value(r, shown, spec, out);
    }
    if (v.type == UNDEFINED) return raise_undefined(r, v);
    if (!is_number(v))
        return raise(r, std::string("%") + spec.type + " format: a real number is required, not " + type_name(v));
    return format_number(r, v, spec, out);
}

} // namespace

bool format_percent(run *r, const text &format, const value &v, text *out) {
    std::vector<value> given = v.type == TUPLE ? v.l->items : std::vector<value>{v};
    size_t next = 0;
    const std::string &s = format.bytes;
    for (size_t at = 0; at < s.size();) {
        const size_t percent = std::min(s.find('%', at), s.size());
        append(out, format, at, percent - at);
        at = percent + 1;
        if (percent >= s.size()) break;
        if (at < s.size() && s[at] == '%') {
            append(out, format, at++, 1);
            continue;
        }
        format_spec spec;
        std::string key;
        if (!parse_directive(r, s, &at, &key, &spec)) return false;
        const value *found = nullptr;
        if (!key.empty())
            found = v.type == DICT ? dict_find(v.d, key) : nullptr;
        else if (next < given.size())
            found = &given[next++];
        if (!found)
            return raise(r, key.empty() ? "not enough arguments for format string"
                                        : "format requires a mapping with '" + key + "'");
        if (!format_directive(r, *found, spec, out) || !within(r, r->left.spend(1 + out->bytes.size() / 4096)))
            return false;
    }
    if (next < given.size() && v.type != DICT) return raise(r, "not all arguments converted during string formatting");
    return true;
}

namespace {

// The value that a field names: "", "0", "name", "0.attr", "name[key]".
bool field_value(run *r, const std::string &field, const args *a, size_t *next, value *out) {
    const size_t end = std::min(field.find_first_of(".["), field.size());
    const std::string name = field.substr(0, end);
    size_t index = 0, at = 0;
    int64_t number;
    const value *found = nullptr;
    if (name.empty())
        index = (*next)++;
    else if (take_digits(name, &at, &number) && at == name.size())
        index = (size_t)number;
    else
        index = SIZE_MAX;
    if (index != SIZE_MAX && index + 1 < a->at.size()) found = &a->at[index + 1];
    for (const auto &named : a->named)
        if (index == SIZE_MAX && named.first == name) found = &named.second;
    if (!found) return raise(r, "Replacement index " + name + " out of range for positional args tuple");
    *out = *found;
    for (at = end; at < field.size();) {
        const bool item = field[at] == '[';
        const size_t stop = std::min(item ? field.find(']', at) : field.find_first_of(".[", at + 1), field.size());
        const std::string part = field.substr(at + 1, stop - at - 1);
        const value object = *out;
        if (!item && !attribute_of(r, object, part, out)) return false;
        size_t digits = 0;
        const value key =
            take_digits(part, &digits, &number) && digits == part.size() ? of_int(number) : of_string(&r->memory, part);
        if (item && !item_of(r, object, key, out)) return false;
        at = stop + item;
    }
    return true;
}

bool format_field(run *r, const std::string &whole, const args *a, size_t *next, text *out) {
    const size_t colon = whole.find(':');
    std::string field = whole.substr(0, colon);
    char conversion = 0;
    if (field.size() >= 2 && field[field.size() - 2] == '!') {
        conversion = field.back();
        field.resize(field.size() - 2);
    }
    format_spec spec;
    value v;
    if (colon != std::string::npos && !parse_spec(r, whole.substr(colon + 1), &spec)) return false;
    if (!field_value(r, field, a, next, &v)) return false;
    if (conversion) {
        text t;
        if (!within(r, conversion == 'r' ? print_quoted(v, &r->left, &t, 0) : print(v, &r->left, &t))) return false;
        v = of_text(&r->memory, std::move(t));
    }
    return format_value(r, v, spec, out);
}

} // namespace

bool format_braces(run *r, const text &format, const args *a, text *out) {
    const std::string &s = format.bytes;
    size_t next = 0;
    for (size_t at = 0; at < s.size();) {
        const size_t brace = std::min(s.find_first_of("{}", at), s.size());
        append(out, format, at, brace - at);
        if (brace >= s.size()) break;
        at = brace + 1;
        if (at < s.size() && s[at] == s[brace]) {
            append(out, format, at++, 1);
            continue;
        }
        const size_t close = s[brace] == '{' ? s.find('}', at) : std::string::npos;
        if (close == std::string::npos)
            return raise(r, std::string("Single '") + s[brace] + "' encountered in format string");
        if (!format_field(r, s.substr(at, close - at), a, &next, out) ||
            !within(r, r->left.spend(1 + out->bytes.size() / 4096)))
            return false;
        at = close + 1;
    }
    return true;
}

// ---- time ----

namespace {

const char *const day_names[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
const char *const month_names[] = {"January", "February", "March",     "April",   "May",      "June",
                                   "July",    "August",   "September", "October", "November", "December"};

int day_of_year(const jinja_time *t) {
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    const bool leap = (t->year % 4 == 0 && t->year % 100 != 0) || t->year % 400 == 0;
    return before[t->month - 1] + t->day + (leap && t->month > 2);
}
// 0: Sunday. Zeller's congruence in the form of Sakamoto (1993).
int day_of_week(const jinja_time *t) {
    static const int shift[] = {0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4};
    const int y = t->year - (t->month < 3);
    return (y + y / 4 - y / 100 + y / 400 + shift[t->month - 1] + t->day) % 7;
}

std::string two(int n) { return {char('0' + n / 10 % 10), char('0' + n % 10)}; }

std::string time_part(const jinja_time *t, char code) {
    const int hour12 = t->hour % 12 ? t->hour % 12 : 12;
    switch (code) {
    case 'Y': return std::to_string(t->year);
    case 'y': return two(t->year % 100);
    case 'm': return two(t->month);
    case 'd': return two(t->day);
    case 'e': return (t->day < 10 ? " " : "") + std::to_string(t->day);
    case 'H': return two(t->hour);
    case 'I': return two(hour12);
    case 'M': return two(t->minute);
    case 'S': return two(t->second);
    case 'p': return t->hour < 12 ? "AM" : "PM";
    case 'A': return day_names[day_of_week(t)];
    case 'a': return std::string(day_names[day_of_week(t)], 3);
    case 'B': return month_names[t->month - 1];
    case 'b':
    case 'h': return std::string(month_names[t->month - 1], 3);
    case 'j': return std::to_string(1000 + day_of_year(t)).substr(1);
    case 'w': return std::to_string(day_of_week(t));
    case 'u': return std::to_string(day_of_week(t) ? day_of_week(t) : 7);
    case 'F': return time_part(t, 'Y') + "-" + two(t->month) + "-" + two(t->day);
    case 'T': return two(t->hour) + ":" + two(t->minute) + ":" + two(t->second);
    case 'R': return two(t->hour) + ":" + two(t->minute);
    case 'D':
    case 'x': return two(t->month) + "/" + two(t->day) + "/" + two(t->year % 100);
    case 'X': return time_part(t, 'T');
    case 'c':
        return time_part(t, 'a') + " " + time_part(t, 'b') + " " + time_part(t, 'e') + " " + time_part(t, 'T') + " " +
               time_part(t, 'Y');
    case 'f': return "000000";
    case 'n': return "\n";
    case 't': return "\t";
    case '%': return "%";
    case 'z':
    case 'Z': return "";
    default: return std::string("%") + code;
    }
}

} // namespace

std::string format_time(const jinja_time *t, std::string_view format) {
    std::string out;
    for (size_t i = 0; i < format.size(); i++) {
        if (format[i] != '%' || i + 1 >= format.size()) {
            out.push_back(format[i]);
            continue;
        }
        i++;
        if (format[i] != '-' || i + 1 >= format.size()) {
            out += time_part(t, format[i]);
            continue;
        }
        const std::string part = time_part(t, format[++i]); // %-d: without leading zeros
        const size_t digit = part.find_first_not_of("0 ");
        out += digit == std::string::npos ? "0" : part.substr(digit);
    }
    return out;
}

} // namespace jinja
} // namespace llm

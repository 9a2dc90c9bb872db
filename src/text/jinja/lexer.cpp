#include "text/jinja/lexer.h"
#include "text/utf8.h"
#include <string.h>

namespace llm {
namespace jinja {

namespace {

struct lexer {
    std::string source; // line ends are \n, one at the very end is dropped
    std::vector<token> *out;
    syntax_error *error;
    size_t at = 0;
    uint32_t line = 1;
    size_t line_start = 0, counted = 0; // where `line` begins; up to where lines are counted
    bool after_newline = true;          // data that follows begins a line
};

jinja_place place_of(lexer *l, size_t at) {
    for (; l->counted < at; l->counted++)
        if (l->source[l->counted] == '\n') {
            l->line++;
            l->line_start = l->counted + 1;
        }
    return {l->line, (uint32_t)(at - l->line_start) + 1};
}

bool fail_at(lexer *l, size_t at, std::string message) {
    *l->error = {std::move(message), place_of(l, at)};
    return false;
}

void emit(lexer *l, token_kind kind, size_t at, std::string bytes = {}) {
    l->out->push_back({kind, std::move(bytes), place_of(l, at)});
}

std::string with_plain_line_ends(std::string_view source) {
    std::string s;
    s.reserve(source.size());
    for (size_t i = 0; i < source.size(); i++) {
        if (source[i] != '\r')
            s.push_back(source[i]);
        else if (i + 1 >= source.size() || source[i + 1] != '\n')
            s.push_back('\n');
    }
    if (!s.empty() && s.back() == '\n') s.pop_back();
    return s;
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool starts(const lexer *l, size_t at, std::string_view what) { return l->source.compare(at, what.size(), what) == 0; }
bool name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 128;
}
bool digit(char c) { return c >= '0' && c <= '9'; }

// Text before a tag at `end`. sign: what follows the tag's opening; lstrip: the tag takes the blanks of its line away.
void emit_data(lexer *l, size_t begin, size_t end, char sign, bool lstrip) {
    size_t stop = end;
    if (sign == '-') {
        while (stop > begin && is_space(l->source[stop - 1])) stop--;
    } else if (lstrip && sign != '+') {
        size_t blank = stop;
        while (blank > begin && (l->source[blank - 1] == ' ' || l->source[blank - 1] == '\t')) blank--;
        if (blank > begin ? l->source[blank - 1] == '\n' : l->after_newline) stop = blank;
    }
    if (stop > begin) emit(l, TOKEN_DATA, begin, l->source.substr(begin, stop - begin));
    place_of(l, end);
}

// After a tag's closing: `-` takes all white space, a block or comment takes the end of its line.
void after_tag(lexer *l, char sign, bool trims) {
    const size_t before = l->at;
    if (sign == '-') {
        while (l->at < l->source.size() && is_space(l->source[l->at])) l->at++;
    } else if (trims && sign != '+' && l->at < l->source.size() && l->source[l->at] == '\n') {
        l->at++;
    }
    l->after_newline = l->at > before && l->source[l->at - 1] == '\n';
}

char sign_at(const lexer *l, size_t at) {
    const char c = at < l->source.size() ? l->source[at] : 0;
    return c == '-' || c == '+' ? c : 0;
}

bool skip_comment(lexer *l) {
    const size_t end = l->source.find("#}", l->at + 2);
    if (end == std::string::npos) return fail_at(l, l->at, "Missing end of comment tag");
    const char sign = end > l->at + 2 ? sign_at(l, end - 1) : 0;
    l->at = end + 2;
    after_tag(l, sign, true);
    return true;
}

// {% raw %} ... {% endraw %}: true and *taken when there is one at l->at.
bool take_raw(lexer *l, bool *taken) {
    auto word = [l](size_t at, const char *name, size_t *end, char *closing) {
        if (sign_at(l, at)) at++;
        while (at < l->source.size() && is_space(l->source[at])) at++;
        if (!starts(l, at, name)) return false;
        at += strlen(name);
        while (at < l->source.size() && is_space(l->source[at])) at++;
        *closing = sign_at(l, at);
        if (*closing) at++;
        if (!starts(l, at, "%}")) return false;
        *end = at + 2;
        return true;
    };
    size_t end;
    char sign;
    *taken = word(l->at + 2, "raw", &end, &sign);
    if (!*taken) return true;
    const size_t tag = l->at;
    l->at = end;
    after_tag(l, sign, true);
    const size_t begin = l->at;
    for (size_t close = begin; (close = l->source.find("{%", close)) != std::string::npos; close += 2) {
        if (!word(close + 2, "endraw", &end, &sign)) continue;
        emit_data(l, begin, close, sign_at(l, close + 2), true);
        l->at = end;
        after_tag(l, sign, true);
        return true;
    }
    return fail_at(l, tag, "Missing end of raw directive");
}

// ---- inside a tag ----

void append_escape(lexer *l, size_t *at, std::string *out) {
    const char c = l->source[*at];
    static const char letters[] = "abfnrtv\\'\"", meanings[] = "\a\b\f\n\r\t\v\\'\"";
    if (const char *found = strchr(letters, c)) {
        out->push_back(meanings[found - letters]);
        ++*at;
        return;
    }
    const size_t n_digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t code = 0;
    size_t n = 0;
    if (n_digits) {
        while (n < n_digits && *at + 1 + n < l->source.size() && isxdigit((unsigned char)l->source[*at + 1 + n])) n++;
        if (n == n_digits) code = (uint32_t)strtoul(l->source.substr(*at + 1, n).c_str(), nullptr, 16);
    } else {
        while (n < 3 && l->source[*at + n] >= '0' && l->source[*at + n] <= '7')
            code = code * 8 + uint32_t(l->source[*at + n++] - '0');
    }
    const bool valid = n_digits ? n == n_digits && code < 0x110000 && (code < 0xD800 || code > 0xDFFF) : n > 0;
    if (valid) {
        utf8_append(out, code);
        *at += n + (n_digits != 0);
    } else if (c == '\n') {
        ++*at;
    } else {
        out->push_back('\\');
    }
}

bool take_string(lexer *l) {
    const size_t begin = l->at;
    const char quote = l->source[begin];
    std::string s;
    size_t at = begin + 1;
    while (at < l->source.size() && l->source[at] != quote) {
        if (l->source[at] != '\\' || at + 1 >= l->source.size()) {
            s.push_back(l->source[at++]);
            continue;
        }
        at++;
        append_escape(l, &at, &s);
    }
    if (at >= l->source.size())
        return fail_at(l, begin, std::string("unexpected char '") + quote + "': the string does not end");
    emit(l, TOKEN_STRING, begin, std::move(s));
    l->at = at + 1;
    return true;
}

size_t digits_end(const lexer *l, size_t at, bool hex) {
    while (at < l->source.size() &&
           (digit(l->source[at]) || l->source[at] == '_' || (hex && isxdigit((unsigned char)l->source[at]))))
        at++;
    return at;
}

void take_number(lexer *l) {
    const size_t begin = l->at;
    const std::string &s = l->source;
    bool is_float = false;
    const char letter = begin + 1 < s.size() && s[begin] == '0' ? (char)tolower((unsigned char)s[begin + 1]) : 0;
    size_t at = digits_end(l, begin, false);
    if (letter == 'x' || letter == 'o' || letter == 'b') {
        at = digits_end(l, begin + 2, letter == 'x');
    } else {
        if (at + 1 < s.size() && s[at] == '.' && digit(s[at + 1])) {
            at = digits_end(l, at + 1, false);
            is_float = true;
        }
        if (at < s.size() && (s[at] == 'e' || s[at] == 'E')) {
            const size_t sign = at + 1 < s.size() && (s[at + 1] == '+' || s[at + 1] == '-');
            if (at + 1 + sign < s.size() && digit(s[at + 1 + sign])) {
                at = digits_end(l, at + 1 + sign, false);
                is_float = true;
            }
        }
    }
    std::string number;
    for (size_t i = begin; i < at; i++)
        if (s[i] != '_') number.push_back(s[i]);
    emit(l, is_float ? TOKEN_FLOAT : TOKEN_INTEGER, begin, std::move(number));
    l->at = at;
}

bool take_operator(lexer *l) {
    static const char *const operators[] = {"**", "//", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~", "<",
                                            ">",  "=",  "(",  ")",  "[",  "]",  "{", "}", ".", ":", "|", ",", ";"};
    for (const char *op : operators) {
        if (!starts(l, l->at, op)) continue;
        emit(l, TOKEN_OPERATOR, l->at, op);
        l->at += strlen(op);
        return true;
    }
    return fail_at(l, l->at, std::string("unexpected char '") + l->source[l->at] + "'");
}

bool take_inside(lexer *l) {
    const char c = l->source[l->at];
    if (is_space(c)) return l->at++, true;
    if (c == '"' || c == '\'') return take_string(l);
    if (digit(c)) return take_number(l), true;
    if (!name_start(c)) return take_operator(l);
    const size_t begin = l->at;
    while (l->at < l->source.size() && (name_start(l->source[l->at]) || digit(l->source[l->at]))) l->at++;
    emit(l, TOKEN_NAME, begin, l->source.substr(begin, l->at - begin));
    return true;
}

// A tag from its opening to its closing. A closing inside brackets belongs to the expression: {{ {'a': {}} }}.
bool take_tag(lexer *l, bool block) {
    const char *closing = block ? "%}" : "}}";
    const size_t tag = l->at;
    emit(l, block ? TOKEN_BLOCK_BEGIN : TOKEN_PRINT_BEGIN, l->at);
    l->at += 2;
    if (sign_at(l, l->at)) l->at++;
    size_t depth = 0;
    while (l->at < l->source.size()) {
        const char sign = sign_at(l, l->at);
        if (depth == 0 && starts(l, l->at + (sign != 0), closing)) {
            emit(l, block ? TOKEN_BLOCK_END : TOKEN_PRINT_END, l->at);
            l->at += 2 + (sign != 0);
            after_tag(l, sign, block);
            return true;
        }
        const char c = l->source[l->at];
        if (c == '(' || c == '[' || c == '{') depth++;
        if ((c == ')' || c == ']' || c == '}') && depth) depth--;
        if (!take_inside(l)) return false;
    }
    return fail_at(l, tag,
                   std::string("unexpected end of template, expected 'end of ") +
                       (block ? "statement block'." : "print statement'."));
}

} // namespace

bool tokenise(std::string_view source, std::vector<token> *out, syntax_error *error) {
    lexer l;
    l.source = with_plain_line_ends(source);
    l.out = out;
    l.error = error;
    const std::string &s = l.source;
    while (l.at < s.size()) {
        size_t tag = l.at;
        while ((tag = s.find('{', tag)) != std::string::npos && (tag + 1 >= s.size() || !strchr("{%#", s[tag + 1])))
            tag++;
        const size_t end = tag == std::string::npos ? s.size() : tag;
        emit_data(&l, l.at, end, end < s.size() ? sign_at(&l, end + 2) : 0, end < s.size() && s[end + 1] != '{');
        l.at = end;
        if (end == s.size()) break;
        bool taken = false;
        if (s[end + 1] == '#') taken = true;
        if (taken ? !skip_comment(&l) : s[end + 1] == '%' && !take_raw(&l, &taken)) return false;
        if (!taken && !take_tag(&l, s[end + 1] == '%')) return false;
    }
    emit(&l, TOKEN_END, s.size());
    return true;
}

} // namespace jinja
} // namespace llm

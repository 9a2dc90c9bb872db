// UTF-8 as the Unicode standard defines it (table 3-7): overlong forms, surrogates and values above U+10FFFF are
// ill-formed. An ill-formed stretch is cut into maximal subparts (section 3.9, "U+FFFD substitution").
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string>
#include <string_view>

namespace llm {

constexpr uint32_t replacement_character = 0xFFFD;

struct utf8_char {
    uint32_t code;
    uint8_t n; // bytes of the character, or of the ill-formed subpart; 0 at the end of the text
    bool well_formed;
    bool incomplete; // ill-formed only because the text ends here
};

// How many bytes the character led by `lead` has, and the range its second byte must lie in; n = 0: not a lead byte.
struct utf8_lead {
    uint8_t n, low, high;
};
inline utf8_lead utf8_lead_of(uint8_t lead) {
    if (lead < 0x80) return {1, 0, 0};
    if (lead < 0xC2 || lead > 0xF4) return {0, 0, 0};
    if (lead < 0xE0) return {2, 0x80, 0xBF};
    if (lead < 0xF0) return {3, uint8_t(lead == 0xE0 ? 0xA0 : 0x80), uint8_t(lead == 0xED ? 0x9F : 0xBF)};
    return {4, uint8_t(lead == 0xF0 ? 0x90 : 0x80), uint8_t(lead == 0xF4 ? 0x8F : 0xBF)};
}

inline utf8_char utf8_next(const char *at, const char *end) {
    if (at == end) return {0, 0, false, true};
    uint8_t first = uint8_t(*at);
    if (first < 0x80) return {first, 1, true, false};
    utf8_lead lead = utf8_lead_of(first);
    if (lead.n == 0) return {replacement_character, 1, false, false};
    uint32_t code = first & (0xFFu >> (lead.n + 1));
    for (uint8_t i = 1; i < lead.n; i++) {
        if (at + i == end) return {replacement_character, i, false, true};
        uint8_t byte = uint8_t(at[i]);
        uint8_t low = i == 1 ? lead.low : 0x80, high = i == 1 ? lead.high : 0xBF;
        if (byte < low || byte > high) return {replacement_character, i, false, false};
        code = code << 6 | (byte & 0x3F);
    }
    return {code, lead.n, true, false};
}

inline void utf8_append(std::string *out, uint32_t code) {
    if (code < 0x80) {
        out->push_back(char(code));
    } else if (code < 0x800) {
        out->push_back(char(0xC0 | code >> 6));
        out->push_back(char(0x80 | (code & 0x3F)));
    } else if (code < 0x10000) {
        out->push_back(char(0xE0 | code >> 12));
        out->push_back(char(0x80 | (code >> 6 & 0x3F)));
        out->push_back(char(0x80 | (code & 0x3F)));
    } else {
        out->push_back(char(0xF0 | code >> 18));
        out->push_back(char(0x80 | (code >> 12 & 0x3F)));
        out->push_back(char(0x80 | (code >> 6 & 0x3F)));
        out->push_back(char(0x80 | (code & 0x3F)));
    }
}

// Length of the longest well-formed prefix of `text`.
inline size_t utf8_well_formed_prefix(std::string_view text) {
    const char *at = text.data(), *end = at + text.size();
    while (at != end) {
        if (uint8_t(*at) < 0x80) {
            at++;
            continue;
        }
        utf8_char c = utf8_next(at, end);
        if (!c.well_formed) break;
        at += c.n;
    }
    return size_t(at - text.data());
}

} // namespace llm

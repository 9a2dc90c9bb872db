#include "text/nfc.h"
#include "text/utf8.h"
#include <utf8proc.h>
#include <algorithm>

namespace llm {

static int combining_class(int32_t code) { return code < 0x300 ? 0 : utf8proc_get_property(code)->combining_class; }

// note: utf8proc_map would do all of this, but it sorts marks by swapping neighbours: quadratic for a long run of them.
static void sort_marks(std::vector<int32_t> *codes) {
    auto by_class = [](int32_t a, int32_t b) { return combining_class(a) < combining_class(b); };
    for (auto at = codes->begin(); at != codes->end();) {
        if (combining_class(*at) == 0) {
            ++at;
            continue;
        }
        auto end = std::find_if(at, codes->end(), [](int32_t c) { return combining_class(c) == 0; });
        if (!std::is_sorted(at, end, by_class)) std::stable_sort(at, end, by_class);
        at = end;
    }
}

static void decompose(std::string_view text, std::vector<int32_t> *codes) {
    constexpr utf8proc_ssize_t longest = 8; // canonical decompositions have at most four characters
    constexpr utf8proc_option_t canonical = utf8proc_option_t(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
    codes->clear();
    int boundary = 0;
    for (const char *at = text.data(), *end = at + text.size(); at != end;) {
        utf8_char c = utf8_next(at, end);
        at += c.n;
        utf8proc_int32_t parts[longest];
        utf8proc_ssize_t n = 1;
        parts[0] = utf8proc_int32_t(c.code);
        if (c.code >= 0xC0) n = utf8proc_decompose_char(utf8proc_int32_t(c.code), parts, longest, canonical, &boundary);
        if (n < 0 || n > longest) {
            parts[0] = utf8proc_int32_t(c.code);
            n = 1;
        }
        codes->insert(codes->end(), parts, parts + n);
    }
}

bool normalize_nfc(std::string_view text, std::vector<int32_t> *codes, std::string *out) {
    // Below U+0300 (lead byte 0xCC) every character is its own normal form and composes with nothing before it.
    if (std::all_of(text.begin(), text.end(), [](char c) { return uint8_t(c) < 0xCC; })) return false;
    decompose(text, codes);
    sort_marks(codes);
    utf8proc_ssize_t n = utf8proc_normalize_utf32(codes->data(), utf8proc_ssize_t(codes->size()),
                                                  utf8proc_option_t(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    if (n < 0) return false;
    out->clear();
    for (utf8proc_ssize_t i = 0; i < n; i++) utf8_append(out, uint32_t((*codes)[size_t(i)]));
    return true;
}

} // namespace llm

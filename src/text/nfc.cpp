#include "text/nfc.h"
#include "text/utf8.h"
#include <utf8proc.h>
#include <algorithm>
#include <stdint.h>

namespace llm {

static int combining_class(int32_t code) { return code < 0x300 ? 0 : utf8proc_get_property(code)->combining_class; }

// note: utf8proc_map would do all of this, but it sorts marks by swapping neighbours: quadratic for a long run of them.
void sort_marks(std::vector<int32_t> *codes) {
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

void append_decomposed(uint32_t code, std::vector<int32_t> *codes) {
    constexpr utf8proc_ssize_t longest = 8; // canonical decompositions have at most four characters
    constexpr utf8proc_option_t canonical = utf8proc_option_t(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
    utf8proc_int32_t parts[longest];
    int boundary = 0;
    utf8proc_ssize_t n = 0;
    if (code >= 0xC0) n = utf8proc_decompose_char(utf8proc_int32_t(code), parts, longest, canonical, &boundary);
    if (n > 0 && n <= longest)
        codes->insert(codes->end(), parts, parts + n);
    else
        codes->push_back(int32_t(code));
}

static void decompose(std::string_view text, std::vector<int32_t> *codes) {
    codes->clear();
    for (const char *at = text.data(), *end = at + text.size(); at != end;) {
        utf8_char c = utf8_next(at, end);
        at += c.n;
        append_decomposed(c.code, codes);
    }
}

// True when the character is its own normal form and never joins with what stands before it. Second parts of
// compositions are marks or Hangul jamo.
static bool is_inert(uint32_t code) {
    if (code < 0x300) return true;
    if (code >= 0xAC00 && code <= 0xD7A3) return true; // Hangul syllables
    if (code >= 0x1100 && code <= 0x11FF) return false;
    const utf8proc_property_t *property = utf8proc_get_property(utf8proc_int32_t(code));
    bool mark = property->category == UTF8PROC_CATEGORY_MN || property->category == UTF8PROC_CATEGORY_MC ||
                property->category == UTF8PROC_CATEGORY_ME;
    bool canonical = property->decomp_seqindex != UINT16_MAX && property->decomp_type == 0;
    return !mark && !canonical && property->combining_class == 0;
}

static void append_normalized(std::string_view text, std::vector<int32_t> *codes, std::string *out) {
    decompose(text, codes);
    sort_marks(codes);
    utf8proc_ssize_t n = utf8proc_normalize_utf32(codes->data(), utf8proc_ssize_t(codes->size()),
                                                  utf8proc_option_t(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    for (utf8proc_ssize_t i = 0; i < n; i++) utf8_append(out, uint32_t((*codes)[size_t(i)]));
}

// Only stretches around characters that are not inert are worked on: from the inert one before them to the next one.
bool normalize_nfc(std::string_view text, std::vector<int32_t> *codes, std::string *out) {
    const char *end = text.data() + text.size(), *copied = text.data(), *last_inert = text.data();
    for (const char *at = text.data(); at != end;) {
        utf8_char c = utf8_next(at, end);
        if (is_inert(c.code)) {
            last_inert = at;
            at += c.n;
            continue;
        }
        while (at != end && !is_inert((c = utf8_next(at, end)).code)) at += c.n;
        if (copied == text.data()) out->clear();
        out->append(copied, last_inert);
        append_normalized({last_inert, size_t(at - last_inert)}, codes, out);
        copied = last_inert = at;
    }
    if (copied == text.data()) return false;
    out->append(copied, end);
    return true;
}

} // namespace llm

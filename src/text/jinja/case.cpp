#include "text/jinja/case.h"
#include "text/utf8.h"
#include <utf8proc.h>

namespace llm {
namespace jinja {

namespace {

// Characters whose upper case is several (Unicode's SpecialCasing.txt, the unconditional ones of everyday scripts).
struct special_row {
    uint32_t code;
    const char *upper;
};
const special_row specials[] = {
    {0xDF, "SS"},
    {0x149, "\u02BCN"},
    {0x1F0, "J\u030C"},
    {0x390, "\u0399\u0308\u0301"},
    {0x3B0, "\u03A5\u0308\u0301"},
    {0x587, "\u0535\u0552"},
    {0x1E96, "H\u0331"},
    {0x1E97, "T\u0308"},
    {0x1E98, "W\u030A"},
    {0x1E99, "Y\u030A"},
    {0x1E9A, "A\u02BE"},
    {0xFB00, "FF"},
    {0xFB01, "FI"},
    {0xFB02, "FL"},
    {0xFB03, "FFI"},
    {0xFB04, "FFL"},
    {0xFB05, "ST"},
    {0xFB06, "ST"},
};

void append_upper(std::string *out, uint32_t code) {
    for (const special_row &row : specials)
        if (row.code == code) {
            out->append(row.upper);
            return;
        }
    utf8_append(out, (uint32_t)utf8proc_toupper((utf8proc_int32_t)code));
}

bool is_letter(uint32_t code) {
    const auto category = utf8proc_category((utf8proc_int32_t)code);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

void append_cased(std::string *out, uint32_t code, case_form form, bool begins) {
    const bool was_upper = utf8proc_category((utf8proc_int32_t)code) == UTF8PROC_CATEGORY_LU;
    bool upper = form == CASE_UPPER || ((form == CASE_TITLE || form == CASE_CAPITAL) && begins);
    if (form == CASE_SWAPPED) upper = !was_upper;
    if (form == CASE_FOLDED && code == 0xDF)
        out->append("ss");
    else if (upper)
        append_upper(out, code);
    else
        utf8_append(out, (uint32_t)utf8proc_tolower((utf8proc_int32_t)code));
}

} // namespace

text with_case(const text &s, case_form form) {
    text out;
    bool begins = true;
    for (size_t at = 0; at < s.bytes.size();) {
        const utf8_char c = utf8_next(s.bytes.data() + at, s.bytes.data() + s.bytes.size());
        std::string cased;
        if (c.well_formed)
            append_cased(&cased, c.code, form, begins);
        else
            cased = s.bytes.substr(at, c.n);
        append(&out, cased, !s.marks.empty() && s.marks[at]);
        begins = form == CASE_TITLE && !is_letter(c.code);
        at += c.n;
    }
    return out;
}

} // namespace jinja
} // namespace llm

#include "text.h"
#include <algorithm>
#include <utf8proc.h>

struct code_point {
    int32_t value;
    size_t length;
};

static const int32_t replacement = 0xFFFD;

static code_point decode(std::string_view text, size_t at) {
    utf8proc_int32_t value = 0;
    auto bytes = reinterpret_cast<const utf8proc_uint8_t *>(text.data()) + at;
    auto left = static_cast<utf8proc_ssize_t>(std::min<size_t>(text.size() - at, 4));
    utf8proc_ssize_t length = utf8proc_iterate(bytes, left, &value);
    if (length <= 0) return {replacement, 1};
    return {value, static_cast<size_t>(length)};
}

static void append(std::string &text, int32_t value) {
    utf8proc_uint8_t bytes[4];
    utf8proc_ssize_t length = utf8proc_encode_char(value, bytes);
    text.append(reinterpret_cast<char *>(bytes), static_cast<size_t>(length));
}

std::string repaired(std::string_view bytes) {
    std::string good;
    good.reserve(bytes.size());
    for (size_t at = 0; at < bytes.size();) {
        code_point point = decode(bytes, at);
        append(good, point.value);
        at += point.length;
    }
    return good;
}

size_t utf8_length(unsigned char first) {
    if (first >= 0xC2 && first < 0xE0) return 2;
    if (first >= 0xE0 && first < 0xF0) return 3;
    return first >= 0xF0 && first < 0xF5 ? 4 : 1;
}

size_t next_cluster(std::string_view text, size_t at) {
    code_point point = decode(text, at);
    utf8proc_int32_t state = 0;
    for (at += point.length; at < text.size(); at += point.length) {
        int32_t before = point.value;
        point = decode(text, at);
        if (utf8proc_grapheme_break_stateful(before, point.value, &state)) break;
    }
    return at;
}

static size_t previous_code_point(std::string_view text, size_t at) {
    size_t start = at - 1;
    while (start > 0 && at - start < 4 && (text[start] & 0xC0) == 0x80) start--;
    return start + decode(text, start).length == at ? start : at - 1;
}

static bool is_ordinary(int32_t value) { return utf8proc_get_property(value)->boundclass == UTF8PROC_BOUNDCLASS_OTHER; }

// A boundary at or before `at`, which is between two code points. Clusters are found forwards only, from a place that
// is known to be between two: that is everywhere between two code points of the class "other" (letters, ideographs,
// spaces). Starting at the text's beginning instead made typing in a long text quadratic.
static size_t known_boundary(std::string_view text, size_t at) {
    bool after = at < text.size() && is_ordinary(decode(text, at).value);
    while (at > 0) {
        size_t before = previous_code_point(text, at);
        bool ordinary = is_ordinary(decode(text, before).value);
        if (after && ordinary) return at;
        after = ordinary;
        at = before;
    }
    return 0;
}

size_t previous_cluster(std::string_view text, size_t at) {
    size_t start = known_boundary(text, previous_code_point(text, at));
    for (size_t end = next_cluster(text, start); end < at; end = next_cluster(text, end)) start = end;
    return start;
}

size_t boundary_from(std::string_view text, size_t at) {
    size_t boundary = known_boundary(text, at);
    while (boundary < at) boundary = next_cluster(text, boundary);
    return boundary;
}

static bool is_control(int32_t value) { return value < 0x20 || (value >= 0x7F && value < 0xA0); }

static int32_t control_picture(int32_t value) {
    if (value < 0x20) return 0x2400 + value;
    return value == 0x7F ? 0x2421 : replacement;
}

static bool is_mark(int32_t value) {
    utf8proc_category_t category = utf8proc_category(value);
    return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME;
}

static bool is_regional_indicator(int32_t value) { return value >= 0x1F1E6 && value <= 0x1F1FF; }

// The widest code point rules: that fits letters with marks, Hangul syllables of several letters and joined emoji. Two
// exceptions: a pair of regional indicators is a flag, and U+FE0F asks for the emoji form; both are two columns wide.
static uint32_t cluster_width(std::string_view cluster) {
    uint32_t width = 0;
    int indicators = 0;
    for (size_t at = 0; at < cluster.size();) {
        code_point point = decode(cluster, at);
        width = std::max(width, static_cast<uint32_t>(utf8proc_charwidth(point.value)));
        indicators += is_regional_indicator(point.value);
        if (at > 0 && point.value == 0xFE0F && width > 0) width = 2;
        at += point.length;
    }
    return indicators == 2 ? 2 : width;
}

shown_cluster show_cluster(std::string_view cluster) {
    int32_t first = decode(cluster, 0).value;
    if (first == '\t') return {"    ", 4};
    shown_cluster shown;
    if (is_control(first)) {
        append(shown.text, control_picture(first));
        return {shown.text, 1};
    }
    if (is_mark(first)) append(shown.text, 0x25CC);
    shown.text += repaired(cluster);
    shown.width = cluster_width(shown.text);
    return shown;
}

std::string harmless(std::string_view text) {
    std::string shown;
    for (size_t at = 0; at < text.size();) {
        code_point point = decode(text, at);
        bool keep = !is_control(point.value) || point.value == '\n' || point.value == '\t';
        append(shown, keep ? point.value : control_picture(point.value));
        at += point.length;
    }
    return shown;
}

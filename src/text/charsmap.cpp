#include "text/charsmap.h"
#include <algorithm>

namespace llm {

static uint32_t read_u32(const char *at) {
    const uint8_t *byte = reinterpret_cast<const uint8_t *>(at);
    return uint32_t(byte[0]) | uint32_t(byte[1]) << 8 | uint32_t(byte[2]) << 16 | uint32_t(byte[3]) << 24;
}

static size_t longest_string(std::string_view strings) {
    size_t longest = 0;
    for (size_t at = 0, end; at < strings.size(); at = end + 1) {
        end = std::min(strings.find('\0', at), strings.size());
        longest = std::max(longest, end - at);
    }
    return longest;
}

llm_status charsmap_load(charsmap *map, std::string_view bytes, llm_error *err) {
    const char *key = "tokenizer.ggml.precompiled_charsmap";
    size_t n = bytes.size() >= 4 ? read_u32(bytes.data()) : 0;
    if (n == 0 || n % 4 != 0 || n >= bytes.size() - 4)
        return fail(err, LLM_ERR_DAMAGED, "%s: a table of %zu bytes does not fit in %zu", key, n, bytes.size());
    std::string_view strings = bytes.substr(4 + n);
    if (size_t longest = longest_string(strings); longest > charsmap_longest_replacement)
        return fail(err, LLM_ERR_DAMAGED, "%s: a replacement has %zu bytes, at most %zu are expected", key, longest,
                    charsmap_longest_replacement);
    map->units.resize(n / 4);
    for (size_t i = 0; i < map->units.size(); i++) map->units[i] = read_u32(bytes.data() + 4 + i * 4);
    map->replacements.assign(strings).push_back('\0');
    return LLM_OK;
}

static uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & 1u << 9) >> 6); }

charsmap_match charsmap_find(const charsmap &map, std::string_view text) {
    charsmap_match best{0, {}};
    if (map.units.empty()) return best;
    uint32_t node = offset_of(map.units[0]);
    size_t limit = std::min(text.size(), charsmap_longest_prefix);
    for (size_t n = 0; n < limit;) {
        uint8_t byte = uint8_t(text[n++]);
        node ^= byte;
        if (node >= map.units.size()) break;
        uint32_t unit = map.units[node];
        if ((unit & (1u << 31 | 0xFF)) != byte) break;
        node ^= offset_of(unit);
        if (!(unit >> 8 & 1)) continue;
        if (node >= map.units.size()) break;
        uint32_t at = map.units[node] & ~(1u << 31);
        if (at < map.replacements.size()) best = {n, map.replacements.data() + at}; // to its NUL
    }
    return best;
}

} // namespace llm

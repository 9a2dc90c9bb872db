// A hash for short strings: eight bytes a step, multiply and fold.
#pragma once
#include <stdint.h>
#include <string.h>
#include <string_view>

namespace llm {

inline uint64_t hash_text(std::string_view text) {
    constexpr uint64_t k = 0x9E3779B97F4A7C15u;
    uint64_t h = text.size() * k;
    const char *at = text.data();
    size_t left = text.size();
    for (; left >= 8; at += 8, left -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        h = (h ^ word) * k;
        h ^= h >> 29;
    }
    if (left) {
        uint64_t word = 0;
        memcpy(&word, at, left);
        h = (h ^ word) * k;
    }
    h ^= h >> 32;
    return h * 0xD6E8FEB86659FD93u;
}

} // namespace llm

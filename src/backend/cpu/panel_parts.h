// What the layouts of panel.h are made of, and the functions of each format that the table of panel.cpp points to.
#pragma once
#include "backend/cpu/panel.h"
#include <string.h>

namespace llm {

// Codes of 32 values as 8 words: byte i of word j is the code of value 4 j + i. Working on four codes at a time packs
// about as fast as memory is written; a loop over single codes was the slowest part of loading a model.
struct codes32 {
    uint32_t w[8];
};
constexpr uint32_t NIBBLES = 0x0f0f0f0f, PAIRS = 0x03030303, BITS = 0x01010101;
constexpr size_t NIBBLE_BLOCK = 256, BIT_BLOCK = 64, PAIR_BLOCK = 128;

inline uint32_t load32(const void *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}
inline void store32(void *p, uint32_t v) { memcpy(p, &v, 4); }

inline void put_half(uint8_t *at, uint32_t row, uint16_t h) { memcpy(at + 2 * row, &h, 2); }
inline float get_half(const uint8_t *at, uint32_t row) {
    uint16_t h;
    memcpy(&h, at + 2 * row, 2);
    return f16_to_f32(h);
}

inline void put_nibbles(uint8_t *block, uint32_t row, const codes32 &c) {
    for (int j = 0; j < 4; j++) store32(block + 64 * j + 4 * row, (c.w[j] & NIBBLES) | (c.w[4 + j] & NIBBLES) << 4);
}
inline codes32 get_nibbles(const uint8_t *block, uint32_t row) {
    codes32 c;
    for (int j = 0; j < 4; j++) {
        uint32_t v = load32(block + 64 * j + 4 * row);
        c.w[j] = v & NIBBLES;
        c.w[4 + j] = v >> 4 & NIBBLES;
    }
    return c;
}

// Bit `bit` of every code.
inline void put_bits(uint8_t *block, uint32_t row, const codes32 &c, int bit) {
    uint32_t v = 0;
    for (int j = 0; j < 8; j++) v |= (c.w[j] >> bit & BITS) << j;
    store32(block + 4 * row, v);
}
inline void get_bits(const uint8_t *block, uint32_t row, codes32 *c, int bit) {
    uint32_t v = load32(block + 4 * row);
    for (int j = 0; j < 8; j++) c->w[j] |= (v >> j & BITS) << bit;
}

// Bits `bit` and `bit` + 1 of every code.
inline void put_pairs(uint8_t *block, uint32_t row, const codes32 &c, int bit) {
    for (int h = 0; h < 2; h++) {
        uint32_t v = 0;
        for (int j = 0; j < 4; j++) v |= (c.w[4 * h + j] >> bit & PAIRS) << 2 * j;
        store32(block + 64 * h + 4 * row, v);
    }
}
inline void get_pairs(const uint8_t *block, uint32_t row, codes32 *c, int bit) {
    for (int h = 0; h < 2; h++) {
        uint32_t v = load32(block + 64 * h + 4 * row);
        for (int j = 0; j < 4; j++) c->w[4 * h + j] |= (v >> 2 * j & PAIRS) << bit;
    }
}

inline int code_of(const codes32 &c, int k) { return int(c.w[k / 4] >> 8 * (k % 4) & 255); }

// value = scale * (code - offset) + minimum, the product being exact. A format without a minimum passes -0, which
// leaves every value, -0 too, as it is.
inline void numbers(const codes32 &c, float scale, int offset, float minimum, float *out) {
    for (int k = 0; k < 32; k++) out[k] = scale * float(code_of(c, k) - offset) + minimum;
}

// 16 bytes of a file's nibbles are already in the order of a nibble block.
inline codes32 file_nibbles(const uint8_t q[16]) {
    codes32 c;
    for (int j = 0; j < 4; j++) {
        uint32_t v = load32(q + 4 * j);
        c.w[j] = v & NIBBLES;
        c.w[4 + j] = v >> 4 & NIBBLES;
    }
    return c;
}

// The two-bit layout of a file's 64 bytes (block_q2_K): group g of 32 values.
inline codes32 file_two_bits(const uint8_t *q, int g) {
    codes32 c;
    for (int j = 0; j < 8; j++) c.w[j] = load32(q + 32 * (g / 4) + 4 * j) >> 2 * (g % 4) & PAIRS;
    return c;
}
// Single bits of a file, bit k of a word belonging to value k: spreads four of them to bit `bit` of four bytes.
inline void add_file_bits(const uint8_t high[4], codes32 *c, int bit) {
    uint32_t v = load32(high);
    for (int j = 0; j < 8; j++) {
        uint32_t four = v >> 4 * j & 15;
        c->w[j] |= ((four | four << 7 | four << 14 | four << 21) & BITS) << bit;
    }
}

// put: one block of one row into a unit; get: the numbers of a row of a unit.
#define LLM_PANEL_FORMAT(name)                                                                                         \
    void put_##name(const void *block, uint8_t *unit, uint32_t row);                                                   \
    void get_##name(const uint8_t *unit, uint32_t row, float *out);
// panel_blocks32.cpp
LLM_PANEL_FORMAT(q4_0)
LLM_PANEL_FORMAT(q4_1)
LLM_PANEL_FORMAT(q5_0)
LLM_PANEL_FORMAT(q5_1)
LLM_PANEL_FORMAT(q8_0)
// panel_k.cpp
LLM_PANEL_FORMAT(q2_k)
LLM_PANEL_FORMAT(q3_k)
LLM_PANEL_FORMAT(q4_k)
LLM_PANEL_FORMAT(q5_k)
LLM_PANEL_FORMAT(q6_k)
// panel_tables.cpp
LLM_PANEL_FORMAT(iq4_nl)
LLM_PANEL_FORMAT(iq4_xs)
LLM_PANEL_FORMAT(mxfp4)
LLM_PANEL_FORMAT(nvfp4)
// panel_ternary.cpp
LLM_PANEL_FORMAT(q1_0)
LLM_PANEL_FORMAT(q2_0)
LLM_PANEL_FORMAT(tq1_0)
LLM_PANEL_FORMAT(tq2_0)
// panel_grids.cpp
LLM_PANEL_FORMAT(iq2_xxs)
LLM_PANEL_FORMAT(iq2_xs)
LLM_PANEL_FORMAT(iq2_s)
LLM_PANEL_FORMAT(iq3_xxs)
LLM_PANEL_FORMAT(iq3_s)
LLM_PANEL_FORMAT(iq1_s)
LLM_PANEL_FORMAT(iq1_m)
#undef LLM_PANEL_FORMAT

} // namespace llm

// Panels of the K formats: 256 values, which are eight blocks of 32 with scales of their own.
#include "backend/cpu/panel_parts.h"
#include "quant/blocks.h"

namespace llm {

// Scale and minimum of 16 values stay in one byte.
void put_q2_k(const void *block, uint8_t *unit, uint32_t row) {
    const block_q2_K *b = static_cast<const block_q2_K *>(block);
    put_half(unit, row, b->d);
    put_half(unit + 32, row, b->dmin);
    for (int s = 0; s < 16; s++) unit[64 + 16 * s + row] = b->scales[s];
    for (int g = 0; g < 8; g++) put_pairs(unit + 320 + PAIR_BLOCK * g, row, file_two_bits(b->q, g), 0);
}
void get_q2_k(const uint8_t *unit, uint32_t row, float *out) {
    float d = get_half(unit, row), dmin = get_half(unit + 32, row);
    for (int g = 0; g < 8; g++) {
        codes32 c = {};
        get_pairs(unit + 320 + PAIR_BLOCK * g, row, &c, 0);
        for (int k = 0; k < 32; k++) {
            int both = unit[64 + 16 * (2 * g + k / 16) + row];
            out[32 * g + k] = d * float(both & 15) * float(code_of(c, k)) - dmin * float(both >> 4);
        }
    }
}

// d * scale * (code - offset), a scale per 16 values.
static void numbers_16(const codes32 &c, float d, const uint8_t *scales, uint32_t row, int offset, float *out) {
    for (int k = 0; k < 32; k++)
        out[k] = d * float(int8_t(scales[16 * (k / 16) + row])) * float(code_of(c, k) - offset);
}

constexpr size_t Q3_CODES = 32 + 256, Q3_GROUP = PAIR_BLOCK + BIT_BLOCK;

void put_q3_k(const void *block, uint8_t *unit, uint32_t row) {
    const block_q3_K *b = static_cast<const block_q3_K *>(block);
    int8_t scales[16];
    unpack_scales_q3(b->scales, scales);
    put_half(unit, row, b->d);
    for (int s = 0; s < 16; s++) unit[32 + 16 * s + row] = uint8_t(scales[s]);
    for (int g = 0; g < 8; g++) {
        uint8_t *at = unit + Q3_CODES + Q3_GROUP * g;
        codes32 c = file_two_bits(b->q, g);
        for (int j = 0; j < 8; j++) c.w[j] |= (load32(b->high + 4 * j) >> g & BITS) << 2;
        put_pairs(at, row, c, 0);
        put_bits(at + PAIR_BLOCK, row, c, 2);
    }
}
void get_q3_k(const uint8_t *unit, uint32_t row, float *out) {
    for (int g = 0; g < 8; g++) {
        const uint8_t *at = unit + Q3_CODES + Q3_GROUP * g;
        codes32 c = {};
        get_pairs(at, row, &c, 0);
        get_bits(at + PAIR_BLOCK, row, &c, 2);
        numbers_16(c, get_half(unit, row), unit + 32 + 32 * g, row, 4, out + 32 * g);
    }
}

// Codes of group g of Q4_K and Q5_K: nibbles g % 2 of 32 bytes.
static codes32 file_group_k4(const uint8_t *q, int g) {
    codes32 c;
    for (int j = 0; j < 8; j++) c.w[j] = load32(q + 32 * (g / 2) + 4 * j) >> 4 * (g % 2) & NIBBLES;
    return c;
}

static void put_scales_k4(const uint8_t packed[12], uint16_t d, uint16_t dmin, uint8_t *unit, uint32_t row) {
    uint8_t scales[8], minima[8];
    unpack_scales_k4(packed, scales, minima);
    put_half(unit, row, d);
    put_half(unit + 32, row, dmin);
    for (int g = 0; g < 8; g++) {
        unit[64 + 16 * g + row] = scales[g];
        unit[192 + 16 * g + row] = minima[g];
    }
}
static void numbers_k4(const codes32 &c, const uint8_t *unit, uint32_t row, int g, float *out) {
    float scale = get_half(unit, row) * float(unit[64 + 16 * g + row]);
    float minimum = get_half(unit + 32, row) * float(unit[192 + 16 * g + row]);
    numbers(c, scale, 0, -minimum, out);
}

void put_q4_k(const void *block, uint8_t *unit, uint32_t row) {
    const block_q4_K *b = static_cast<const block_q4_K *>(block);
    put_scales_k4(b->scales, b->d, b->dmin, unit, row);
    for (int g = 0; g < 8; g++) put_nibbles(unit + 320 + NIBBLE_BLOCK * g, row, file_group_k4(b->q, g));
}
void get_q4_k(const uint8_t *unit, uint32_t row, float *out) {
    for (int g = 0; g < 8; g++) numbers_k4(get_nibbles(unit + 320 + NIBBLE_BLOCK * g, row), unit, row, g, out + 32 * g);
}

void put_q5_k(const void *block, uint8_t *unit, uint32_t row) {
    const block_q5_K *b = static_cast<const block_q5_K *>(block);
    put_scales_k4(b->scales, b->d, b->dmin, unit, row);
    for (int g = 0; g < 8; g++) {
        uint8_t *at = unit + 320 + (NIBBLE_BLOCK + BIT_BLOCK) * g;
        codes32 c = file_group_k4(b->q, g);
        for (int j = 0; j < 8; j++) c.w[j] |= (load32(b->high + 4 * j) >> g & BITS) << 4;
        put_nibbles(at, row, c);
        put_bits(at + NIBBLE_BLOCK, row, c, 4);
    }
}
void get_q5_k(const uint8_t *unit, uint32_t row, float *out) {
    for (int g = 0; g < 8; g++) {
        const uint8_t *at = unit + 320 + (NIBBLE_BLOCK + BIT_BLOCK) * g;
        codes32 c = get_nibbles(at, row);
        get_bits(at + NIBBLE_BLOCK, row, &c, 4);
        numbers_k4(c, unit, row, g, out + 32 * g);
    }
}

// Values 32 g .. of a Q6_K block: see block_q6_K.
static codes32 file_group_q6(const block_q6_K *b, int g) {
    int half = g / 4, j = g % 4;
    const uint8_t *low = b->low + 64 * half + 32 * (j % 2), *high = b->high + 32 * half;
    codes32 c;
    for (int i = 0; i < 8; i++)
        c.w[i] = (load32(low + 4 * i) >> 4 * (j / 2) & NIBBLES) | (load32(high + 4 * i) >> 2 * j & PAIRS) << 4;
    return c;
}
constexpr size_t Q6_CODES = 32 + 256, Q6_GROUP = NIBBLE_BLOCK + PAIR_BLOCK;

void put_q6_k(const void *block, uint8_t *unit, uint32_t row) {
    const block_q6_K *b = static_cast<const block_q6_K *>(block);
    put_half(unit, row, b->d);
    for (int s = 0; s < 16; s++) unit[32 + 16 * s + row] = uint8_t(b->scales[s]);
    for (int g = 0; g < 8; g++) {
        uint8_t *at = unit + Q6_CODES + Q6_GROUP * g;
        codes32 c = file_group_q6(b, g);
        put_nibbles(at, row, c);
        put_pairs(at + NIBBLE_BLOCK, row, c, 4);
    }
}
void get_q6_k(const uint8_t *unit, uint32_t row, float *out) {
    for (int g = 0; g < 8; g++) {
        const uint8_t *at = unit + Q6_CODES + Q6_GROUP * g;
        codes32 c = get_nibbles(at, row);
        get_pairs(at + NIBBLE_BLOCK, row, &c, 4);
        numbers_16(c, get_half(unit, row), unit + 32 + 32 * g, row, 32, out + 32 * g);
    }
}

} // namespace llm

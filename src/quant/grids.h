// Formats whose codes number points of a grid: IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S. A point is the
// codes of 8 (IQ1, IQ2) or 4 (IQ3) neighbouring values; a sign per value comes from elsewhere in the block.
//
// All of them are 256 values in groups of 32 with (2 s + 1) as the factor of 16 or 32 values, so that a weight is
// d * power of two * (2 s + 1) * integer, every product being exact. What differs is where the bits are, and that is
// what unpack_*() take care of.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace llm {

// clang-format off
// Group g of IQ2_XXS: four bytes of indices, then a word of four 7-bit signs and the factor's s in the top 4 bits.
// 7-bit signs: of the first 7 of 8 values; the eighth makes the number of negative ones even.
struct block_iq2_xxs { uint16_t d; uint16_t q[32]; };
// 9 bits of index and 7-bit signs per 8 values; a nibble of s per 16.
struct block_iq2_xs { uint16_t d; uint16_t q[32]; uint8_t scales[8]; };
// The low 8 bits of indices, signs, two high bits of indices (bits 2 i of high[g]); a nibble of s per 16.
struct block_iq2_s { uint16_t d; uint8_t q[32]; uint8_t signs[32]; uint8_t high[8]; uint8_t scales[8]; };
// Eight bytes of indices per group, then for each group a word as in IQ2_XXS (four bytes, not aligned).
struct block_iq3_xxs { uint16_t d; uint8_t q[64]; uint8_t signs[8][4]; };
// The low 8 bits of indices, their ninth (bit i of high[g]), signs; a nibble of s per 32.
struct block_iq3_s { uint16_t d; uint8_t q[64]; uint8_t high[8]; uint8_t signs[32]; uint8_t scales[4]; };
// The low 8 bits of indices; per group four times three high bits, 3 bits of s, and the sign of the shift.
struct block_iq1_s { uint16_t d; uint8_t q[32]; uint16_t high[8]; };
// Per index three high bits and the sign of the shift, in nibbles; scales: four words, each with four times 3 bits of s
// (of 16 values) and in the top 4 bits a quarter of d, the lowest first.
struct block_iq1_m { uint8_t q[32]; uint8_t high[16]; uint16_t scales[4]; };
// clang-format on

static_assert(sizeof(block_iq2_xxs) == 66 && sizeof(block_iq2_xs) == 74 && sizeof(block_iq2_s) == 82, "as in the file");
static_assert(sizeof(block_iq3_xxs) == 98 && sizeof(block_iq3_s) == 110, "as in the file");
static_assert(sizeof(block_iq1_s) == 50 && sizeof(block_iq1_m) == 56, "as in the file");

// Points. Of 8 values: byte i has the code of value i in the low nibble, that of value 4 + i in the high one. Of 4
// values: byte i has the code of value i. This is what vector kernels gather, and codes need no more than 3 bits, so
// that a sign fits beside each.
template <size_t N> struct grid { uint32_t point[N]; };
extern const grid<256> grid_iq2_xxs, grid_iq3_xxs;
extern const grid<512> grid_iq2_xs, grid_iq3_s;
extern const grid<1024> grid_iq2_s;
extern const grid<2048> grid_iq1;

// The integer of a weight, by code + 8 * sign.
constexpr int8_t values_iq2[16] = {8, 25, 43, 0, 0, 0, 0, 0, -8, -25, -43, 0, 0, 0, 0, 0};
constexpr int8_t values_iq3_xxs[16] = {4, 12, 20, 28, 36, 44, 52, 62, -4, -12, -20, -28, -36, -44, -52, -62};
constexpr int8_t values_iq3_s[16] = {1, 3, 5, 7, 9, 11, 13, 15, -1, -3, -5, -7, -9, -11, -13, -15};
// -1, 0 or 1, plus or minus an eighth; times 8.
constexpr int8_t values_iq1[16] = {-7, 1, 9, 0, 0, 0, 0, 0, -9, -1, 7, 0, 0, 0, 0, 0};

struct grid_format {
    const uint32_t *points;
    uint32_t per_point; // 8 or 4 values
    const int8_t *values;
    float unit;  // a weight is (d * unit) * factor * value
    bool halves; // a factor per 16
};
extern const grid_format format_iq2_xxs, format_iq2_xs, format_iq2_s, format_iq3_xxs, format_iq3_s, format_iq1_s,
    format_iq1_m;

// 32 values of a block.
struct grid_group {
    uint16_t index[8]; // 32 / per_point are used
    uint32_t signs;    // bit k: of value k. IQ1: the shift is down, equal for 8 neighbours
    uint16_t d;
    uint8_t s[2]; // factor = 2 s + 1; the same twice where it is one for 32
};
typedef void unpack_group(const void *block, int group, grid_group *out);
unpack_group unpack_iq2_xxs, unpack_iq2_xs, unpack_iq2_s, unpack_iq3_xxs, unpack_iq3_s, unpack_iq1_s, unpack_iq1_m;

int grid_value(const grid_format &f, const grid_group &g, uint32_t k);       // the integer of value k
void grid_numbers(const grid_format &f, const grid_group &g, float out[32]); // exact

} // namespace llm

// The block structs of the formats, as they lie in a file (little-endian). Shared with the kernels.
// `d` is the scale of a block and `m` (or dmin) its minimum, both IEEE half; q are codes.
#pragma once
#include <stdint.h>

namespace llm {

// clang-format off
// 32 values. Codes of the first 16 values are the low nibbles of q, those of the last 16 the high nibbles.
struct block_q4_0 { uint16_t d; uint8_t q[16]; };                     // d * (q - 8)
struct block_q4_1 { uint16_t d, m; uint8_t q[16]; };                  // d * q + m
struct block_q5_0 { uint16_t d; uint8_t high[4]; uint8_t q[16]; };    // d * (q - 16); bit i of high: bit 4 of code i
struct block_q5_1 { uint16_t d, m; uint8_t high[4]; uint8_t q[16]; }; // d * q + m
struct block_q8_0 { uint16_t d; int8_t q[32]; };                      // d * q

// Codes as in Q4_0, but they number the values of a table (tables.h): d * values_iq4[q].
struct block_iq4_nl { uint16_t d; uint8_t q[16]; };
// Microscaling FP4 (Open Compute Project, MX formats 1.0): 2^(e - 127) times a 4-bit float, which as an integer of
// values_fp4 is twice as large: 2^(e - 128) * values_fp4[q]. See mxfp4_scale for e = 255.
struct block_mxfp4 { uint8_t e; uint8_t q[16]; };

// 64 values in 4 groups of 16 with a scale each, a float of 4 exponent and 3 mantissa bits (ue4m3_to_f32, here half of
// it for the doubled table): d * values_fp4[q]. Byte 8 g + i of q holds values i (low) and 8 + i of group g.
struct block_nvfp4 { uint8_t d[4]; uint8_t q[32]; };
struct block_q2_0 { uint16_t d; uint8_t q[16]; }; // 64 values, 4 in a byte, the first lowest: d * (q - 1), q = 0..3
struct block_q1_0 { uint16_t d; uint8_t q[16]; }; // 128 values, 8 in a byte, the first lowest: bit 1 is d, 0 is -d

// 256 values in 16 groups of 16 with two 4-bit numbers each, scale (low nibble) and minimum: (d * scale) * q - dmin *
// minimum. Bits 2 j and 2 j + 1 of byte 32 h + i of q are the code of value 128 h + 32 j + i (a "2-bit layout").
struct block_q2_K { uint8_t scales[16]; uint8_t q[64]; uint16_t d, dmin; };
// 16 groups of 16 with a 6-bit scale (unpack_scales_q3): d * scale * (q - 4). Low bits of codes as in Q2_K; bit 4 h + j
// of high[i] is bit 2 of the code of value 128 h + 32 j + i.
struct block_q3_K { uint8_t high[32]; uint8_t q[64]; uint8_t scales[12]; uint16_t d; };
// 256 values in 8 groups of 32, each with a 6-bit scale and a 6-bit minimum packed into `scales` (unpack_scales_k4):
// (d * scale) * q - dmin * minimum. Byte 32 j + i of q holds group 2 j in its low, group 2 j + 1 in its high nibbles.
struct block_q4_K { uint16_t d, dmin; uint8_t scales[12]; uint8_t q[128]; };
// Bit g of high[i]: bit 4 of code i of group g.
struct block_q5_K { uint16_t d, dmin; uint8_t scales[12]; uint8_t high[32]; uint8_t q[128]; };
// 256 values in 16 groups of 16 with an 8-bit scale each: d * scale * (q - 32). Codes in two halves of 128 values:
// value 32 j + i of a half has low bits in nibble (j / 2) of low[32 (j % 2) + i], bits 4 and 5 in bits 2 j of high[i].
struct block_q6_K { uint8_t low[128]; uint8_t high[64]; int8_t scales[16]; uint16_t d; };
// 8 groups of 32 with a 6-bit scale (scale_iq4_xs), each laid out and looked up as in IQ4_NL: d * scale * value.
struct block_iq4_xs { uint16_t d, scales_high; uint8_t scales_low[4]; uint8_t q[128]; };
// 256 values d * (q - 1), q = 0..3 in the 2-bit layout of Q2_K; only 0 to 2 are meant.
struct block_tq2_0 { uint8_t q[64]; uint16_t d; };
// 256 values d * (q - 1), q = 0..2: digits to base 3, five in a byte (trit). Digit n of byte m of the first 32 bytes is
// value 32 n + m, of the next 16 value 160 + 16 n + m, of the last four (with four digits only) value 240 + 4 n + m.
struct block_tq1_0 { uint8_t q[48]; uint8_t last[4]; uint16_t d; };
// clang-format on

static_assert(sizeof(block_q4_0) == 18 && sizeof(block_q4_1) == 20, "as in the file");
static_assert(sizeof(block_q5_0) == 22 && sizeof(block_q5_1) == 24 && sizeof(block_q8_0) == 34, "as in the file");
static_assert(sizeof(block_q4_K) == 144 && sizeof(block_q5_K) == 176 && sizeof(block_q6_K) == 210, "as in the file");

static_assert(sizeof(block_iq4_nl) == 18 && sizeof(block_iq4_xs) == 136, "as in the file");
static_assert(sizeof(block_mxfp4) == 17 && sizeof(block_nvfp4) == 36, "as in the file");
static_assert(sizeof(block_q1_0) == 18 && sizeof(block_q2_0) == 18, "as in the file");
static_assert(sizeof(block_tq1_0) == 54 && sizeof(block_tq2_0) == 66, "as in the file");
static_assert(sizeof(block_q2_K) == 84 && sizeof(block_q3_K) == 110, "as in the file");

// The 8 scales and 8 minima of Q4_K and Q5_K. Bytes 0-3 hold scales 0-3 in 6 bits, bytes 4-7 minima 0-3; the low
// nibbles of bytes 8-11 hold the low bits of scales 4-7, their high nibbles those of minima 4-7, and the upper two bits
// of bytes 0-3 and 4-7 the two high bits of scales 4-7 and minima 4-7.
inline void unpack_scales_k4(const uint8_t packed[12], uint8_t scales[8], uint8_t minima[8]) {
    for (int i = 0; i < 4; i++) {
        scales[i] = packed[i] & 63;
        minima[i] = packed[4 + i] & 63;
        scales[4 + i] = (uint8_t)((packed[8 + i] & 15) | (packed[i] >> 6) << 4);
        minima[4 + i] = (uint8_t)((packed[8 + i] >> 4) | (packed[4 + i] >> 6) << 4);
    }
}

inline void pack_scales_k4(const uint8_t scales[8], const uint8_t minima[8], uint8_t packed[12]) {
    for (int i = 0; i < 4; i++) {
        packed[i] = (uint8_t)(scales[i] | (scales[4 + i] >> 4) << 6);
        packed[4 + i] = (uint8_t)(minima[i] | (minima[4 + i] >> 4) << 6);
        packed[8 + i] = (uint8_t)((scales[4 + i] & 15) | (minima[4 + i] & 15) << 4);
    }
}

// The 16 scales of Q3_K, stored 32 larger: scale g has its low bits in nibble g / 8 of byte g % 8, its two high bits in
// bits 2 (g / 4) of byte 8 + g % 4.
inline void unpack_scales_q3(const uint8_t packed[12], int8_t scales[16]) {
    for (int g = 0; g < 16; g++) {
        int low = packed[g % 8] >> 4 * (g / 8) & 15, high = packed[8 + g % 4] >> 2 * (g / 4) & 3;
        scales[g] = (int8_t)((low | high << 4) - 32);
    }
}

// Scale g of the 8 of IQ4_XS.
inline int scale_iq4_xs(const block_iq4_xs *b, int g) {
    return ((b->scales_low[g / 2] >> 4 * (g % 2) & 15) | (b->scales_high >> 2 * g & 3) << 4) - 32;
}

// Digit n to base 3 of a byte of TQ1_0. The byte is a fraction of 256 and the first digit its most significant one:
// multiplying by 3 pushes a digit out at the top. All 256 bytes have digits.
inline int trit(uint8_t byte, int n) {
    static const uint8_t powers[] = {1, 3, 9, 27, 81};
    return (uint8_t)(byte * powers[n]) * 3 >> 8;
}

} // namespace llm

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

// 256 values in 8 groups of 32, each with a 6-bit scale and a 6-bit minimum packed into `scales` (unpack_scales_k4):
// (d * scale) * q - dmin * minimum. Byte 32 j + i of q holds group 2 j in its low, group 2 j + 1 in its high nibbles.
struct block_q4_K { uint16_t d, dmin; uint8_t scales[12]; uint8_t q[128]; };
// Bit g of high[i]: bit 4 of code i of group g.
struct block_q5_K { uint16_t d, dmin; uint8_t scales[12]; uint8_t high[32]; uint8_t q[128]; };
// 256 values in 16 groups of 16 with an 8-bit scale each: d * scale * (q - 32). Codes in two halves of 128 values:
// value 32 j + i of a half has low bits in nibble (j / 2) of low[32 (j % 2) + i], bits 4 and 5 in bits 2 j of high[i].
struct block_q6_K { uint8_t low[128]; uint8_t high[64]; int8_t scales[16]; uint16_t d; };
// clang-format on

static_assert(sizeof(block_q4_0) == 18 && sizeof(block_q4_1) == 20, "as in the file");
static_assert(sizeof(block_q5_0) == 22 && sizeof(block_q5_1) == 24 && sizeof(block_q8_0) == 34, "as in the file");
static_assert(sizeof(block_q4_K) == 144 && sizeof(block_q5_K) == 176 && sizeof(block_q6_K) == 210, "as in the file");

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

} // namespace llm

// Panels of the formats of two bits and less with one scale.
#include "backend/cpu/panel_parts.h"
#include "backend/cpu/trits.h"
#include "quant/blocks.h"

namespace llm {

void put_q1_0(const void *block, uint8_t *unit, uint32_t row) {
    const block_q1_0 *b = static_cast<const block_q1_0 *>(block);
    put_half(unit, row, b->d);
    for (int g = 0; g < 4; g++) {
        codes32 c = {};
        add_file_bits(b->q + 4 * g, &c, 0);
        put_bits(unit + 32 + BIT_BLOCK * g, row, c, 0);
    }
}
void get_q1_0(const uint8_t *unit, uint32_t row, float *out) {
    for (int g = 0; g < 4; g++) {
        codes32 c = {};
        get_bits(unit + 32 + BIT_BLOCK * g, row, &c, 1);
        numbers(c, get_half(unit, row), 1, -0.0f, out + 32 * g);
    }
}

// Two bits per value, n_groups blocks of 32 under one scale.
static void two_bit_numbers(const uint8_t *unit, uint32_t row, int n_groups, float *out) {
    for (int g = 0; g < n_groups; g++) {
        codes32 c = {};
        get_pairs(unit + 32 + PAIR_BLOCK * g, row, &c, 0);
        numbers(c, get_half(unit, row), 1, -0.0f, out + 32 * g);
    }
}

void put_q2_0(const void *block, uint8_t *unit, uint32_t row) {
    const block_q2_0 *b = static_cast<const block_q2_0 *>(block);
    put_half(unit, row, b->d);
    for (int g = 0; g < 2; g++) {
        codes32 c;
        for (int j = 0; j < 8; j++) {
            uint32_t v = b->q[8 * g + j];
            c.w[j] = (v | v << 6 | v << 12 | v << 18) & PAIRS;
        }
        put_pairs(unit + 32 + PAIR_BLOCK * g, row, c, 0);
    }
}
void get_q2_0(const uint8_t *unit, uint32_t row, float *out) { two_bit_numbers(unit, row, 2, out); }

void put_tq2_0(const void *block, uint8_t *unit, uint32_t row) {
    const block_tq2_0 *b = static_cast<const block_tq2_0 *>(block);
    put_half(unit, row, b->d);
    for (int g = 0; g < 8; g++) put_pairs(unit + 32 + PAIR_BLOCK * g, row, file_two_bits(b->q, g), 0);
}
void get_tq2_0(const uint8_t *unit, uint32_t row, float *out) { two_bit_numbers(unit, row, 8, out); }

// Four bytes as the low bytes of four 16-bit lanes, and back.
static uint64_t spread(uint32_t v) {
    const uint64_t halves = (v & 0xffff) | uint64_t(v >> 16) << 32;
    return (halves | halves << 8) & 0x00ff00ff00ff00ff;
}
static uint32_t gathered(uint64_t lanes) {
    const uint64_t halves = lanes | lanes >> 8;
    return uint32_t((halves & 0xffff) | (halves >> 16 & 0xffff0000));
}
// `count` digits to base 3 of four bytes, as words `step` apart: the digit of a byte (trit) is above three times it.
static void file_trits(const uint8_t *bytes, int count, uint32_t *words, int step) {
    uint64_t lanes = spread(load32(bytes));
    for (int n = 0; n < count; n++) {
        lanes = (lanes & 0x00ff00ff00ff00ff) * 3;
        words[n * step] = gathered(lanes >> 8 & 0x0003000300030003);
    }
}

constexpr size_t TQ1_TRIPLES = 32, TQ1_PAIRS = TQ1_TRIPLES + 8 * 64, TQ1_BITS = TQ1_PAIRS + 4 * 64;

// Trits of values 32 g ..: words 0-2 and 3-5 as triples, 6 and 7 as a pair. Blocks share the bytes of pairs and bits.
static void put_trits(uint8_t *unit, uint32_t row, int g, const uint32_t *w) {
    const uint32_t triples[2] = {w[0] + 3 * w[1] + 9 * w[2], w[3] + 3 * w[4] + 9 * w[5]}, pair = w[6] + 3 * w[7];
    uint32_t nibbles = 0, bits = 0;
    for (int i = 0; i < 32; i += 8) {
        const uint32_t a = three_trits.code[triples[0] >> i & 255], b = three_trits.code[triples[1] >> i & 255];
        nibbles |= ((a & 15) | (b & 15) << 4) << i;
        bits |= (a >> 4 | b >> 4 << 1) << i;
    }
    uint8_t *pairs_at = unit + TQ1_PAIRS + 64 * (g / 2) + 4 * row, *bits_at = unit + TQ1_BITS + 64 * (g / 4) + 4 * row;
    store32(unit + TQ1_TRIPLES + 64 * g + 4 * row, nibbles);
    store32(pairs_at, g % 2 ? load32(pairs_at) | pair << 4 : pair);
    store32(bits_at, g % 4 ? load32(bits_at) | bits << 2 * (g % 4) : bits);
}

void put_tq1_0(const void *block, uint8_t *unit, uint32_t row) {
    const block_tq1_0 *b = static_cast<const block_tq1_0 *>(block);
    uint32_t words[64]; // word j: values 4 j ..
    for (int j = 0; j < 8; j++) file_trits(b->q + 4 * j, 5, words + j, 8);
    for (int j = 0; j < 4; j++) file_trits(b->q + 32 + 4 * j, 5, words + 40 + j, 4);
    file_trits(b->last, 4, words + 60, 1);
    put_half(unit, row, b->d);
    for (int g = 0; g < 8; g++) put_trits(unit, row, g, words + 8 * g);
}

// Three trits, two bits each.
static int triple_of(int nibble, int bit) { return bit ? trits_of[nibble] : trits_of[nibble] | trits_open[nibble]; }

void get_tq1_0(const uint8_t *unit, uint32_t row, float *out) {
    for (int g = 0; g < 8; g++) {
        codes32 c = {};
        for (int i = 0; i < 4; i++) {
            const int place = int(4 * row) + i, shift = 2 * (g % 4);
            const int triples = unit[TQ1_TRIPLES + 64 * g + place],
                      bits = unit[TQ1_BITS + 64 * (g / 4) + place] >> shift;
            const int pair = trits_of[unit[TQ1_PAIRS + 64 * (g / 2) + place] >> 4 * (g % 2) & 15];
            const int all =
                triple_of(triples & 15, bits & 1) | triple_of(triples >> 4, bits >> 1 & 1) << 6 | pair << 12;
            for (int j = 0; j < 8; j++) c.w[j] |= uint32_t(all >> 2 * j & 3) << 8 * i;
        }
        numbers(c, get_half(unit, row), 1, -0.0f, out + 32 * g);
    }
}

} // namespace llm

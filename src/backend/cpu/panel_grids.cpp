// Panels of the grid formats. Indices stay indices, for the kernels to look up: their low bytes are [8 or 4][16], and
// what else a block has is put where a lane finds it. Signs are one bit per value: 32 instead of the 28 bits of three
// of the formats, against working out the parity of 7 bits in every kernel.
#include "backend/cpu/panel_parts.h"
#include "quant/grids.h"

namespace llm {
namespace {

constexpr size_t ROWS = PANEL_ROWS;
constexpr size_t BEHIND_D = 2 * ROWS;

uint32_t get_word(const uint8_t *at, uint32_t row) {
    uint16_t v;
    memcpy(&v, at + 2 * row, 2);
    return v;
}
// Nibble `which` of a byte; the first one clears the other.
void put_nibble(uint8_t *at, int which, uint32_t v) { *at = uint8_t(which ? *at | v << 4 : v); }
uint32_t get_nibble(const uint8_t *at, int which) { return *at >> 4 * which & 15; }

void put_low(uint8_t *at, uint32_t row, const grid_group &g, int n) {
    for (int i = 0; i < n; i++) at[ROWS * i + row] = uint8_t(g.index[i]);
}
void get_low(const uint8_t *at, uint32_t row, grid_group *g, int n) {
    for (int i = 0; i < n; i++) g->index[i] = at[ROWS * i + row];
}
// Bits above the low 8 of n indices, `bits` of each, the first index lowest.
uint32_t high_bits(const grid_group &g, int n, int bits) {
    uint32_t v = 0;
    for (int i = 0; i < n; i++) v |= uint32_t(g.index[i] >> 8) << bits * i;
    return v;
}
void add_high_bits(grid_group *g, int n, int bits, uint32_t v) {
    for (int i = 0; i < n; i++) g->index[i] = uint16_t(g->index[i] | (v >> bits * i & ((1u << bits) - 1)) << 8);
}
// Signs of values 4 j .. are one bit of the four bytes of a row. Points of 4: bit j, a one-bit block. Points of 8, two
// codes of which share a byte: bit i for values 8 i .., bit 4 + i for 8 i + 4 .., so that one shift brings both beside
// their codes.
int sign_bit(int j, int n_points) { return n_points == 8 ? j : j / 2 + 4 * (j % 2); }
void put_signs(uint8_t *at, uint32_t row, const grid_group &g, int n_points) {
    uint32_t v = 0;
    for (int j = 0; j < 8; j++) {
        const uint32_t four = g.signs >> 4 * j & 15;
        v |= ((four | four << 7 | four << 14 | four << 21) & BITS) << sign_bit(j, n_points);
    }
    store32(at + 4 * row, v);
}
void get_signs(const uint8_t *at, uint32_t row, grid_group *g, int n_points) {
    const uint32_t v = load32(at + 4 * row);
    g->signs = 0;
    for (int j = 0; j < 8; j++) {
        const uint32_t four = v >> sign_bit(j, n_points) & BITS;
        g->signs |= ((four | four >> 7 | four >> 14 | four >> 21) & 15) << 4 * j;
    }
}
void put_both_s(uint8_t *at, const grid_group &g) { *at = uint8_t(g.s[0] | g.s[1] << 4); }
void get_both_s(const uint8_t *at, grid_group *g) {
    g->s[0] = *at & 15;
    g->s[1] = *at >> 4;
}

// Group b of a row. `put` and `get` leave d alone.
typedef void put_group(const grid_group &g, uint8_t *unit, uint32_t row, int b);
typedef void get_group(const uint8_t *unit, uint32_t row, int b, grid_group *g);

void put_all(unpack_group *unpack, put_group *put, const void *block, uint8_t *unit, uint32_t row) {
    for (int b = 0; b < 8; b++) {
        grid_group g;
        unpack(block, b, &g);
        put_half(unit, row, g.d);
        put(g, unit, row, b);
    }
}
void get_all(const grid_format &f, get_group *get, const uint8_t *unit, uint32_t row, float *out) {
    for (int b = 0; b < 8; b++) {
        grid_group g;
        g.d = uint16_t(get_word(unit, row));
        get(unit, row, b, &g);
        grid_numbers(f, g, out + 32 * b);
    }
}

// The formats with signs: s as nibbles, of the two halves of a block or else of two blocks in a byte; EXTRA bits above
// the low 8 of each index, in a nibble of [4][16] or a byte of [8][16] per block; then low bytes and signs of each
// block.
template <int POINTS, int EXTRA, bool HALVES> struct signed_points {
    static constexpr int HIGH_BITS = POINTS * EXTRA;
    static constexpr size_t HIGH = BEHIND_D + ROWS * (HALVES ? 8 : 4), CODES = HIGH + ROWS * HIGH_BITS,
                            BLOCK = ROWS * POINTS + BIT_BLOCK;

    static void put(const grid_group &g, uint8_t *unit, uint32_t row, int b) {
        uint8_t *s = unit + BEHIND_D + row, *high = unit + HIGH + row, *codes = unit + CODES + BLOCK * b;
        if (HALVES) put_both_s(s + ROWS * b, g);
        if (!HALVES) put_nibble(s + ROWS * (b / 2), b % 2, g.s[0]);
        if (HIGH_BITS == 4) put_nibble(high + ROWS * (b / 2), b % 2, high_bits(g, POINTS, EXTRA));
        if (HIGH_BITS == 8) high[ROWS * b] = uint8_t(high_bits(g, POINTS, EXTRA));
        put_low(codes, row, g, POINTS);
        put_signs(codes + ROWS * POINTS, row, g, POINTS);
    }
    static void get(const uint8_t *unit, uint32_t row, int b, grid_group *g) {
        const uint8_t *s = unit + BEHIND_D + row, *high = unit + HIGH + row, *codes = unit + CODES + BLOCK * b;
        if (HALVES) get_both_s(s + ROWS * b, g);
        if (!HALVES) g->s[0] = g->s[1] = uint8_t(get_nibble(s + ROWS * (b / 2), b % 2));
        get_low(codes, row, g, POINTS);
        if (HIGH_BITS == 4) add_high_bits(g, POINTS, EXTRA, get_nibble(high + ROWS * (b / 2), b % 2));
        if (HIGH_BITS == 8) add_high_bits(g, POINTS, EXTRA, high[ROWS * b]);
        get_signs(codes + ROWS * POINTS, row, g, POINTS);
    }
};
using panel_iq2_xxs = signed_points<4, 0, false>;
using panel_iq2_xs = signed_points<4, 1, true>;
using panel_iq2_s = signed_points<4, 2, true>;
using panel_iq3_xxs = signed_points<8, 0, false>;
using panel_iq3_s = signed_points<8, 1, false>;

// The formats with shifts: 16 bits for each block, of s [8][16] before in IQ1_M; low bytes.
constexpr size_t WORDS = 2 * ROWS, LOW = 4 * ROWS; // per block

struct panel_iq1_s {
    static void put(const grid_group &g, uint8_t *unit, uint32_t row, int b) {
        const uint32_t word = high_bits(g, 4, 3) | uint32_t(g.s[0]) << 12 | (g.signs ? 0x8000u : 0);
        put_half(unit + BEHIND_D + WORDS * b, row, uint16_t(word));
        put_low(unit + BEHIND_D + 8 * WORDS + LOW * b, row, g, 4);
    }
    static void get(const uint8_t *unit, uint32_t row, int b, grid_group *g) {
        const uint32_t word = get_word(unit + BEHIND_D + WORDS * b, row);
        get_low(unit + BEHIND_D + 8 * WORDS + LOW * b, row, g, 4);
        add_high_bits(g, 4, 3, word);
        g->s[0] = g->s[1] = word >> 12 & 7;
        g->signs = word & 0x8000 ? 0xffffffff : 0;
    }
};
struct panel_iq1_m {
    static constexpr size_t HIGH = BEHIND_D + 8 * ROWS;

    static void put(const grid_group &g, uint8_t *unit, uint32_t row, int b) {
        uint32_t word = 0;
        for (int i = 0; i < 4; i++) word |= (g.index[i] >> 8 | (g.signs >> 8 * i & 1) << 3) << 4 * i;
        put_both_s(unit + BEHIND_D + ROWS * b + row, g);
        put_half(unit + HIGH + WORDS * b, row, uint16_t(word));
        put_low(unit + HIGH + 8 * WORDS + LOW * b, row, g, 4);
    }
    static void get(const uint8_t *unit, uint32_t row, int b, grid_group *g) {
        const uint32_t word = get_word(unit + HIGH + WORDS * b, row);
        get_both_s(unit + BEHIND_D + ROWS * b + row, g);
        get_low(unit + HIGH + 8 * WORDS + LOW * b, row, g, 4);
        g->signs = 0;
        for (int i = 0; i < 4; i++) {
            g->index[i] = uint16_t(g->index[i] | (word >> 4 * i & 7) << 8);
            if (word >> 4 * i & 8) g->signs |= 255u << 8 * i;
        }
    }
};

} // namespace

#define GRID_FORMAT(name)                                                                                              \
    void put_##name(const void *block, uint8_t *unit, uint32_t row) {                                                  \
        put_all(unpack_##name, panel_##name::put, block, unit, row);                                                   \
    }                                                                                                                  \
    void get_##name(const uint8_t *unit, uint32_t row, float *out) {                                                   \
        get_all(format_##name, panel_##name::get, unit, row, out);                                                     \
    }
GRID_FORMAT(iq2_xxs)
GRID_FORMAT(iq2_xs)
GRID_FORMAT(iq2_s)
GRID_FORMAT(iq3_xxs)
GRID_FORMAT(iq3_s)
GRID_FORMAT(iq1_s)
GRID_FORMAT(iq1_m)
#undef GRID_FORMAT

} // namespace llm

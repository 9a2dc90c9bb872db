// Panels of the grid formats. Indices stay indices, for the kernels to look up: their low bytes are [8 or 4][16], and
// what else a block has is put where a lane finds it. Signs become one-bit blocks: 32 bits instead of the file's 28 in
// three of the formats, against working out the parity of 7 bits in every kernel.
#include "backend/cpu/panel_parts.h"
#include "quant/grids.h"

namespace llm {
namespace {

constexpr size_t ROWS = PANEL_ROWS;
constexpr size_t HALVES = 32; // behind d

void put_half_word(uint8_t *at, uint32_t row, uint32_t v) { put_half(at, row, uint16_t(v)); }
uint32_t get_half_word(const uint8_t *at, uint32_t row) {
    uint16_t h;
    memcpy(&h, at + 2 * row, 2);
    return h;
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
void get_one_s(const uint8_t *at, int which, grid_group *g) { g->s[0] = g->s[1] = uint8_t(get_nibble(at, which)); }

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
        g.d = uint16_t(get_half_word(unit, row));
        get(unit, row, b, &g);
        grid_numbers(f, g, out + 32 * b);
    }
}

constexpr size_t XXS_CODES = HALVES + 4 * ROWS;

template <int POINTS> void put_xxs(const grid_group &g, uint8_t *unit, uint32_t row, int b) {
    uint8_t *at = unit + XXS_CODES + (ROWS * POINTS + BIT_BLOCK) * b;
    put_nibble(unit + HALVES + ROWS * (b / 2) + row, b % 2, g.s[0]);
    put_low(at, row, g, POINTS);
    put_signs(at + ROWS * POINTS, row, g, POINTS);
}
template <int POINTS> void get_xxs(const uint8_t *unit, uint32_t row, int b, grid_group *g) {
    const uint8_t *at = unit + XXS_CODES + (ROWS * POINTS + BIT_BLOCK) * b;
    get_one_s(unit + HALVES + ROWS * (b / 2) + row, b % 2, g);
    get_low(at, row, g, POINTS);
    get_signs(at + ROWS * POINTS, row, g, POINTS);
}

constexpr size_t XS_HIGH = HALVES + 8 * ROWS, XS_CODES = XS_HIGH + 4 * ROWS, GROUP_OF_4 = 4 * ROWS + BIT_BLOCK;

void put_xs(const grid_group &g, uint8_t *unit, uint32_t row, int b) {
    put_both_s(unit + HALVES + ROWS * b + row, g);
    put_nibble(unit + XS_HIGH + ROWS * (b / 2) + row, b % 2, high_bits(g, 4, 1));
    put_low(unit + XS_CODES + GROUP_OF_4 * b, row, g, 4);
    put_signs(unit + XS_CODES + GROUP_OF_4 * b + 4 * ROWS, row, g, 4);
}
void get_xs(const uint8_t *unit, uint32_t row, int b, grid_group *g) {
    get_both_s(unit + HALVES + ROWS * b + row, g);
    get_low(unit + XS_CODES + GROUP_OF_4 * b, row, g, 4);
    add_high_bits(g, 4, 1, get_nibble(unit + XS_HIGH + ROWS * (b / 2) + row, b % 2));
    get_signs(unit + XS_CODES + GROUP_OF_4 * b + 4 * ROWS, row, g, 4);
}

constexpr size_t IQ2S_HIGH = HALVES + 8 * ROWS, IQ2S_CODES = IQ2S_HIGH + 8 * ROWS;

void put_s2(const grid_group &g, uint8_t *unit, uint32_t row, int b) {
    put_both_s(unit + HALVES + ROWS * b + row, g);
    unit[IQ2S_HIGH + ROWS * b + row] = uint8_t(high_bits(g, 4, 2));
    put_low(unit + IQ2S_CODES + GROUP_OF_4 * b, row, g, 4);
    put_signs(unit + IQ2S_CODES + GROUP_OF_4 * b + 4 * ROWS, row, g, 4);
}
void get_s2(const uint8_t *unit, uint32_t row, int b, grid_group *g) {
    get_both_s(unit + HALVES + ROWS * b + row, g);
    get_low(unit + IQ2S_CODES + GROUP_OF_4 * b, row, g, 4);
    add_high_bits(g, 4, 2, unit[IQ2S_HIGH + ROWS * b + row]);
    get_signs(unit + IQ2S_CODES + GROUP_OF_4 * b + 4 * ROWS, row, g, 4);
}

constexpr size_t IQ3S_HIGH = HALVES + 4 * ROWS, IQ3S_CODES = IQ3S_HIGH + 8 * ROWS, GROUP_OF_8 = 8 * ROWS + BIT_BLOCK;

void put_s3(const grid_group &g, uint8_t *unit, uint32_t row, int b) {
    put_nibble(unit + HALVES + ROWS * (b / 2) + row, b % 2, g.s[0]);
    unit[IQ3S_HIGH + ROWS * b + row] = uint8_t(high_bits(g, 8, 1));
    put_low(unit + IQ3S_CODES + GROUP_OF_8 * b, row, g, 8);
    put_signs(unit + IQ3S_CODES + GROUP_OF_8 * b + 8 * ROWS, row, g, 8);
}
void get_s3(const uint8_t *unit, uint32_t row, int b, grid_group *g) {
    get_one_s(unit + HALVES + ROWS * (b / 2) + row, b % 2, g);
    get_low(unit + IQ3S_CODES + GROUP_OF_8 * b, row, g, 8);
    add_high_bits(g, 8, 1, unit[IQ3S_HIGH + ROWS * b + row]);
    get_signs(unit + IQ3S_CODES + GROUP_OF_8 * b + 8 * ROWS, row, g, 8);
}

constexpr size_t WORDS = 2 * ROWS, IQ1S_LOW = HALVES + 8 * WORDS, IQ1M_WORDS = HALVES + 8 * ROWS,
                 IQ1M_LOW = IQ1M_WORDS + 8 * WORDS, LOW_OF_4 = 4 * ROWS;

void put_s1(const grid_group &g, uint8_t *unit, uint32_t row, int b) {
    const uint32_t word = high_bits(g, 4, 3) | uint32_t(g.s[0]) << 12 | (g.signs ? 0x8000u : 0);
    put_half_word(unit + HALVES + WORDS * b, row, word);
    put_low(unit + IQ1S_LOW + LOW_OF_4 * b, row, g, 4);
}
void get_s1(const uint8_t *unit, uint32_t row, int b, grid_group *g) {
    const uint32_t word = get_half_word(unit + HALVES + WORDS * b, row);
    get_low(unit + IQ1S_LOW + LOW_OF_4 * b, row, g, 4);
    add_high_bits(g, 4, 3, word);
    g->s[0] = g->s[1] = word >> 12 & 7;
    g->signs = word & 0x8000 ? 0xffffffff : 0;
}

void put_m1(const grid_group &g, uint8_t *unit, uint32_t row, int b) {
    put_both_s(unit + HALVES + ROWS * b + row, g);
    uint32_t word = 0;
    for (int i = 0; i < 4; i++) word |= (g.index[i] >> 8 | (g.signs >> 8 * i & 1) << 3) << 4 * i;
    put_half_word(unit + IQ1M_WORDS + WORDS * b, row, word);
    put_low(unit + IQ1M_LOW + LOW_OF_4 * b, row, g, 4);
}
void get_m1(const uint8_t *unit, uint32_t row, int b, grid_group *g) {
    const uint32_t word = get_half_word(unit + IQ1M_WORDS + WORDS * b, row);
    get_both_s(unit + HALVES + ROWS * b + row, g);
    get_low(unit + IQ1M_LOW + LOW_OF_4 * b, row, g, 4);
    g->signs = 0;
    for (int i = 0; i < 4; i++) {
        g->index[i] = uint16_t(g->index[i] | (word >> 4 * i & 7) << 8);
        if (word >> 4 * i & 8) g->signs |= 255u << 8 * i;
    }
}

} // namespace

#define GRID_FORMAT(name, put, get)                                                                                    \
    void put_##name(const void *block, uint8_t *unit, uint32_t row) { put_all(unpack_##name, put, block, unit, row); } \
    void get_##name(const uint8_t *unit, uint32_t row, float *out) { get_all(format_##name, get, unit, row, out); }
GRID_FORMAT(iq2_xxs, put_xxs<4>, get_xxs<4>)
GRID_FORMAT(iq2_xs, put_xs, get_xs)
GRID_FORMAT(iq2_s, put_s2, get_s2)
GRID_FORMAT(iq3_xxs, put_xxs<8>, get_xxs<8>)
GRID_FORMAT(iq3_s, put_s3, get_s3)
GRID_FORMAT(iq1_s, put_s1, get_s1)
GRID_FORMAT(iq1_m, put_m1, get_m1)
#undef GRID_FORMAT

} // namespace llm

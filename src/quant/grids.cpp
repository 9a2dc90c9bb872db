// Unpacking and exact values of the grid formats (grids.h).
#include "quant/grids.h"
#include "quant/format.h"
#include "quant/rows.h"
#include <string.h>

namespace llm {

const grid_format format_iq2_xxs = {grid_iq2_xxs.point, 8, values_iq2, 0.125f, false};
const grid_format format_iq2_xs = {grid_iq2_xs.point, 8, values_iq2, 0.125f, true};
const grid_format format_iq2_s = {grid_iq2_s.point, 8, values_iq2, 0.125f, true};
const grid_format format_iq3_xxs = {grid_iq3_xxs.point, 4, values_iq3_xxs, 0.25f, false};
const grid_format format_iq3_s = {grid_iq3_s.point, 4, values_iq3_s, 1.0f, false};
const grid_format format_iq1_s = {grid_iq1.point, 8, values_iq1, 0.125f, false};
const grid_format format_iq1_m = {grid_iq1.point, 8, values_iq1, 0.125f, true};

static uint32_t word_at(const void *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

static uint32_t eight_signs(uint32_t seven) {
    uint32_t odd = seven ^ seven >> 4;
    odd ^= odd >> 2;
    odd ^= odd >> 1;
    return seven | (odd & 1) << 7;
}
// Four times 7 bits, and s above them.
static void signs_and_s(uint32_t word, grid_group *g) {
    g->signs = 0;
    for (int i = 0; i < 4; i++) g->signs |= eight_signs(word >> 7 * i & 127) << 8 * i;
    g->s[0] = g->s[1] = uint8_t(word >> 28);
}
static void nibbles_of_s(uint8_t both, grid_group *g) {
    g->s[0] = both & 15;
    g->s[1] = both >> 4;
}

void unpack_iq2_xxs(const void *block, int group, grid_group *g) {
    const block_iq2_xxs *b = (const block_iq2_xxs *)block;
    const uint16_t *q = b->q + 4 * group;
    g->d = b->d;
    for (int i = 0; i < 4; i++) g->index[i] = q[i / 2] >> 8 * (i % 2) & 255;
    signs_and_s(q[2] | (uint32_t)q[3] << 16, g);
}

void unpack_iq2_xs(const void *block, int group, grid_group *g) {
    const block_iq2_xs *b = (const block_iq2_xs *)block;
    g->d = b->d;
    g->signs = 0;
    for (int i = 0; i < 4; i++) {
        uint16_t q = b->q[4 * group + i];
        g->index[i] = q & 511;
        g->signs |= eight_signs(q >> 9) << 8 * i;
    }
    nibbles_of_s(b->scales[group], g);
}

void unpack_iq2_s(const void *block, int group, grid_group *g) {
    const block_iq2_s *b = (const block_iq2_s *)block;
    g->d = b->d;
    for (int i = 0; i < 4; i++) g->index[i] = (uint16_t)(b->q[4 * group + i] | (b->high[group] >> 2 * i & 3) << 8);
    g->signs = word_at(b->signs + 4 * group);
    nibbles_of_s(b->scales[group], g);
}

void unpack_iq3_xxs(const void *block, int group, grid_group *g) {
    const block_iq3_xxs *b = (const block_iq3_xxs *)block;
    g->d = b->d;
    for (int i = 0; i < 8; i++) g->index[i] = b->q[8 * group + i];
    signs_and_s(word_at(b->signs[group]), g);
}

void unpack_iq3_s(const void *block, int group, grid_group *g) {
    const block_iq3_s *b = (const block_iq3_s *)block;
    g->d = b->d;
    for (int i = 0; i < 8; i++) g->index[i] = (uint16_t)(b->q[8 * group + i] | (b->high[group] >> i & 1) << 8);
    g->signs = word_at(b->signs + 4 * group);
    g->s[0] = g->s[1] = b->scales[group / 2] >> 4 * (group % 2) & 15;
}

void unpack_iq1_s(const void *block, int group, grid_group *g) {
    const block_iq1_s *b = (const block_iq1_s *)block;
    uint16_t high = b->high[group];
    g->d = b->d;
    for (int i = 0; i < 4; i++) g->index[i] = (uint16_t)(b->q[4 * group + i] | (high >> 3 * i & 7) << 8);
    g->signs = high & 0x8000 ? 0xffffffff : 0;
    g->s[0] = g->s[1] = high >> 12 & 7;
}

void unpack_iq1_m(const void *block, int group, grid_group *g) {
    const block_iq1_m *b = (const block_iq1_m *)block;
    g->d = 0;
    for (int i = 0; i < 4; i++) g->d |= (uint16_t)(b->scales[i] >> 12 << 4 * i);
    g->signs = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t high = b->high[2 * group + i / 2] >> 4 * (i % 2) & 15;
        g->index[i] = (uint16_t)(b->q[4 * group + i] | (high & 7) << 8);
        if (high & 8) g->signs |= 255u << 8 * i;
    }
    for (int half = 0; half < 2; half++) g->s[half] = b->scales[group / 2] >> (6 * (group % 2) + 3 * half) & 7;
}

int grid_value(const grid_format &f, const grid_group &g, uint32_t k) {
    const uint32_t i = k % f.per_point, shift = 8 * (i % 4) + 4 * (i / 4);
    const uint32_t code = f.points[g.index[k / f.per_point]] >> shift & 7;
    return f.values[code | (g.signs >> k & 1) << 3];
}

void grid_numbers(const grid_format &f, const grid_group &g, float out[32]) {
    for (uint32_t k = 0; k < 32; k++)
        out[k] = f16_to_f32(g.d) * f.unit * (float)(2 * g.s[k / 16] + 1) * (float)grid_value(f, g, k);
}

static void dequantise(const grid_format &f, unpack_group *unpack, const void *blocks, size_t block_bytes, float *out,
                       size_t n) {
    for (size_t k = 0; k < n / 32; k++) {
        grid_group g;
        unpack((const uint8_t *)blocks + k / 8 * block_bytes, (int)(k % 8), &g);
        grid_numbers(f, g, out + 32 * k);
    }
}

#define GRID_FORMAT(name)                                                                                              \
    void dequantise_##name(const void *blocks, float *out, size_t n) {                                                 \
        dequantise(format_##name, unpack_##name, blocks, sizeof(block_##name), out, n);                                \
    }
#define SET_D(name)                                                                                                    \
    void set_scales_##name(void *block, float d, float) { ((block_##name *)block)->d = f32_to_f16(d); }
GRID_FORMAT(iq2_xxs)
GRID_FORMAT(iq2_xs)
GRID_FORMAT(iq2_s)
GRID_FORMAT(iq3_xxs)
GRID_FORMAT(iq3_s)
GRID_FORMAT(iq1_s)
GRID_FORMAT(iq1_m)
SET_D(iq2_xxs)
SET_D(iq2_xs)
SET_D(iq2_s)
SET_D(iq3_xxs)
SET_D(iq3_s)
SET_D(iq1_s)
#undef SET_D
#undef GRID_FORMAT

void set_scales_iq1_m(void *block, float d, float) {
    block_iq1_m *b = (block_iq1_m *)block;
    uint16_t h = f32_to_f16(d);
    for (int i = 0; i < 4; i++) b->scales[i] = (uint16_t)((b->scales[i] & 0x0fff) | (h >> 4 * i & 15) << 12);
}

} // namespace llm

// Groups of the K formats.
#include "backend/ref/groups.h"

namespace llm {

static int two_bits(const uint8_t q[64], int group, int i) { return q[32 * (group / 4) + i] >> 2 * (group % 4) & 3; }

void group_q2_k(const void *block, int group, weight_group *g) {
    auto *b = (const block_q2_K *)block;
    plain_group(g, f16_to_f32(b->d));
    for (int i = 0; i < 32; i++) g->code[i] = two_bits(b->q, group, i);
    g->minima = weight_group::TWO_MINIMA;
    g->minimum = -f16_to_f32(b->dmin);
    for (int half = 0; half < 2; half++) {
        g->factor[half] = b->scales[2 * group + half] & 15;
        g->minimum_factor[half] = b->scales[2 * group + half] >> 4;
    }
}

void group_q3_k(const void *block, int group, weight_group *g) {
    auto *b = (const block_q3_K *)block;
    int8_t scales[16];
    unpack_scales_q3(b->scales, scales);
    plain_group(g, f16_to_f32(b->d));
    for (int i = 0; i < 32; i++) g->code[i] = (two_bits(b->q, group, i) | (b->high[i] >> group & 1) << 2) - 4;
    g->factor[0] = scales[2 * group];
    g->factor[1] = scales[2 * group + 1];
}

// d * scale and dmin * minimum are exact: 11 + 6 bits.
static void scale_minimum_k4(uint16_t d, uint16_t dmin, const uint8_t packed[12], int group, weight_group *g) {
    uint8_t scales[8], minima[8];
    unpack_scales_k4(packed, scales, minima);
    plain_group(g, f16_to_f32(d) * (float)scales[group]);
    set_minimum(g, -(f16_to_f32(dmin) * (float)minima[group]));
}

static void nibbles_k4(const uint8_t *q, int group, int code[32]) {
    for (int i = 0; i < 32; i++) code[i] = q[group / 2 * 32 + i] >> (group % 2 * 4) & 15;
}

void group_q4_k(const void *block, int group, weight_group *g) {
    auto *b = (const block_q4_K *)block;
    scale_minimum_k4(b->d, b->dmin, b->scales, group, g);
    nibbles_k4(b->q, group, g->code);
}

void group_q5_k(const void *block, int group, weight_group *g) {
    auto *b = (const block_q5_K *)block;
    scale_minimum_k4(b->d, b->dmin, b->scales, group, g);
    nibbles_k4(b->q, group, g->code);
    for (int i = 0; i < 32; i++) g->code[i] |= (b->high[i] >> group & 1) << 4;
}

void group_q6_k(const void *block, int group, weight_group *g) {
    auto *b = (const block_q6_K *)block;
    plain_group(g, f16_to_f32(b->d));
    int half = group / 4, j = group % 4;
    for (int i = 0; i < 32; i++) {
        int low = b->low[64 * half + 32 * (j % 2) + i] >> (j / 2 * 4) & 15;
        int high = b->high[32 * half + i] >> (2 * j) & 3;
        g->code[i] = (low | high << 4) - 32;
    }
    g->factor[0] = b->scales[2 * group];
    g->factor[1] = b->scales[2 * group + 1];
}

} // namespace llm

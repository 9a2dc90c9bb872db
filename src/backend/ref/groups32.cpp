// Groups of the formats of 32 values with one scale.
#include "backend/ref/groups.h"

namespace llm {

static void fifth_bits(const uint8_t high[4], int code[32]) {
    for (int i = 0; i < 32; i++) code[i] |= (high[i / 8] >> i % 8 & 1) << 4;
}

void group_q4_0(const void *block, int, weight_group *g) {
    auto *b = (const block_q4_0 *)block;
    plain_group(g, f16_to_f32(b->d));
    low_high_nibbles(b->q, g->code);
    for (int &code : g->code) code -= 8;
}

void group_q4_1(const void *block, int, weight_group *g) {
    auto *b = (const block_q4_1 *)block;
    plain_group(g, f16_to_f32(b->d));
    set_minimum(g, f16_to_f32(b->m));
    low_high_nibbles(b->q, g->code);
}

void group_q5_0(const void *block, int, weight_group *g) {
    auto *b = (const block_q5_0 *)block;
    plain_group(g, f16_to_f32(b->d));
    low_high_nibbles(b->q, g->code);
    fifth_bits(b->high, g->code);
    for (int &code : g->code) code -= 16;
}

void group_q5_1(const void *block, int, weight_group *g) {
    auto *b = (const block_q5_1 *)block;
    plain_group(g, f16_to_f32(b->d));
    set_minimum(g, f16_to_f32(b->m));
    low_high_nibbles(b->q, g->code);
    fifth_bits(b->high, g->code);
}

void group_q8_0(const void *block, int, weight_group *g) {
    auto *b = (const block_q8_0 *)block;
    plain_group(g, f16_to_f32(b->d));
    for (int i = 0; i < 32; i++) g->code[i] = b->q[i];
}

} // namespace llm

// Groups of the formats of two bits and less with one scale.
#include "backend/ref/groups.h"

namespace llm {

void group_q1_0(const void *block, int group, weight_group *g) {
    auto *b = (const block_q1_0 *)block;
    plain_group(g, f16_to_f32(b->d));
    for (int i = 0; i < 32; i++) g->code[i] = b->q[4 * group + i / 8] >> i % 8 & 1 ? 1 : -1;
}

void group_q2_0(const void *block, int group, weight_group *g) {
    auto *b = (const block_q2_0 *)block;
    plain_group(g, f16_to_f32(b->d));
    for (int i = 0; i < 32; i++) g->code[i] = (b->q[8 * group + i / 4] >> 2 * (i % 4) & 3) - 1;
}

void group_tq2_0(const void *block, int group, weight_group *g) {
    auto *b = (const block_tq2_0 *)block;
    plain_group(g, f16_to_f32(b->d));
    for (int i = 0; i < 32; i++) g->code[i] = (b->q[32 * (group / 4) + i] >> 2 * (group % 4) & 3) - 1;
}

void group_tq1_0(const void *block, int group, weight_group *g) {
    auto *b = (const block_tq1_0 *)block;
    plain_group(g, f16_to_f32(b->d));
    for (int i = 0; i < 32; i++) {
        int k = 32 * group + i;
        int digit = k < 160   ? trit(b->q[k % 32], k / 32)
                    : k < 240 ? trit(b->q[32 + k % 16], (k - 160) / 16)
                              : trit(b->last[k % 4], (k - 240) / 4);
        g->code[i] = digit - 1;
    }
}

} // namespace llm

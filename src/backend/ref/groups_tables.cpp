// Groups of the formats with tables.
#include "backend/ref/groups.h"
#include "quant/tables.h"

namespace llm {

static void look_up(const int8_t values[16], int code[32]) {
    for (int i = 0; i < 32; i++) code[i] = values[code[i]];
}

void group_iq4_nl(const void *block, int, weight_group *g) {
    auto *b = (const block_iq4_nl *)block;
    plain_group(g, f16_to_f32(b->d));
    low_high_nibbles(b->q, g->code);
    look_up(values_iq4, g->code);
}

void group_iq4_xs(const void *block, int group, weight_group *g) {
    auto *b = (const block_iq4_xs *)block;
    plain_group(g, f16_to_f32(b->d) * (float)scale_iq4_xs(b, group)); // exact
    low_high_nibbles(b->q + 16 * group, g->code);
    look_up(values_iq4, g->code);
}

void group_mxfp4(const void *block, int, weight_group *g) {
    auto *b = (const block_mxfp4 *)block;
    plain_group(g, mxfp4_scale(b->e));
    low_high_nibbles(b->q, g->code);
    look_up(values_fp4, g->code);
}

// A common integer sum would need factors up to 2^17 beside the values: the halves are added one after the other.
void group_nvfp4(const void *block, int group, weight_group *g) {
    auto *b = (const block_nvfp4 *)block;
    plain_group(g, 0);
    g->apart = true;
    for (int half = 0; half < 2; half++) {
        const uint8_t *q = b->q + 16 * group + 8 * half;
        g->d[half] = nvfp4_scale(b->d[2 * group + half]);
        for (int i = 0; i < 8; i++) {
            g->code[16 * half + i] = q[i] & 15;
            g->code[16 * half + 8 + i] = q[i] >> 4;
        }
    }
    look_up(values_fp4, g->code);
}

} // namespace llm

// The blocks of a file as the contract sees them (CONTRACT.md section 4): groups of 32 neighbouring weights.
#pragma once
#include "quant/blocks.h"
#include "quant/format.h"

namespace llm {

// value[k] = d[k / 16] * factor[k / 16] * code[k] + what the minimum says.
struct weight_group {
    int code[32];
    int factor[2];
    float d[2];
    bool apart; // d[0] and d[1] may differ, and each half is a step of the sum by itself
    enum { NO_MINIMUM, ONE_MINIMUM, TWO_MINIMA } minima;
    float minimum; // ONE_MINIMUM: of all 32; TWO_MINIMA: times minimum_factor[k / 16]
    int minimum_factor[2];
};

typedef void group_decoder(const void *block, int group, weight_group *out);
group_decoder *find_group_decoder(format_id format); // NULL: the backend cannot compute with the format

// One scale for all 32, no minimum.
inline void plain_group(weight_group *g, float d) {
    *g = weight_group();
    g->factor[0] = g->factor[1] = 1;
    g->d[0] = g->d[1] = d;
}

inline void set_minimum(weight_group *g, float minimum) {
    g->minima = weight_group::ONE_MINIMUM;
    g->minimum = minimum;
}

inline void low_high_nibbles(const uint8_t q[16], int code[32]) {
    for (int i = 0; i < 16; i++) {
        code[i] = q[i] & 15;
        code[16 + i] = q[i] >> 4;
    }
}

// groups32.cpp
group_decoder group_q4_0, group_q4_1, group_q5_0, group_q5_1, group_q8_0;
// groups_k.cpp
group_decoder group_q2_k, group_q3_k, group_q4_k, group_q5_k, group_q6_k;
// groups_tables.cpp
group_decoder group_iq4_nl, group_iq4_xs, group_mxfp4, group_nvfp4;
// groups_grids.cpp
group_decoder group_iq2_xxs, group_iq2_xs, group_iq2_s, group_iq3_xxs, group_iq3_s, group_iq1_s, group_iq1_m;
// groups_ternary.cpp
group_decoder group_q1_0, group_q2_0, group_tq1_0, group_tq2_0;

} // namespace llm

// Groups of the grid formats.
#include "backend/ref/groups.h"
#include "quant/grids.h"

namespace llm {

static void group_of(const grid_format &f, const grid_group &from, weight_group *g) {
    const float d = f16_to_f32(from.d) * f.unit;
    const int factors[2] = {2 * from.s[0] + 1, 2 * from.s[1] + 1};
    plain_group(g, f.halves ? d : d * (float)factors[0]);
    for (int half = 0; half < 2 && f.halves; half++) g->factor[half] = factors[half];
    for (uint32_t k = 0; k < 32; k++) g->code[k] = grid_value(f, from, k);
}

#define GRID_FORMAT(name)                                                                                              \
    void group_##name(const void *block, int group, weight_group *g) {                                                 \
        grid_group from;                                                                                               \
        unpack_##name(block, group, &from);                                                                            \
        group_of(format_##name, from, g);                                                                              \
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

// The kernels of a tier. A tier's file includes its vector layer (struct V) and then this. See kernels.h.
#include <math.h>

#include "backend/cpu/body_panels.inl"
#include "backend/cpu/body_rows.inl"
#include "backend/cpu/body_attention.inl"
#include "backend/cpu/body_peak.inl"

namespace llm {
namespace {

#define DOT_KERNELS(name, kernel) PER_TOKENS(kernel::run),
#define CPU_KERNELS                                                                                                    \
    {                                                                                                                  \
        {LLM_PANEL_KINDS(DOT_KERNELS)}, finish_linear, glu, activate, add, quantise, norm, rotate_neighbours,          \
            rotate_halves, to_f16, to_f32, from_f16, widen_values, attend_tile, attend_merge, attend_finish, dots                    \
    }

#define CPU_FLOAT_KERNELS                                                                                              \
    {                                                                                                                  \
        {PER_TOKENS(dot_floats<of_f32>::run), PER_TOKENS(dot_floats<of_f16>::run),                                     \
         PER_TOKENS(dot_floats<of_bf16>::run)},                                                                        \
        {                                                                                                              \
            PER_TOKENS(values<f32_values>::run), PER_TOKENS(values<f16_values>::run),                                  \
                PER_TOKENS(values<q8_0_values>::run), PER_TOKENS(values<q4_0_values>::run)                             \
        },                                                                                                             \
            finish_linear, glu, activate, norm                                                                         \
    }

} // namespace
} // namespace llm

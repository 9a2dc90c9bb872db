#include "backend/ref/groups.h"

namespace llm {

// clang-format off
static const struct {
    format_id format;
    group_decoder *decode;
} decoders[] = {
    {FORMAT_Q4_0,   group_q4_0},   {FORMAT_Q4_1,   group_q4_1},   {FORMAT_Q5_0,  group_q5_0},
    {FORMAT_Q5_1,   group_q5_1},   {FORMAT_Q8_0,   group_q8_0},
    {FORMAT_Q2_K,   group_q2_k},   {FORMAT_Q3_K,   group_q3_k},   {FORMAT_Q4_K,  group_q4_k},
    {FORMAT_Q5_K,   group_q5_k},   {FORMAT_Q6_K,   group_q6_k},
    {FORMAT_IQ4_NL, group_iq4_nl}, {FORMAT_IQ4_XS, group_iq4_xs}, {FORMAT_MXFP4, group_mxfp4},
    {FORMAT_NVFP4,  group_nvfp4},
    {FORMAT_Q1_0,   group_q1_0},   {FORMAT_Q2_0,   group_q2_0},   {FORMAT_TQ1_0, group_tq1_0},
    {FORMAT_TQ2_0,  group_tq2_0},
    {FORMAT_IQ2_XXS, group_iq2_xxs}, {FORMAT_IQ2_XS, group_iq2_xs}, {FORMAT_IQ2_S, group_iq2_s},
    {FORMAT_IQ3_XXS, group_iq3_xxs}, {FORMAT_IQ3_S,  group_iq3_s},
    {FORMAT_IQ1_S,   group_iq1_s},   {FORMAT_IQ1_M,  group_iq1_m},
};
// clang-format on

group_decoder *find_group_decoder(format_id format) {
    for (const auto &d : decoders)
        if (d.format == format) return d.decode;
    return nullptr;
}

} // namespace llm

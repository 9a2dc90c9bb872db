// The kinds of weight panels, a row each: name and kernel (body_matmul.inl over a policy of body_codes_*.inl). Formats
// and layouts: panel.h.
#pragma once

// clang-format off
#define LLM_PANEL_KINDS(ROW) \
    ROW(F32,    dot_floats<of_f32>) \
    ROW(F16,    dot_floats<of_f16>) \
    ROW(BF16,   dot_floats<of_bf16>) \
    ROW(Q4_0,   dot_blocks<codes_q4_0>) \
    ROW(Q4_1,   dot_blocks<codes_q4_1>) \
    ROW(Q5_0,   dot_blocks<codes_q5_0>) \
    ROW(Q5_1,   dot_blocks<codes_q5_1>) \
    ROW(Q8_0,   dot_blocks<codes_q8_0>) \
    ROW(Q2_K,   dot_blocks<codes_q2_k>) \
    ROW(Q3_K,   dot_blocks<codes_q3_k>) \
    ROW(Q4_K,   dot_blocks<codes_q4_k>) \
    ROW(Q5_K,   dot_blocks<codes_q5_k>) \
    ROW(Q6_K,   dot_blocks<codes_q6_k>) \
    ROW(IQ4_NL, dot_blocks<codes_iq4_nl>) \
    ROW(IQ4_XS, dot_blocks<codes_iq4_xs>) \
    ROW(MXFP4,  dot_blocks<codes_mxfp4>) \
    ROW(NVFP4,  dot_blocks<codes_nvfp4>) \
    ROW(Q1_0,   dot_blocks<codes_q1_0>) \
    ROW(Q2_0,   dot_blocks<codes_q2_0>) \
    ROW(TQ1_0,  dot_blocks<codes_tq1_0>) \
    ROW(TQ2_0,  dot_blocks<codes_tq2_0>) \
    ROW(IQ2_XXS, dot_blocks<codes_iq2_xxs>) \
    ROW(IQ2_XS, dot_blocks<codes_iq2_xs>) \
    ROW(IQ2_S, dot_blocks<codes_iq2_s>) \
    ROW(IQ3_XXS, dot_blocks<codes_iq3_xxs>) \
    ROW(IQ3_S, dot_blocks<codes_iq3_s>) \
    ROW(IQ1_S, dot_blocks<codes_iq1_s>) \
    ROW(IQ1_M, dot_blocks<codes_iq1_m>)
// clang-format on

#include "quant/format.h"
#include "quant/rows.h"

namespace llm {

// What this build can do with a format: all, all but quantise, or list it.
#define NUMBERS(name) dequantise_##name, quantise_##name, nullptr
#define BLOCKS(name) dequantise_##name, quantise_##name, set_scales_##name
#define READ_ONLY(name) dequantise_##name, nullptr, set_scales_##name
#define LISTED nullptr, nullptr, nullptr

// clang-format off
static const block_format TABLE[] = {
    // id             name     values bytes quantised
    {FORMAT_F32,     "F32",       1,   4, false, NUMBERS(f32)},
    {FORMAT_F16,     "F16",       1,   2, false, NUMBERS(f16)},
    {FORMAT_Q4_0,    "Q4_0",     32,  18, true,  BLOCKS(q4_0)},
    {FORMAT_Q4_1,    "Q4_1",     32,  20, true,  BLOCKS(q4_1)},
    {FORMAT_Q5_0,    "Q5_0",     32,  22, true,  BLOCKS(q5_0)},
    {FORMAT_Q5_1,    "Q5_1",     32,  24, true,  BLOCKS(q5_1)},
    {FORMAT_Q8_0,    "Q8_0",     32,  34, true,  BLOCKS(q8_0)},
    {FORMAT_Q2_K,    "Q2_K",    256,  84, true,  READ_ONLY(q2_k)},
    {FORMAT_Q3_K,    "Q3_K",    256, 110, true,  READ_ONLY(q3_k)},
    {FORMAT_Q4_K,    "Q4_K",    256, 144, true,  BLOCKS(q4_k)},
    {FORMAT_Q5_K,    "Q5_K",    256, 176, true,  BLOCKS(q5_k)},
    {FORMAT_Q6_K,    "Q6_K",    256, 210, true,  BLOCKS(q6_k)},
    {FORMAT_IQ2_XXS, "IQ2_XXS", 256,  66, true,  READ_ONLY(iq2_xxs)},
    {FORMAT_IQ2_XS,  "IQ2_XS",  256,  74, true,  READ_ONLY(iq2_xs)},
    {FORMAT_IQ3_XXS, "IQ3_XXS", 256,  98, true,  READ_ONLY(iq3_xxs)},
    {FORMAT_IQ1_S,   "IQ1_S",   256,  50, true,  READ_ONLY(iq1_s)},
    {FORMAT_IQ4_NL,  "IQ4_NL",   32,  18, true,  READ_ONLY(iq4_nl)},
    {FORMAT_IQ3_S,   "IQ3_S",   256, 110, true,  READ_ONLY(iq3_s)},
    {FORMAT_IQ2_S,   "IQ2_S",   256,  82, true,  READ_ONLY(iq2_s)},
    {FORMAT_IQ4_XS,  "IQ4_XS",  256, 136, true,  READ_ONLY(iq4_xs)},
    {FORMAT_I8,      "I8",        1,   1, false, LISTED},
    {FORMAT_I16,     "I16",       1,   2, false, LISTED},
    {FORMAT_I32,     "I32",       1,   4, false, LISTED},
    {FORMAT_I64,     "I64",       1,   8, false, LISTED},
    {FORMAT_F64,     "F64",       1,   8, false, LISTED},
    {FORMAT_IQ1_M,   "IQ1_M",   256,  56, true,  READ_ONLY(iq1_m)},
    {FORMAT_BF16,    "BF16",      1,   2, false, NUMBERS(bf16)},
    {FORMAT_TQ1_0,   "TQ1_0",   256,  54, true,  READ_ONLY(tq1_0)},
    {FORMAT_TQ2_0,   "TQ2_0",   256,  66, true,  READ_ONLY(tq2_0)},
    {FORMAT_MXFP4,   "MXFP4",    32,  17, true,  READ_ONLY(mxfp4)},
    {FORMAT_NVFP4,   "NVFP4",    64,  36, true,  READ_ONLY(nvfp4)},
    {FORMAT_Q1_0,    "Q1_0",    128,  18, true,  READ_ONLY(q1_0)},
    {FORMAT_Q2_0,    "Q2_0",     64,  18, true,  READ_ONLY(q2_0)},
    {FORMAT_F32,     nullptr,     0,   0, false, LISTED},
};
// clang-format on
static const size_t N_FORMATS = sizeof TABLE / sizeof TABLE[0] - 1;

const block_format *format_table(size_t *count) {
    if (count) *count = N_FORMATS;
    return TABLE;
}

const block_format *format_by_id(uint32_t id) {
    for (size_t i = 0; i < N_FORMATS; i++)
        if (TABLE[i].id == id) return &TABLE[i];
    return nullptr;
}

static char upper(char c) { return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c; }

bool equal_ignoring_case(const char *a, const char *b) {
    while (*a && upper(*a) == upper(*b)) a++, b++;
    return upper(*a) == upper(*b);
}

const block_format *format_by_name(const char *name) {
    for (size_t i = 0; name && i < N_FORMATS; i++)
        if (equal_ignoring_case(TABLE[i].name, name)) return &TABLE[i];
    return nullptr;
}

} // namespace llm

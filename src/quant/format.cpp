#include "quant/format.h"
#include "quant/rows.h"

namespace llm {

// clang-format off
static const block_format TABLE[] = {
    // id            name      values bytes quantised
    {FORMAT_F32,     "F32",      1,   4, false, dequantise_f32,  quantise_f32},
    {FORMAT_F16,     "F16",      1,   2, false, dequantise_f16,  quantise_f16},
    {FORMAT_Q4_0,    "Q4_0",    32,  18, true,  dequantise_q4_0, quantise_q4_0},
    {FORMAT_Q4_1,    "Q4_1",    32,  20, true,  dequantise_q4_1, quantise_q4_1},
    {FORMAT_Q5_0,    "Q5_0",    32,  22, true,  dequantise_q5_0, quantise_q5_0},
    {FORMAT_Q5_1,    "Q5_1",    32,  24, true,  dequantise_q5_1, quantise_q5_1},
    {FORMAT_Q8_0,    "Q8_0",    32,  34, true,  dequantise_q8_0, quantise_q8_0},
    {FORMAT_Q2_K,    "Q2_K",   256,  84, true,  nullptr,         nullptr},
    {FORMAT_Q3_K,    "Q3_K",   256, 110, true,  nullptr,         nullptr},
    {FORMAT_Q4_K,    "Q4_K",   256, 144, true,  dequantise_q4_k, quantise_q4_k},
    {FORMAT_Q5_K,    "Q5_K",   256, 176, true,  dequantise_q5_k, quantise_q5_k},
    {FORMAT_Q6_K,    "Q6_K",   256, 210, true,  dequantise_q6_k, quantise_q6_k},
    {FORMAT_IQ2_XXS, "IQ2_XXS",256,  66, true,  nullptr,         nullptr},
    {FORMAT_IQ2_XS,  "IQ2_XS", 256,  74, true,  nullptr,         nullptr},
    {FORMAT_IQ3_XXS, "IQ3_XXS",256,  98, true,  nullptr,         nullptr},
    {FORMAT_IQ1_S,   "IQ1_S",  256,  50, true,  nullptr,         nullptr},
    {FORMAT_IQ4_NL,  "IQ4_NL",  32,  18, true,  nullptr,         nullptr},
    {FORMAT_IQ3_S,   "IQ3_S",  256, 110, true,  nullptr,         nullptr},
    {FORMAT_IQ2_S,   "IQ2_S",  256,  82, true,  nullptr,         nullptr},
    {FORMAT_IQ4_XS,  "IQ4_XS", 256, 136, true,  nullptr,         nullptr},
    {FORMAT_I8,      "I8",       1,   1, false, nullptr,         nullptr},
    {FORMAT_I16,     "I16",      1,   2, false, nullptr,         nullptr},
    {FORMAT_I32,     "I32",      1,   4, false, nullptr,         nullptr},
    {FORMAT_I64,     "I64",      1,   8, false, nullptr,         nullptr},
    {FORMAT_F64,     "F64",      1,   8, false, nullptr,         nullptr},
    {FORMAT_IQ1_M,   "IQ1_M",  256,  56, true,  nullptr,         nullptr},
    {FORMAT_BF16,    "BF16",     1,   2, false, dequantise_bf16, quantise_bf16},
    {FORMAT_TQ1_0,   "TQ1_0",  256,  54, true,  nullptr,         nullptr},
    {FORMAT_TQ2_0,   "TQ2_0",  256,  66, true,  nullptr,         nullptr},
    {FORMAT_MXFP4,   "MXFP4",   32,  17, true,  nullptr,         nullptr},
    {FORMAT_NVFP4,   "NVFP4",   64,  36, true,  nullptr,         nullptr},
    {FORMAT_Q1_0,    "Q1_0",   128,  18, true,  nullptr,         nullptr},
    {FORMAT_Q2_0,    "Q2_0",    64,  18, true,  nullptr,         nullptr},
    {FORMAT_F32,     nullptr,    0,   0, false, nullptr,         nullptr},
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

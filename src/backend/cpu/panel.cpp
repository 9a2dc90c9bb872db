#include "backend/cpu/panel.h"
#include "backend/cpu/panel_parts.h"

namespace llm {
namespace {

// Plain floats: a unit is one column.
template <class T> void pack_floats(const uint8_t *rows, size_t cols, uint32_t n_rows, uint8_t *panel) {
    for (size_t k = 0; k < cols; k++)
        for (uint32_t r = 0; r < n_rows; r++)
            memcpy(panel + (PANEL_ROWS * k + r) * sizeof(T), rows + (r * cols + k) * sizeof(T), sizeof(T));
}
void get_f32(const uint8_t *unit, uint32_t row, float *out) { memcpy(out, unit + 4 * row, 4); }
void get_f16(const uint8_t *unit, uint32_t row, float *out) { *out = get_half(unit, row); }
void get_bf16(const uint8_t *unit, uint32_t row, float *out) {
    uint16_t h;
    memcpy(&h, unit + 2 * row, 2);
    *out = bf16_to_f32(h);
}

// clang-format off
const panel_layout layouts[] = {
    {FORMAT_F32,    PANEL_F32,      1,   64, nullptr,    get_f32},
    {FORMAT_F16,    PANEL_F16,      1,   32, nullptr,    get_f16},
    {FORMAT_BF16,   PANEL_BF16,     1,   32, nullptr,    get_bf16},
    {FORMAT_Q4_0,   PANEL_Q4_0,    32,  288, put_q4_0,   get_q4_0},
    {FORMAT_Q4_1,   PANEL_Q4_1,    32,  320, put_q4_1,   get_q4_1},
    {FORMAT_Q5_0,   PANEL_Q5_0,    32,  352, put_q5_0,   get_q5_0},
    {FORMAT_Q5_1,   PANEL_Q5_1,    32,  384, put_q5_1,   get_q5_1},
    {FORMAT_Q8_0,   PANEL_Q8_0,    32,  544, put_q8_0,   get_q8_0},
    {FORMAT_Q2_K,   PANEL_Q2_K,   256, 1344, put_q2_k,   get_q2_k},
    {FORMAT_Q3_K,   PANEL_Q3_K,   256, 1824, put_q3_k,   get_q3_k},
    {FORMAT_Q4_K,   PANEL_Q4_K,   256, 2368, put_q4_k,   get_q4_k},
    {FORMAT_Q5_K,   PANEL_Q5_K,   256, 2880, put_q5_k,   get_q5_k},
    {FORMAT_Q6_K,   PANEL_Q6_K,   256, 3360, put_q6_k,   get_q6_k},
    {FORMAT_IQ4_NL, PANEL_IQ4_NL,  32,  288, put_iq4_nl, get_iq4_nl},
    {FORMAT_IQ4_XS, PANEL_IQ4_XS, 256, 2208, put_iq4_xs, get_iq4_xs},
    {FORMAT_MXFP4,  PANEL_MXFP4,   32,  272, put_mxfp4,  get_mxfp4},
    {FORMAT_NVFP4,  PANEL_NVFP4,   64,  576, put_nvfp4,  get_nvfp4},
    {FORMAT_Q1_0,   PANEL_Q1_0,   128,  288, put_q1_0,   get_q1_0},
    {FORMAT_Q2_0,   PANEL_Q2_0,    64,  288, put_q2_0,   get_q2_0},
    {FORMAT_TQ1_0,  PANEL_TQ1_0,  256,  928, put_tq1_0,  get_tq1_0},
    {FORMAT_TQ2_0,  PANEL_TQ2_0,  256, 1056, put_tq2_0,  get_tq2_0},
    {FORMAT_IQ2_XXS, PANEL_IQ2_XXS, 256, 1120, put_iq2_xxs, get_iq2_xxs},
    {FORMAT_IQ2_XS, PANEL_IQ2_XS, 256, 1248, put_iq2_xs, get_iq2_xs},
    {FORMAT_IQ2_S, PANEL_IQ2_S, 256, 1312, put_iq2_s, get_iq2_s},
    {FORMAT_IQ3_XXS, PANEL_IQ3_XXS, 256, 1632, put_iq3_xxs, get_iq3_xxs},
    {FORMAT_IQ3_S, PANEL_IQ3_S, 256, 1760, put_iq3_s, get_iq3_s},
    {FORMAT_IQ1_S, PANEL_IQ1_S, 256, 800, put_iq1_s, get_iq1_s},
    {FORMAT_IQ1_M, PANEL_IQ1_M, 256, 928, put_iq1_m, get_iq1_m},
};
// clang-format on

} // namespace

const panel_layout *panel_layout_of(const block_format *format) {
    for (const panel_layout &p : layouts)
        if (p.format == format->id) return &p;
    return nullptr;
}

void panel_pack(const panel_layout *p, const block_format *format, uint64_t cols, uint32_t n_rows,
                const void *file_rows, uint8_t *panel) {
    if (n_rows < PANEL_ROWS) memset(panel, 0, panel_bytes(p, cols));
    const uint8_t *rows = static_cast<const uint8_t *>(file_rows);
    if (p->kind == PANEL_F32) return pack_floats<uint32_t>(rows, cols, n_rows, panel);
    if (p->unit_cols == 1) return pack_floats<uint16_t>(rows, cols, n_rows, panel);
    const size_t row_bytes = format_bytes(format, cols), n_units = cols / p->unit_cols;
    // Units outside, rows inside: the panel is written once in order, and 16 streams are read.
    for (size_t unit = 0; unit < n_units; unit++)
        for (uint32_t r = 0; r < n_rows; r++)
            p->put(rows + r * row_bytes + unit * format->block_bytes, panel + unit * p->unit_bytes, r);
}

void panel_row(const panel_layout *p, const void *matrix, uint64_t cols, uint64_t row, float *out) {
    const uint8_t *panel = static_cast<const uint8_t *>(matrix) + row / PANEL_ROWS * panel_bytes(p, cols);
    for (size_t unit = 0; unit < cols / p->unit_cols; unit++)
        p->get(panel + unit * p->unit_bytes, uint32_t(row % PANEL_ROWS), out + unit * p->unit_cols);
}

} // namespace llm

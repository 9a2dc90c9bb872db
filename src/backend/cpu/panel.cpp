#include "backend/cpu/panel.h"
#include "quant/blocks.h"
#include <string.h>

namespace llm {
namespace {

// Codes of 32 values as 8 words: byte i of word j is the code of value 4 j + i. Working on four codes at a time packs
// about as fast as memory is written; a loop over single codes was the slowest part of loading a model.
struct codes32 {
    uint32_t w[8];
};
constexpr uint32_t NIBBLES = 0x0f0f0f0f, PAIRS = 0x03030303, BITS = 0x01010101;
constexpr size_t NIBBLE_BLOCK = 256, BIT_BLOCK = 64, PAIR_BLOCK = 128;

uint32_t load32(const void *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}
void store32(void *p, uint32_t v) { memcpy(p, &v, 4); }

void put_half(uint8_t *at, uint32_t row, uint16_t h) { memcpy(at + 2 * row, &h, 2); }
float get_half(const uint8_t *at, uint32_t row) {
    uint16_t h;
    memcpy(&h, at + 2 * row, 2);
    return f16_to_f32(h);
}

void put_nibbles(uint8_t *block, uint32_t row, const codes32 &c) {
    for (int j = 0; j < 4; j++) store32(block + 64 * j + 4 * row, (c.w[j] & NIBBLES) | (c.w[4 + j] & NIBBLES) << 4);
}
codes32 get_nibbles(const uint8_t *block, uint32_t row) {
    codes32 c;
    for (int j = 0; j < 4; j++) {
        uint32_t v = load32(block + 64 * j + 4 * row);
        c.w[j] = v & NIBBLES;
        c.w[4 + j] = v >> 4 & NIBBLES;
    }
    return c;
}

// Bit 4 of every code.
void put_bits(uint8_t *block, uint32_t row, const codes32 &c) {
    uint32_t v = 0;
    for (int j = 0; j < 8; j++) v |= (c.w[j] >> 4 & BITS) << j;
    store32(block + 4 * row, v);
}
void get_bits(const uint8_t *block, uint32_t row, codes32 *c) {
    uint32_t v = load32(block + 4 * row);
    for (int j = 0; j < 8; j++) c->w[j] |= (v >> j & BITS) << 4;
}

// Bits 4 and 5 of every code.
void put_pairs(uint8_t *block, uint32_t row, const codes32 &c) {
    for (int h = 0; h < 2; h++) {
        uint32_t v = 0;
        for (int j = 0; j < 4; j++) v |= (c.w[4 * h + j] >> 4 & PAIRS) << 2 * j;
        store32(block + 64 * h + 4 * row, v);
    }
}
void get_pairs(const uint8_t *block, uint32_t row, codes32 *c) {
    for (int h = 0; h < 2; h++) {
        uint32_t v = load32(block + 64 * h + 4 * row);
        for (int j = 0; j < 4; j++) c->w[4 * h + j] |= (v >> 2 * j & PAIRS) << 4;
    }
}

// value = scale * (code - offset) + minimum, the product being exact. A format without a minimum passes -0, which
// leaves every value, -0 too, as it is.
void numbers(const codes32 &c, float scale, int offset, float minimum, float *out) {
    for (int k = 0; k < 32; k++) {
        int code = int(c.w[k / 4] >> 8 * (k % 4) & 255) - offset;
        out[k] = scale * float(code) + minimum;
    }
}

// ---- plain floats: a unit is one column ----

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

// ---- 32 values per block ----

// 16 bytes of a file's nibbles are already in the order of a nibble block.
codes32 file_nibbles(const uint8_t q[16]) {
    codes32 c;
    for (int j = 0; j < 4; j++) {
        uint32_t v = load32(q + 4 * j);
        c.w[j] = v & NIBBLES;
        c.w[4 + j] = v >> 4 & NIBBLES;
    }
    return c;
}
// The fifth bits of a file: bit k of a word belongs to value k. Spreads four of them to bit 4 of four bytes.
void add_file_bits(const uint8_t high[4], codes32 *c) {
    uint32_t v = load32(high);
    for (int j = 0; j < 8; j++) {
        uint32_t four = v >> 4 * j & 15;
        c->w[j] |= ((four | four << 7 | four << 14 | four << 21) & BITS) << 4;
    }
}

void put_q4_0(const void *block, uint8_t *unit, uint32_t row) {
    const block_q4_0 *b = static_cast<const block_q4_0 *>(block);
    put_half(unit, row, b->d);
    put_nibbles(unit + 32, row, file_nibbles(b->q));
}
void get_q4_0(const uint8_t *unit, uint32_t row, float *out) {
    numbers(get_nibbles(unit + 32, row), get_half(unit, row), 8, -0.0f, out);
}

void put_q4_1(const void *block, uint8_t *unit, uint32_t row) {
    const block_q4_1 *b = static_cast<const block_q4_1 *>(block);
    put_half(unit, row, b->d);
    put_half(unit + 32, row, b->m);
    put_nibbles(unit + 64, row, file_nibbles(b->q));
}
void get_q4_1(const uint8_t *unit, uint32_t row, float *out) {
    numbers(get_nibbles(unit + 64, row), get_half(unit, row), 0, get_half(unit + 32, row), out);
}

void put_q5_0(const void *block, uint8_t *unit, uint32_t row) {
    const block_q5_0 *b = static_cast<const block_q5_0 *>(block);
    codes32 c = file_nibbles(b->q);
    add_file_bits(b->high, &c);
    put_half(unit, row, b->d);
    put_nibbles(unit + 32, row, c);
    put_bits(unit + 32 + NIBBLE_BLOCK, row, c);
}
void get_q5_0(const uint8_t *unit, uint32_t row, float *out) {
    codes32 c = get_nibbles(unit + 32, row);
    get_bits(unit + 32 + NIBBLE_BLOCK, row, &c);
    numbers(c, get_half(unit, row), 16, -0.0f, out);
}

void put_q5_1(const void *block, uint8_t *unit, uint32_t row) {
    const block_q5_1 *b = static_cast<const block_q5_1 *>(block);
    codes32 c = file_nibbles(b->q);
    add_file_bits(b->high, &c);
    put_half(unit, row, b->d);
    put_half(unit + 32, row, b->m);
    put_nibbles(unit + 64, row, c);
    put_bits(unit + 64 + NIBBLE_BLOCK, row, c);
}
void get_q5_1(const uint8_t *unit, uint32_t row, float *out) {
    codes32 c = get_nibbles(unit + 64, row);
    get_bits(unit + 64 + NIBBLE_BLOCK, row, &c);
    numbers(c, get_half(unit, row), 0, get_half(unit + 32, row), out);
}

void put_q8_0(const void *block, uint8_t *unit, uint32_t row) {
    const block_q8_0 *b = static_cast<const block_q8_0 *>(block);
    put_half(unit, row, b->d);
    for (int j = 0; j < 8; j++) memcpy(unit + 32 + 64 * j + 4 * row, b->q + 4 * j, 4);
}
void get_q8_0(const uint8_t *unit, uint32_t row, float *out) {
    float d = get_half(unit, row);
    const int8_t *q = reinterpret_cast<const int8_t *>(unit) + 32 + 4 * row;
    for (int k = 0; k < 32; k++) out[k] = d * float(q[64 * (k / 4) + k % 4]);
}

// ---- 256 values per block: eight blocks of 32 with scales of their own ----

// Codes of group g of Q4_K and Q5_K: nibbles g % 2 of 32 bytes.
codes32 file_group_k4(const uint8_t *q, int g) {
    codes32 c;
    for (int j = 0; j < 8; j++) c.w[j] = load32(q + 32 * (g / 2) + 4 * j) >> 4 * (g % 2) & NIBBLES;
    return c;
}

void put_scales_k4(const uint8_t packed[12], uint16_t d, uint16_t dmin, uint8_t *unit, uint32_t row) {
    uint8_t scales[8], minima[8];
    unpack_scales_k4(packed, scales, minima);
    put_half(unit, row, d);
    put_half(unit + 32, row, dmin);
    for (int g = 0; g < 8; g++) {
        unit[64 + 16 * g + row] = scales[g];
        unit[192 + 16 * g + row] = minima[g];
    }
}
void numbers_k4(const codes32 &c, const uint8_t *unit, uint32_t row, int g, float *out) {
    float scale = get_half(unit, row) * float(unit[64 + 16 * g + row]);
    float minimum = get_half(unit + 32, row) * float(unit[192 + 16 * g + row]);
    numbers(c, scale, 0, -minimum, out);
}

void put_q4_k(const void *block, uint8_t *unit, uint32_t row) {
    const block_q4_K *b = static_cast<const block_q4_K *>(block);
    put_scales_k4(b->scales, b->d, b->dmin, unit, row);
    for (int g = 0; g < 8; g++) put_nibbles(unit + 320 + NIBBLE_BLOCK * g, row, file_group_k4(b->q, g));
}
void get_q4_k(const uint8_t *unit, uint32_t row, float *out) {
    for (int g = 0; g < 8; g++) numbers_k4(get_nibbles(unit + 320 + NIBBLE_BLOCK * g, row), unit, row, g, out + 32 * g);
}

void put_q5_k(const void *block, uint8_t *unit, uint32_t row) {
    const block_q5_K *b = static_cast<const block_q5_K *>(block);
    put_scales_k4(b->scales, b->d, b->dmin, unit, row);
    for (int g = 0; g < 8; g++) {
        uint8_t *at = unit + 320 + (NIBBLE_BLOCK + BIT_BLOCK) * g;
        codes32 c = file_group_k4(b->q, g);
        for (int j = 0; j < 8; j++) c.w[j] |= (load32(b->high + 4 * j) >> g & BITS) << 4;
        put_nibbles(at, row, c);
        put_bits(at + NIBBLE_BLOCK, row, c);
    }
}
void get_q5_k(const uint8_t *unit, uint32_t row, float *out) {
    for (int g = 0; g < 8; g++) {
        const uint8_t *at = unit + 320 + (NIBBLE_BLOCK + BIT_BLOCK) * g;
        codes32 c = get_nibbles(at, row);
        get_bits(at + NIBBLE_BLOCK, row, &c);
        numbers_k4(c, unit, row, g, out + 32 * g);
    }
}

// Values 32 g .. of a Q6_K block: see block_q6_K.
codes32 file_group_q6(const block_q6_K *b, int g) {
    int half = g / 4, j = g % 4;
    const uint8_t *low = b->low + 64 * half + 32 * (j % 2), *high = b->high + 32 * half;
    codes32 c;
    for (int i = 0; i < 8; i++)
        c.w[i] = (load32(low + 4 * i) >> 4 * (j / 2) & NIBBLES) | (load32(high + 4 * i) >> 2 * j & PAIRS) << 4;
    return c;
}
constexpr size_t Q6_CODES = 32 + 256, Q6_GROUP = NIBBLE_BLOCK + PAIR_BLOCK;

void put_q6_k(const void *block, uint8_t *unit, uint32_t row) {
    const block_q6_K *b = static_cast<const block_q6_K *>(block);
    put_half(unit, row, b->d);
    for (int s = 0; s < 16; s++) unit[32 + 16 * s + row] = uint8_t(b->scales[s]);
    for (int g = 0; g < 8; g++) {
        uint8_t *at = unit + Q6_CODES + Q6_GROUP * g;
        codes32 c = file_group_q6(b, g);
        put_nibbles(at, row, c);
        put_pairs(at + NIBBLE_BLOCK, row, c);
    }
}
void get_q6_k(const uint8_t *unit, uint32_t row, float *out) {
    float d = get_half(unit, row);
    for (int g = 0; g < 8; g++) {
        const uint8_t *at = unit + Q6_CODES + Q6_GROUP * g;
        codes32 c = get_nibbles(at, row);
        get_pairs(at + NIBBLE_BLOCK, row, &c);
        for (int k = 0; k < 32; k++) {
            int code = int(c.w[k / 4] >> 8 * (k % 4) & 255) - 32;
            out[32 * g + k] = d * float(int8_t(unit[32 + 16 * (2 * g + k / 16) + row])) * float(code);
        }
    }
}

// clang-format off
const panel_layout layouts[] = {
    {FORMAT_F32,  PANEL_F32,    1,   64, nullptr,  get_f32},
    {FORMAT_F16,  PANEL_F16,    1,   32, nullptr,  get_f16},
    {FORMAT_BF16, PANEL_BF16,   1,   32, nullptr,  get_bf16},
    {FORMAT_Q4_0, PANEL_Q4_0,  32,  288, put_q4_0, get_q4_0},
    {FORMAT_Q4_1, PANEL_Q4_1,  32,  320, put_q4_1, get_q4_1},
    {FORMAT_Q5_0, PANEL_Q5_0,  32,  352, put_q5_0, get_q5_0},
    {FORMAT_Q5_1, PANEL_Q5_1,  32,  384, put_q5_1, get_q5_1},
    {FORMAT_Q8_0, PANEL_Q8_0,  32,  544, put_q8_0, get_q8_0},
    {FORMAT_Q4_K, PANEL_Q4_K, 256, 2368, put_q4_k, get_q4_k},
    {FORMAT_Q5_K, PANEL_Q5_K, 256, 2880, put_q5_k, get_q5_k},
    {FORMAT_Q6_K, PANEL_Q6_K, 256, 3360, put_q6_k, get_q6_k},
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

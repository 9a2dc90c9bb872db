// Panels of the formats of 32 values with one scale.
#include "backend/cpu/panel_parts.h"
#include "quant/blocks.h"

namespace llm {

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
    add_file_bits(b->high, &c, 4);
    put_half(unit, row, b->d);
    put_nibbles(unit + 32, row, c);
    put_bits(unit + 32 + NIBBLE_BLOCK, row, c, 4);
}
void get_q5_0(const uint8_t *unit, uint32_t row, float *out) {
    codes32 c = get_nibbles(unit + 32, row);
    get_bits(unit + 32 + NIBBLE_BLOCK, row, &c, 4);
    numbers(c, get_half(unit, row), 16, -0.0f, out);
}

void put_q5_1(const void *block, uint8_t *unit, uint32_t row) {
    const block_q5_1 *b = static_cast<const block_q5_1 *>(block);
    codes32 c = file_nibbles(b->q);
    add_file_bits(b->high, &c, 4);
    put_half(unit, row, b->d);
    put_half(unit + 32, row, b->m);
    put_nibbles(unit + 64, row, c);
    put_bits(unit + 64 + NIBBLE_BLOCK, row, c, 4);
}
void get_q5_1(const uint8_t *unit, uint32_t row, float *out) {
    codes32 c = get_nibbles(unit + 64, row);
    get_bits(unit + 64 + NIBBLE_BLOCK, row, &c, 4);
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

} // namespace llm

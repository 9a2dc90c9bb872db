// Panels of the formats with tables. Codes stay codes: kernels look them up.
#include "backend/cpu/panel_parts.h"
#include "quant/blocks.h"
#include "quant/tables.h"

namespace llm {

static void table_numbers(const codes32 &c, const int8_t values[16], float scale, float *out) {
    for (int k = 0; k < 32; k++) out[k] = scale * float(values[code_of(c, k)]);
}

void put_iq4_nl(const void *block, uint8_t *unit, uint32_t row) {
    const block_iq4_nl *b = static_cast<const block_iq4_nl *>(block);
    put_half(unit, row, b->d);
    put_nibbles(unit + 32, row, file_nibbles(b->q));
}
void get_iq4_nl(const uint8_t *unit, uint32_t row, float *out) {
    table_numbers(get_nibbles(unit + 32, row), values_iq4, get_half(unit, row), out);
}

void put_iq4_xs(const void *block, uint8_t *unit, uint32_t row) {
    const block_iq4_xs *b = static_cast<const block_iq4_xs *>(block);
    put_half(unit, row, b->d);
    for (int g = 0; g < 8; g++) {
        unit[32 + 16 * g + row] = uint8_t(scale_iq4_xs(b, g));
        put_nibbles(unit + 160 + NIBBLE_BLOCK * g, row, file_nibbles(b->q + 16 * g));
    }
}
void get_iq4_xs(const uint8_t *unit, uint32_t row, float *out) {
    for (int g = 0; g < 8; g++) {
        float scale = get_half(unit, row) * float(int8_t(unit[32 + 16 * g + row]));
        table_numbers(get_nibbles(unit + 160 + NIBBLE_BLOCK * g, row), values_iq4, scale, out + 32 * g);
    }
}

void put_mxfp4(const void *block, uint8_t *unit, uint32_t row) {
    const block_mxfp4 *b = static_cast<const block_mxfp4 *>(block);
    unit[row] = b->e;
    put_nibbles(unit + 16, row, file_nibbles(b->q));
}
void get_mxfp4(const uint8_t *unit, uint32_t row, float *out) {
    table_numbers(get_nibbles(unit + 16, row), values_fp4, mxfp4_scale(unit[row]), out);
}

// The scales lose what means nothing: then a kernel may take the byte as it is.
void put_nvfp4(const void *block, uint8_t *unit, uint32_t row) {
    const block_nvfp4 *b = static_cast<const block_nvfp4 *>(block);
    for (int s = 0; s < 4; s++) unit[16 * s + row] = b->d[s] == 0x7f ? 0 : b->d[s] & 0x7f;
    for (int g = 0; g < 2; g++) {
        codes32 c;
        for (int j = 0; j < 8; j++) {
            const uint8_t *q = b->q + 16 * g + 8 * (j / 4) + 4 * (j % 2);
            c.w[j] = load32(q) >> 4 * (j / 2 % 2) & NIBBLES;
        }
        put_nibbles(unit + 64 + NIBBLE_BLOCK * g, row, c);
    }
}
void get_nvfp4(const uint8_t *unit, uint32_t row, float *out) {
    for (int g = 0; g < 2; g++) {
        const codes32 c = get_nibbles(unit + 64 + NIBBLE_BLOCK * g, row);
        for (int k = 0; k < 32; k++) {
            uint8_t scale = unit[16 * (2 * g + k / 16) + row];
            // 0x7f is the file's 0xff here: the one whose top bit means nothing.
            out[32 * g + k] = nvfp4_scale(scale | 0x80) * float(values_fp4[code_of(c, k)]);
        }
    }
}

} // namespace llm

// The layout of weights in memory: panels of 16 rows, interleaved so that a vector lane is a row. One layout for every
// tier: AVX-512 takes 16 rows as one register, AVX2 as two, NEON as four. The values are those of the file, bit by bit.
//
// A panel holds its 16 rows unit by unit, each unit being one block of the format (for plain floats: one column).
// Group j of a block of 32 values is 64 bytes: byte 4 r + i belongs to row r and value 4 j + i. A nibble block is 256
// bytes: byte 64 j + 4 r + i (j = 0..3) has value 4 j + i in the low nibble and value 16 + 4 j + i in the high one.
// One-bit block, 64 bytes: bit j (0..7) of byte 4 r + i belongs to value 4 j + i. Two-bit block, 128 bytes: bits 2 j
// and 2 j + 1 (j = 0..3) of byte 64 h + 4 r + i belong to value 16 h + 4 j + i.
//
//   format      unit, values   bytes, in this order
//   F32         1              float [16]
//   F16, BF16   1              uint16 [16]
//   Q4_0        32      288    f16 d[16]; nibbles                                      (value = d * (code - 8))
//   Q4_1        32      320    f16 d[16], m[16]; nibbles                               (d * code + m)
//   Q5_0        32      352    f16 d[16]; nibbles; one-bit block: bit 4                (d * (code - 16))
//   Q5_1        32      384    f16 d[16], m[16]; nibbles; one-bit block                (d * code + m)
//   Q8_0        32      544    f16 d[16]; 8 groups of s8                               (d * code)
//   Q2_K        256     1344   f16 d[16], dmin[16]; u8 [16][16]: scale | minimum << 4; 8 two-bit blocks
//   Q3_K        256     1824   f16 d[16]; s8 scale[16][16]; 8 x {two-bit block; one-bit block: bit 2}  (code - 4)
//   Q4_K        256     2368   f16 d[16], dmin[16]; u8 scale[8][16], minimum[8][16]; 8 nibble blocks
//   Q5_K        256     2880   as Q4_K, each nibble block followed by its one-bit block
//   Q6_K        256     3360   f16 d[16]; s8 scale[16][16]; 8 x {nibbles; two-bit block: bits 4, 5}  (code - 32)
//   IQ4_NL      32      288    f16 d[16]; nibbles                                      (d * values_iq4[code])
//   IQ4_XS      256     2208   f16 d[16]; s8 scale[8][16]; 8 nibble blocks
//   MXFP4       32      272    u8 e[16]; nibbles                                       (2^(e - 128) * values_fp4[code])
//   NVFP4       64      576    u8 d[4][16], 0 to 0x7f all being numbers; 2 nibble blocks (values_fp4)
//   Q1_0        128     288    f16 d[16]; 4 one-bit blocks                             (d * (2 * code - 1))
//   Q2_0        64      288    f16 d[16]; 2 two-bit blocks                             (d * (code - 1))
//   TQ2_0       256     1056   f16 d[16]; 8 two-bit blocks                             (d * (code - 1))
//   TQ1_0       256     928    f16 d[16]; triples [8][64], pairs [4][64], bits [2][64] (d * (trit - 1)): byte 4 r + i
//                              of triples [b] has the nibbles of values 32 b + 4 j + i, j = 0..2 and 3..5, nibble b % 2
//                              of pairs [b / 2] those of j = 6, 7, bits 2 (b % 4) of bits [b / 4] the bits (trits.h)
//   IQ2_XXS     256     1120   f16 d[16]; nibbles s [4][16], blocks 2 i and 2 i + 1; 8 x {u8 index[4][16], points of 8
//                              values; signs [64]: bit i of byte 4 r + k for value 8 i + k, bit 4 + i for
//                              value 8 i + 4 + k}              (d / 8 * (2 s + 1) * +-values_iq2[code]; grids.h)
//   IQ2_XS      256     1248   f16 d[16]; nibbles s [8][16], the halves of a block; nibbles [4][16], as s of IQ2_XXS:
//                              bit 8 of index i as bit i; 8 x {index[4][16]; signs}
//   IQ2_S       256     1312   f16 d[16]; nibbles s [8][16]; u8 [8][16]: bits 8, 9 of index i as bits 2 i; 8 x as
//                              IQ2_XS
//   IQ3_XXS     256     1632   f16 d[16]; nibbles s [4][16]; 8 x {u8 index[8][16], points of 4; one-bit block: signs}
//   IQ3_S       256     1760   f16 d[16]; nibbles s [4][16]; u8 [8][16]: bit 8 of index i as bit i; then as IQ3_XXS
//   IQ1_S       256     800    f16 d[16]; u16 [8][16]: bits 8-10 of index i as bits 3 i, s in bits 12-14, shift down in
//                              bit 15; u8 index[8][4][16]      (d / 8 * (2 s + 1) * (8 g +- 1))
//   IQ1_M       256     928    f16 d[16]; nibbles s [8][16]; u16 [8][16]: bits 8-10 of index i as bits 4 i, shift down
//                              in bit 4 i + 3; u8 index[8][4][16]
//
// Packed files hold panels as they are: a layout that changes needs a new GGUF_PACKED_VERSION.
// The last panel of a matrix is filled up with rows of zero bytes, which are zeros in every format.
#pragma once
#include "backend/cpu/kernels.h"
#include "quant/format.h"

namespace llm {

struct panel_layout {
    format_id format;
    panel_kind kind;
    uint32_t unit_cols, unit_bytes;
    // Puts one block of one row into a unit (plain floats: NULL, they are packed by columns), and takes it out again as
    // numbers (exactly the format's values).
    void (*put)(const void *block, uint8_t *unit, uint32_t row);
    void (*get)(const uint8_t *unit, uint32_t row, float *out);
};

const panel_layout *panel_layout_of(const block_format *format); // NULL: the backend cannot hold the format

inline size_t panel_bytes(const panel_layout *p, uint64_t cols) { return size_t(cols / p->unit_cols) * p->unit_bytes; }
inline uint64_t panel_count(uint64_t rows) { return (rows + PANEL_ROWS - 1) / PANEL_ROWS; }

// Packs n_rows (at most 16) rows of the file's own blocks into one panel.
void panel_pack(const panel_layout *p, const block_format *format, uint64_t cols, uint32_t n_rows,
                const void *file_rows, uint8_t *panel);
// One row of a matrix as numbers.
void panel_row(const panel_layout *p, const void *matrix, uint64_t cols, uint64_t row, float *out);

} // namespace llm

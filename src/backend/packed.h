// Weights as packed files hold them: the panels of cpu/panel.h, without gaps. A backend whose layout this is uses them
// where they lie; for the others they are turned back into the file's own blocks, bit by bit.
#pragma once
#include "quant/format.h"
#include <vector>

namespace llm {

constexpr uint32_t PACKED_ROWS = 16; // rows of a panel; parts of a tensor begin at a multiple

// Bytes of a [rows, cols] matrix; 0 when this build has no panel for the format.
uint64_t packed_bytes(const block_format *format, uint64_t rows, uint64_t cols);
// Packs whole panels: n_rows rows of the file's own blocks; the last panel may be short.
void packed_pack(const block_format *format, uint64_t cols, uint64_t n_rows, const void *file_rows, void *panels);

// The way back from panels to blocks. Nobody writes it down per format: packing only moves bits around, so asking it
// where every single bit goes gives the inverse.
struct packed_inverse {
    // Up to eight neighbouring bits of a block and where they are in a panel's unit.
    struct run {
        uint32_t to;     // bit of the block
        uint32_t from;   // bit of the unit
        uint8_t n, flip; // flip: bits that packing inverts
    };
    const block_format *format = nullptr;
    std::vector<run> runs[PACKED_ROWS]; // by row of the panel; empty for plain numbers, which only change places
};
// false when there is none, because packing does more to this format than move bits (TQ1_0, NVFP4): such tensors stay
// blocks in a packed file.
bool packed_inverse_find(const block_format *format, packed_inverse *out);
// n_rows rows, from a panel's first one on.
void packed_unpack(const packed_inverse *inverse, uint64_t cols, uint64_t n_rows, const void *panels, void *file_rows);

} // namespace llm

#include "backend/packed.h"
#include "backend/cpu/panel.h"
#include <string.h>

namespace llm {

static_assert(PACKED_ROWS == PANEL_ROWS, "a packed file's panels are those of the kernels");

uint64_t packed_bytes(const block_format *format, uint64_t rows, uint64_t cols) {
    const panel_layout *layout = panel_layout_of(format);
    return layout ? panel_count(rows) * panel_bytes(layout, cols) : 0;
}

void packed_pack(const block_format *format, uint64_t cols, uint64_t n_rows, const void *file_rows, void *panels) {
    const panel_layout *layout = panel_layout_of(format);
    const uint8_t *from = static_cast<const uint8_t *>(file_rows);
    uint8_t *panel = static_cast<uint8_t *>(panels);
    for (; n_rows; panel += panel_bytes(layout, cols)) {
        const uint32_t n = n_rows < PANEL_ROWS ? uint32_t(n_rows) : PANEL_ROWS;
        panel_pack(layout, format, cols, n, from, panel);
        from += n * format_bytes(format, cols);
        n_rows -= n;
    }
}

namespace {

using bytes = std::vector<uint8_t>;

bool bit(const bytes &b, size_t i) { return b[i / 8] >> i % 8 & 1; }

constexpr size_t PIECE = PANEL_ROWS; // every part of a unit has at least a byte for each row
constexpr uint32_t NOBODY = UINT32_MAX, SEVERAL = UINT32_MAX - 1;

// Which bit of the block each bit of the unit follows: packs one block after the other with a single bit set and looks
// what differs from the block of zeros.
std::vector<uint32_t> owners(const panel_layout *layout, const bytes &zeros, bytes *block, bytes *unit, uint32_t row) {
    std::vector<uint32_t> owner(unit->size() * 8, NOBODY);
    for (uint32_t i = 0; i < block->size() * 8; i++) {
        (*block)[i / 8] = uint8_t(1u << i % 8);
        memset(unit->data(), 0, unit->size());
        layout->put(block->data(), unit->data(), row);
        (*block)[i / 8] = 0;
        for (size_t piece = 0; piece < unit->size(); piece += PIECE) {
            // Nearly all are equal: comparing byte by byte made this the longest part of loading for `ref`.
            if (memcmp(&(*unit)[piece], &zeros[piece], PIECE) == 0) continue;
            for (size_t k = 8 * piece; k < 8 * (piece + PIECE); k++)
                if (bit(*unit, k) != bit(zeros, k)) owner[k] = owner[k] == NOBODY ? i : SEVERAL;
        }
    }
    return owner;
}

// Joins bits that are neighbours in one byte on both sides.
void add_bit(std::vector<packed_inverse::run> *runs, uint32_t to, uint32_t from, bool flip) {
    packed_inverse::run *last = runs->empty() ? nullptr : &runs->back();
    if (last && to % 8 && from % 8 && last->to + last->n == to && last->from + last->n == from) {
        last->flip |= uint8_t(flip << last->n);
        last->n++;
    } else {
        runs->push_back({to, from, 1, flip});
    }
}

bool find_runs(const panel_layout *layout, uint32_t block_bytes, uint32_t row, std::vector<packed_inverse::run> *out) {
    bytes block(block_bytes), unit(layout->unit_bytes), zeros(layout->unit_bytes);
    layout->put(block.data(), zeros.data(), row);
    const std::vector<uint32_t> owner = owners(layout, zeros, &block, &unit, row);
    std::vector<uint32_t> place(block_bytes * 8, NOBODY);
    for (uint32_t k = 0; k < owner.size(); k++)
        if (owner[k] < SEVERAL && place[owner[k]] == NOBODY) place[owner[k]] = k;
    for (uint32_t i = 0; i < place.size(); i++) {
        if (place[i] == NOBODY) return false;
        add_bit(out, i, place[i], bit(zeros, place[i]));
    }
    return true;
}

void take_block(const std::vector<packed_inverse::run> &runs, const uint8_t *unit, uint8_t *block) {
    for (const packed_inverse::run &r : runs) {
        const uint32_t bits = uint32_t(unit[r.from / 8] >> r.from % 8 ^ r.flip) & ((1u << r.n) - 1);
        block[r.to / 8] = uint8_t((r.to % 8 ? block[r.to / 8] : 0) | bits << r.to % 8);
    }
}

// A table look-up in put() would pass the single bits and fail here.
bool gives_back(const panel_layout *layout, const packed_inverse &inverse) {
    bytes block(inverse.format->block_bytes), unit(layout->unit_bytes), again(block.size());
    uint32_t state = 1;
    for (uint32_t i = 0; i < 64 * PANEL_ROWS; i++) {
        for (uint8_t &byte : block) byte = uint8_t((state = state * 1664525 + 1013904223) >> 24);
        memset(unit.data(), 0, unit.size());
        layout->put(block.data(), unit.data(), i % PANEL_ROWS);
        take_block(inverse.runs[i % PANEL_ROWS], unit.data(), again.data());
        if (again != block) return false;
    }
    return true;
}

void unpack_numbers(size_t size, size_t cols, uint32_t n_rows, const uint8_t *panel, uint8_t *rows) {
    for (size_t k = 0; k < cols; k++)
        for (uint32_t r = 0; r < n_rows; r++)
            memcpy(rows + (r * cols + k) * size, panel + (PANEL_ROWS * k + r) * size, size);
}

} // namespace

bool packed_inverse_find(const block_format *format, packed_inverse *out) {
    const panel_layout *layout = panel_layout_of(format);
    *out = packed_inverse();
    out->format = format;
    if (!layout || !layout->put) return layout != nullptr;
    for (uint32_t row = 0; row < PANEL_ROWS; row++)
        if (!find_runs(layout, format->block_bytes, row, &out->runs[row])) return false;
    return gives_back(layout, *out);
}

void packed_unpack(const packed_inverse *inverse, uint64_t cols, uint64_t n_rows, const void *panels, void *file_rows) {
    const block_format *format = inverse->format;
    const panel_layout *layout = panel_layout_of(format);
    const size_t row_bytes = format_bytes(format, cols), panel_size = panel_bytes(layout, cols);
    for (uint64_t row = 0; row < n_rows; row += PANEL_ROWS) {
        const uint8_t *panel = static_cast<const uint8_t *>(panels) + row / PANEL_ROWS * panel_size;
        uint8_t *out = static_cast<uint8_t *>(file_rows) + row * row_bytes;
        const uint32_t n = uint32_t(n_rows - row < PANEL_ROWS ? n_rows - row : PANEL_ROWS);
        if (!layout->put) {
            unpack_numbers(format->block_bytes, cols, n, panel, out);
            continue;
        }
        for (uint32_t r = 0; r < n; r++)
            for (uint64_t unit = 0; unit < cols / layout->unit_cols; unit++)
                take_block(inverse->runs[r], panel + unit * layout->unit_bytes,
                           out + r * row_bytes + unit * format->block_bytes);
    }
}

} // namespace llm

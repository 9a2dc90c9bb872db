// Rows of random weights in the form of a file. A row is put together from blocks of a pool that was quantised once:
// quantising 10^9 values would take a minute, copying blocks takes a second, and with some 2^13 blocks to choose from
// no two rows are the same.
#pragma once
#include "core/status.h"
#include "quant/format.h"
#include <vector>

namespace llm {

// splitmix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators").
struct random_bits {
    uint64_t state;
    uint64_t next() {
        uint64_t z = state += 0x9E3779B97F4A7C15u;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
        z = (z ^ z >> 27) * 0x94D049BB133111EBu;
        return z ^ z >> 31;
    }
};
// Close to normal, deviation 1, within +-3.5.
float random_normal(random_bits *bits);

struct random_weights {
    const block_format *format = nullptr;
    double deviation = 0;
    uint32_t unit_values = 0; // values per block; of plain numbers 32 at a time
    size_t unit_bytes = 0, n_units = 0;
    std::vector<uint8_t> units;
};

// Values around 0 with this standard deviation.
llm_status random_weights_make(const block_format *format, double deviation, uint64_t seed, random_weights *out,
                               llm_error *err);
// One row of `cols` values, a multiple of unit_values, to `out`.
void random_weights_row(const random_weights *pool, random_bits *bits, uint64_t cols, uint8_t *out);

} // namespace llm

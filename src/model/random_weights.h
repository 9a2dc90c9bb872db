// Stored values of random weights, drawn in the form of the file: no float is quantised on the way, so that a file is
// written about as fast as the disk takes it.
#pragma once
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

struct block_recipe;

// One tensor's source of values.
struct random_weights {
    const block_format *format;
    const block_recipe *recipe; // NULL: plain numbers
    random_bits bits;
    std::vector<uint8_t> plain;  // stored numbers to choose from
    uint16_t scale[256], offset[256]; // stored scales to choose from, with the minimum that goes with each
};

// Whether the format's values can be drawn.
bool random_weights_known(const block_format *format);
// Values around `mean` (0 for block formats) with a standard deviation of about `deviation`.
void random_weights_begin(random_weights *r, const block_format *format, double mean, double deviation, uint64_t seed);
// The next n_blocks blocks. `out` is aligned for uint64_t and has room for 8 bytes more.
// note: bits are taken in words of 8 bytes, so a caller that wants the same values asks in the same pieces.
void random_weights_draw(random_weights *r, void *out, size_t n_blocks);

} // namespace llm

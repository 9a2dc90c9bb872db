// How panels hold TQ1_0: eight numbers 0, 1, 2 (trits) of a row in 14 bits, so that kernels get at them by looking up
// nibbles. (The file's five digits in a byte take six instructions a digit; as two bits each, the panel would be 1.22
// times the file, against 1.07.)
//
// Three trits are a nibble and a bit: the nibble says all but one of them, which is 0 or 2 as the bit says.
//   nibble 0-8:  (n % 3, n / 3, ?)    9-11: (n - 9, ?, 1)    12: (?, 1, 1)    13: (1, 1, 1)
// Two more trits are a nibble n: (n % 3, n / 3).
#pragma once
#include <stdint.h>

namespace llm {

// Looked up by nibble: trits in two bits each, the first lowest, the open one 0, and what makes the open one 2.
alignas(16) constexpr uint8_t trits_of[16] = {0x00, 0x01, 0x02, 0x04, 0x05, 0x06, 0x08, 0x09,
                                              0x0a, 0x10, 0x11, 0x12, 0x14, 0x15, 0,    0};
alignas(16) constexpr uint8_t trits_open[16] = {0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20,
                                                0x20, 0x08, 0x08, 0x08, 0x02, 0,    0,    0};

// For the trits a + 3 b + 9 c: the nibble, and in bit 4 whether the open one is 0 (the bit is set then).
struct trit_packing {
    uint8_t code[27];
};
constexpr trit_packing pack_three_trits() {
    trit_packing p = {};
    for (int v = 0; v < 27; v++) {
        const int a = v % 3, b = v / 3 % 3, c = v / 9;
        const int nibble = c != 1 ? v % 9 : b != 1 ? 9 + a : a != 1 ? 12 : 13;
        const int open = c != 1 ? c : b != 1 ? b : a != 1 ? a : 2;
        p.code[v] = uint8_t(nibble | (open == 0) << 4);
    }
    return p;
}
constexpr trit_packing three_trits = pack_three_trits();

} // namespace llm

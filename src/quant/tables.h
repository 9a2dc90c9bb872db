// Formats whose codes number the values of a table, and scales that are neither half nor integer.
#pragma once
#include <stdint.h>

namespace llm {

// IQ4_NL and IQ4_XS: denser where weights are.
constexpr int8_t values_iq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
// Twice the values of a 4-bit float: sign, two exponent bits, one of mantissa.
constexpr int8_t values_fp4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// 2^(e - 128), for values_fp4. 255 is no number in the standard: infinite here, so that whatever is computed from such
// a block is not finite either and is reported. (Code 0 then is NaN.)
float mxfp4_scale(uint8_t e);
uint8_t mxfp4_exponent(float scale); // of the largest scale that is not above the absolute value
// Half of an unsigned float of 4 exponent bits (bias 7) and 3 of mantissa, for values_fp4. The top bit means nothing.
// 0x7f, no number in the standard, is 0, as in other programs that read these files.
float nvfp4_scale(uint8_t x);
uint8_t nvfp4_byte(float scale); // nearest to the absolute value

} // namespace llm

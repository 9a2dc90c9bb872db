#include "model/random_weights.h"
#include "quant/blocks.h"
#include <stddef.h>
#include <string.h>

namespace llm {

// Codes are random bytes. What is not a code is patched per block afterwards, from one word of random bits.
struct block_recipe {
    format_id id;
    double deviation;   // of a stored value when the block's scale is 1
    double middle;      // mean code of a format that stores a minimum: scale * middle cancels it. 0: codes are signed
    size_t scale_at, offset_at; // bytes into the block; offset_at only where middle is not 0
    bool offset_is_subtracted;
    void (*patch)(uint8_t *block, uint64_t bits); // scales of groups and the like; may be NULL
};

namespace {

// -127, -125, .. 127: symmetric, and without the -128 that no quantiser writes.
void patch_q8_0(uint8_t *block, uint64_t) {
    for (size_t i = offsetof(block_q8_0, q); i < sizeof(block_q8_0); i++) block[i] |= 1;
}

// Groups have scales 32..63 and equal minima, so that each group's mean is 0.
static_assert(offsetof(block_q4_K, scales) == offsetof(block_q5_K, scales), "one patch for both");
void patch_groups(uint8_t *block, uint64_t bits) {
    uint8_t scales[8];
    for (int g = 0; g < 8; g++) scales[g] = (uint8_t)(32 | (bits >> 5 * g & 31));
    pack_scales_k4(scales, scales, block + offsetof(block_q4_K, scales));
}

// Magnitudes 64..127 of either sign: code 0 stands for -32 and 63 for 31, which a random sign evens out.
void patch_q6_k(uint8_t *block, uint64_t) {
    int8_t *scales = ((block_q6_K *)block)->scales;
    for (int g = 0; g < 16; g++) {
        int magnitude = 64 | (scales[g] & 63);
        scales[g] = (int8_t)(scales[g] & 64 ? -magnitude : magnitude);
    }
}

// n equally likely codes deviate by sqrt((n * n - 1) / 12) from their mean: 4.61, 9.23, 18.47; the odd codes of Q8_0 by
// 73.9. The mean square of scales 32..63 is 48.4^2, of 64..127 it is 97.3^2.
// clang-format off
const block_recipe recipes[] = {
    {FORMAT_Q4_0, 4.61,         0,    offsetof(block_q4_0, d), 0,                          false, nullptr},
    {FORMAT_Q4_1, 4.61,         7.5,  offsetof(block_q4_1, d), offsetof(block_q4_1, m),    false, nullptr},
    {FORMAT_Q5_0, 9.23,         0,    offsetof(block_q5_0, d), 0,                          false, nullptr},
    {FORMAT_Q5_1, 9.23,         15.5, offsetof(block_q5_1, d), offsetof(block_q5_1, m),    false, nullptr},
    {FORMAT_Q8_0, 73.9,         0,    offsetof(block_q8_0, d), 0,                          false, patch_q8_0},
    {FORMAT_Q4_K, 4.61 * 48.4,  7.5,  offsetof(block_q4_K, d), offsetof(block_q4_K, dmin), true,  patch_groups},
    {FORMAT_Q5_K, 9.23 * 48.4,  15.5, offsetof(block_q5_K, d), offsetof(block_q5_K, dmin), true,  patch_groups},
    {FORMAT_Q6_K, 18.47 * 97.3, 0,    offsetof(block_q6_K, d), 0,                          false, patch_q6_k},
};
// clang-format on

const block_recipe *recipe_of(format_id id) {
    for (const block_recipe &recipe : recipes)
        if (recipe.id == id) return &recipe;
    return nullptr;
}

// Close to normal: the sum of four uniform 16-bit numbers, centred, has deviation 65536 / sqrt(3).
float normal(random_bits *bits) {
    uint64_t b = bits->next();
    int32_t sum = (int32_t)(b & 0xffff) + (int32_t)(b >> 16 & 0xffff) + (int32_t)(b >> 32 & 0xffff) + (int32_t)(b >> 48);
    return (float)(sum - 2 * 65535) * (float)(1.7320508 / 65536);
}

constexpr size_t N_PLAIN = 4096;

void make_plain(random_weights *r, double mean, double deviation) {
    std::vector<float> values(N_PLAIN);
    for (float &value : values) value = (float)(mean + deviation * (double)normal(&r->bits));
    r->plain.resize(format_bytes(r->format, N_PLAIN));
    r->format->quantise(values.data(), r->plain.data(), N_PLAIN);
}

// Scales differ by up to a quarter of their mean. Signed codes reach one step further down than up: every second scale
// is negative, so that a row's mean is still 0. A common mean of all rows would push every token the same way.
void make_scales(random_weights *r, double deviation) {
    const block_recipe *recipe = r->recipe;
    for (int i = 0; i < 256; i++) {
        double scale = deviation / recipe->deviation * (0.75 + 0.5 * i / 255);
        if (recipe->middle == 0 && i % 2) scale = -scale;
        double offset = scale * recipe->middle;
        r->scale[i] = f32_to_f16((float)scale);
        r->offset[i] = f32_to_f16((float)(recipe->offset_is_subtracted ? offset : -offset));
    }
}

// Any 4 of the 4096 numbers per word of bits, element by element.
template <class T> void choose_plain(random_weights *r, T *out, size_t n) {
    const T *plain = (const T *)r->plain.data();
    uint64_t b = 0;
    for (size_t i = 0; i < n; i++) {
        b = i % 4 ? b >> 16 : r->bits.next();
        out[i] = plain[b & (N_PLAIN - 1)];
    }
}

void draw_blocks(random_weights *r, uint8_t *out, size_t n_blocks) {
    const block_recipe *recipe = r->recipe;
    size_t block_bytes = r->format->block_bytes, n_words = (n_blocks * block_bytes + 7) / 8;
    for (size_t i = 0; i < n_words; i++) ((uint64_t *)out)[i] = r->bits.next();
    for (size_t k = 0; k < n_blocks; k++) {
        uint8_t *block = out + k * block_bytes;
        uint64_t bits = r->bits.next();
        memcpy(block + recipe->scale_at, &r->scale[bits & 255], 2);
        if (recipe->middle != 0) memcpy(block + recipe->offset_at, &r->offset[bits & 255], 2);
        if (recipe->patch) recipe->patch(block, bits >> 8);
    }
}

} // namespace

bool random_weights_known(const block_format *format) {
    return format_supported(format) && (!format->quantised || recipe_of(format->id));
}

void random_weights_begin(random_weights *r, const block_format *format, double mean, double deviation, uint64_t seed) {
    *r = {format, recipe_of(format->id), {seed}, {}, {}, {}};
    if (r->recipe)
        make_scales(r, deviation);
    else
        make_plain(r, mean, deviation);
}

void random_weights_draw(random_weights *r, void *out, size_t n_blocks) {
    if (r->recipe) return draw_blocks(r, (uint8_t *)out, n_blocks);
    if (r->format->block_bytes == 2) return choose_plain(r, (uint16_t *)out, n_blocks);
    choose_plain(r, (uint32_t *)out, n_blocks);
}

} // namespace llm

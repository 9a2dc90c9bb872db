#include "model/random_weights.h"
#include <string.h>

namespace llm {

namespace {

constexpr uint32_t POOL_VALUES = 1u << 18;

// The sum of four uniform 16-bit numbers has the deviation 65536 / sqrt(3).
constexpr double SUM_DEVIATION = 65536 / 1.7320508;

void quantise_units(random_weights *pool, random_bits *bits) {
    std::vector<float> values(POOL_VALUES);
    for (float &value : values) value = (float)pool->deviation * random_normal(bits);
    pool->format->quantise(values.data(), pool->units.data(), POOL_VALUES);
}

// Whether random bytes happen to be values of the wanted size that do not lean to one side too much.
bool is_sane(const random_weights *pool, const float *values) {
    double sum = 0, squares = 0, n = pool->unit_values, wanted = pool->deviation * pool->deviation;
    for (uint32_t i = 0; i < pool->unit_values; i++) {
        sum += (double)values[i];
        squares += (double)values[i] * (double)values[i];
    }
    double size = squares / n, mean = sum / n;
    return size > 0.5 * wanted && size < 2 * wanted && mean * mean < 0.5 * size; // false for NaN
}

// A format without a quantiser: bytes are drawn until they make a sane block. Scales have 16 to 256 exponents, so that
// takes some ten to some hundred draws, and nothing needs to be known about where a format keeps them.
llm_status draw_units(random_weights *pool, random_bits *bits, llm_error *err) {
    constexpr size_t MAX_DRAWS = 4u << 20;
    std::vector<float> values(pool->unit_values);
    std::vector<uint64_t> words(pool->unit_bytes / 8 + 1);
    size_t n = 0;
    for (size_t draw = 0; draw < MAX_DRAWS && n < pool->n_units; draw++) {
        for (uint64_t &word : words) word = bits->next();
        pool->format->dequantise(words.data(), values.data(), pool->unit_values);
        if (is_sane(pool, values.data())) memcpy(&pool->units[n++ * pool->unit_bytes], words.data(), pool->unit_bytes);
    }
    pool->n_units = n;
    if (n >= 64) return LLM_OK;
    return fail(err, LLM_ERR_UNSUPPORTED, "random bytes make no weights of format %s", pool->format->name);
}

} // namespace

float random_normal(random_bits *bits) {
    uint64_t b = bits->next();
    int32_t sum =
        (int32_t)(b & 0xffff) + (int32_t)(b >> 16 & 0xffff) + (int32_t)(b >> 32 & 0xffff) + (int32_t)(b >> 48);
    return (float)(sum - 2 * 65535) * (float)(1 / SUM_DEVIATION);
}

llm_status random_weights_make(const block_format *format, double deviation, uint64_t seed, random_weights *out,
                               llm_error *err) {
    random_bits bits = {seed};
    out->format = format;
    out->deviation = deviation;
    out->unit_values = format->block_size < 32 ? 32 : format->block_size;
    out->unit_bytes = format_bytes(format, out->unit_values);
    out->n_units = POOL_VALUES / out->unit_values;
    out->units.resize(out->n_units * out->unit_bytes);
    if (!format->quantise) return draw_units(out, &bits, err);
    quantise_units(out, &bits);
    return LLM_OK;
}

void random_weights_row(const random_weights *pool, random_bits *bits, uint64_t cols, uint8_t *out) {
    uint64_t word = 0;
    for (uint64_t i = 0; i < cols / pool->unit_values; i++, out += pool->unit_bytes) {
        word = i % 2 ? word >> 32 : bits->next();
        size_t unit = (size_t)((word & 0xffffffff) * pool->n_units >> 32);
        memcpy(out, &pool->units[unit * pool->unit_bytes], pool->unit_bytes);
    }
}

} // namespace llm

// Fused multiply-add of every tier against the C library's, on inputs where a second rounding would show. Seen through
// the float kernel: two columns, the activations 1 and b, give fma(a, b, c) for weights c and a.
#include "random_data.h"
#include "test.h"
#include "tiers.h"
#include <cmath>

using namespace llm;

namespace {

struct triple {
    float a, b, c;
};

float signed_power(random_source *r, int exponent) { return std::ldexp(r->below(2) ? 1.f : -1.f, exponent); }
float near_one(random_source *r) { return 1 + (float(r->below(9)) - 4) * 0x1p-23f; }
float any_bits(random_source *r) { return float_of(r->next()); }
float with_mantissa(random_source *r, int exponent) {
    return std::ldexp(signed_power(r, 0) * (1 + float(r->below(1 << 23)) * 0x1p-23f), exponent);
}

// b is the activation, which all rows of a call share: a and c are made for it. Most tokens have b, 2 b or b / 2.
triple any_triple(random_source *r, float b) { return {any_bits(r), b, any_bits(r)}; }
// The product is half of the last bit of c, or a quarter, and a little more or less: double loses the little.
triple tie(random_source *r, float b) {
    int exponent = int(r->below(200)) - 100;
    float product = std::ldexp(near_one(r), exponent - 24 - int(r->below(3)));
    return {signed_power(r, 0) * product / b, b, with_mantissa(r, exponent)};
}
triple cancelling(random_source *r, float b) {
    float a = with_mantissa(r, int(r->below(60)) - 30), c = -(a * b);
    return {a, b, float_of(bits_of(c) + r->below(5) - 2)};
}
// Results and addends among the denormals, products around odd halves of the smallest number; a and b are normal, so
// that the product has bits beyond.
triple denormal(random_source *r, float b) {
    int exponent;
    const float mantissa = std::frexp(b, &exponent);
    float halves = float(r->below(64)) + 0.5f * float(r->below(3));
    float a = std::ldexp(halves * near_one(r) / mantissa, -149 + int(r->below(4)) - exponent);
    float c = float_of(r->below(1u << (1 + r->below(24))));
    return {a * signed_power(r, 0), b, r->below(2) ? c : -c};
}
triple overflowing(random_source *r, float b) {
    float c = float_of(0x7f7fffffu - r->below(4)), product = std::ldexp(near_one(r), 103 - int(r->below(3)));
    return {product / b * signed_power(r, 0), b, r->below(2) ? c : -c};
}
triple special(random_source *r, float b) {
    static const float values[] = {0,   -0.f,      1,          -1,        INFINITY,        -INFINITY,
                                   NAN, 0x1p-149f, -0x1p-149f, 0x1p-126f, 0x1.fffffep127f, -0x1.fffffep127f};
    constexpr uint32_t N = sizeof values / sizeof *values;
    return {values[r->below(N)], b, values[r->below(N)]};
}
triple (*const kinds[])(random_source *, float) = {any_triple, tie,      tie,         cancelling,
                                                   denormal,   denormal, overflowing, special};
constexpr uint32_t KINDS = sizeof kinds / sizeof *kinds;

// Small and exact, so that a product hits what was wanted; now and then anything.
float activation(random_source *r) {
    switch (r->below(5)) {
    case 0: return near_one(r);
    case 3: return near_one(r) * 0x1p-75f;
    case 1: return with_mantissa(r, int(r->below(20)) - 10);
    case 2: return float(1 + r->below(4096)) * 0x1p-12f;
    default: return any_bits(r);
    }
}

// 16 rows times 8 tokens of one call; returns how many were wrong. `first_wrong` tells the first.
uint32_t check_call(const test_tier &tier, random_source *r, triple *first_wrong) {
    float panel[2][PANEL_ROWS], x[MAX_TOKENS][2], tiles[MAX_TOKENS][PANEL_ROWS];
    float b = activation(r);
    for (auto &row : x) row[0] = 1, row[1] = b;
    for (uint32_t i = 1; i < MAX_TOKENS; i++)
        x[i][1] = r->below(4) ? std::ldexp(b, int(r->below(3)) - 1) : activation(r);
    for (uint32_t i = 0; i < PANEL_ROWS; i++) {
        triple t = kinds[r->below(KINDS)](r, b);
        panel[0][i] = t.c, panel[1][i] = t.a;
    }
    tier.kernels->dot[PANEL_F32][MAX_TOKENS - 1](panel, 2, 1, x, 2, &tiles[0][0], 0);
    uint32_t wrong = 0;
    for (uint32_t t = 0; t < MAX_TOKENS; t++)
        for (uint32_t i = 0; i < PANEL_ROWS; i++) {
            const triple at = {panel[1][i], x[t][1], panel[0][i]};
            // The kernel starts from fma(c, 1, +0), and adds its chain to +0.
            if (same(tiles[t][i], std::fma(at.a, at.b, at.c + 0.f) + 0.f)) continue;
            if (!wrong++) *first_wrong = at;
        }
    return wrong;
}

} // namespace

TEST_CASE("fused multiply-add rounds once on every tier", "[cpu]") {
    for (const test_tier &tier : test_tiers()) {
        // A tier without the instruction is the one in doubt.
        const uint32_t calls = std::string(tier.b->name) == "sse41" ? 100000 : 2000;
        random_source r = {77};
        triple first = {};
        uint32_t wrong = 0;
        for (uint32_t i = 0; i < calls; i++) wrong += check_call(tier, &r, &first);
        INFO(tier.b->name << ": " << first.a << " * " << first.b << " + " << first.c << ", seed 77, " << wrong
                          << " wrong of " << calls * MAX_TOKENS * PANEL_ROWS);
        CHECK(wrong == 0);
    }
}

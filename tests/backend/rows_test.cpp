// Row kernels against the reference and against plain formulas.
#include "backend/ref/ref.h"
#include "core/fmath.h"
#include "random_data.h"
#include "test.h"
#include "tiers.h"
#include <math.h>

using namespace llm;

namespace {

// Blocks of 32 with ties, zeros of both signs, denormals, anything at all.
std::vector<float> quantiser_input(random_source *r, uint32_t n, int kind) {
    std::vector<float> x(n);
    for (uint32_t i = 0; i < n; i++) {
        const float g = r->gauss();
        const uint32_t u = r->next();
        switch (kind) {
        case 0: x[i] = g; break;
        case 1: x[i] = i % 32 == 0 ? 127.f : float(int(u % 509) - 254) * 0.5f; break;
        case 2: x[i] = float_of(u & 0x807fffff); break;
        case 3: x[i] = u & 1 ? -0.f : 0.f; break;
        case 4: x[i] = g * 0x1p-100f; break;
        case 5: x[i] = g * 0x1p124f; break;
        case 6: x[i] = g * float_of((u % 60 + 100) << 23); break;
        case 7: x[i] = float_of(u); break;
        default: x[i] = u % 100 ? g : g * 50; break;
        }
    }
    return x;
}

bool same_block(const act_block &found, const ref_act8 &expected) {
    int sum = 0, low = 0;
    for (int i = 0; i < 32; i++) {
        sum += expected.q[i];
        if (i < 16) low += expected.q[i];
    }
    return memcmp(found.q, expected.q, 32) == 0 && same(found.d, expected.d) && found.start_8 == -8 * sum &&
           found.start_128 == -128 * sum && found.start_32_low == -32 * low &&
           found.start_32_high == -32 * (sum - low) && same(found.scaled_sum, expected.d * float(sum));
}

} // namespace

TEST_CASE("activations are quantised as the reference does, and what is not finite is reported", "[cpu]") {
    random_source r = {31};
    for (const test_tier &tier : test_tiers())
        for (int i = 0; i < 600; i++) {
            const std::vector<float> x = quantiser_input(&r, 256, i % 9);
            std::vector<act_block> found(8);
            std::vector<ref_act8> expected(8);
            const bool finite = tier.kernels->quantise(x.data(), 8, {found.data(), 1});
            ref_quantise_row(x.data(), 256, expected.data());
            bool expect_finite = true;
            for (float v : x) expect_finite &= std::isfinite(v);
            INFO(tier.b->name << ", kind " << i % 9 << ", round " << i);
            CHECK(finite == expect_finite);
            for (int b = 0; b < 8; b++) CHECK(same_block(found[b], expected[b]));
        }
}

TEST_CASE("activations over all sizes of floats give the reference's bits", "[cpu]") {
    // Every 4099th pattern, and the corners of exp.
    std::vector<float> x = {NAN,      INFINITY, -INFINITY, 0.f,    -0.f,       1e-45f,     -1e-45f, 88.7228f,
                            88.7229f, 89.f,     200.f,     -87.3f, -103.9720f, -103.9721f, -104.1f};
    for (uint64_t u = 0; u < 1ull << 32; u += 4099) x.push_back(float_of(uint32_t(u)));
    for (const test_tier &tier : test_tiers())
        for (activation act : {ACT_SILU, ACT_GELU_TANH}) {
            std::vector<float> expected(x.size()), found(x.size());
            for (size_t i = 0; i < x.size(); i++) expected[i] = ref_activate(act, x[i]);
            tier.kernels->activate(cpu_activation(act), x.data(), found.data(), x.size());
            INFO(tier.b->name << ", activation " << int(act));
            CHECK(first_difference(expected, found) == "");
        }
}

TEST_CASE("rows of any length are handled, and nothing is written behind them", "[cpu]") {
    random_source r = {41};
    for (const test_tier &tier : test_tiers())
        for (uint32_t n = 1; n <= 70; n++) {
            INFO(tier.b->name << ", n " << n);
            std::vector<float> x = random_floats(&r, n, DATA_PLAIN), y = random_floats(&r, n, DATA_PLAIN),
                               expected(n + 1, 7.f);
            std::vector<float> found(n + 1, 7.f);
            for (uint32_t i = 0; i < n; i++) expected[i] = x[i] + y[i];
            CHECK(tier.kernels->add(x.data(), y.data(), found.data(), n));
            CHECK(first_difference(expected, found) == "");
            for (uint32_t i = 0; i < n; i++) expected[i] = ref_activate(ACT_SILU, x[i]) * y[i];
            CHECK(tier.kernels->glu(CPU_ACT_SILU, x.data(), y.data(), found.data(), n));
            CHECK(first_difference(expected, found) == "");
            x[n - 1] = INFINITY;
            CHECK_FALSE(tier.kernels->add(x.data(), y.data(), found.data(), n));
        }
}

// Plain, denormal or none, by `given`: bit 0 gain, bit 1 bias, bit 2 residual.
static void check_norm(const test_tier &tier, random_source *r, cpu_norm kind, uint32_t n, int given) {
    INFO(tier.b->name << ", n " << n << ", kind " << int(kind) << ", gain, bias, residual " << given);
    std::vector<float> x = random_floats(r, n, given == 3 ? DATA_DENORMAL : DATA_PLAIN), found(n + 1, 7.f);
    std::vector<float> part[3], expected(n + 1, 7.f);
    for (auto &p : part) p = random_floats(r, n, DATA_PLAIN);
    norm_row row = {};
    row.kind = kind;
    row.x = x.data();
    row.n = n;
    row.eps = 1e-5f;
    row.gain = given & 1 ? part[0].data() : nullptr;
    row.bias = given & 2 ? part[1].data() : nullptr;
    row.residual = given & 4 ? part[2].data() : nullptr;
    row.out = found.data();
    ref_norm(kind == CPU_NORM_LAYER ? NORM_LAYER : NORM_RMS, x.data(), n, row.eps, row.gain, row.bias, expected.data());
    for (uint32_t i = 0; row.residual && i < n; i++) expected[i] = row.residual[i] + expected[i];
    CHECK(tier.kernels->norm(&row));
    CHECK(first_difference(expected, found) == "");
    if (n % 32 == 0) {
        std::vector<act_block> act(n / 32);
        std::vector<ref_act8> act_expected(n / 32);
        row.out = nullptr;
        row.act = {act.data(), 1};
        CHECK(tier.kernels->norm(&row));
        ref_quantise_row(expected.data(), n, act_expected.data());
        for (uint32_t i = 0; i < n / 32; i++) CHECK(same_block(act[i], act_expected[i]));
        row.act = {};
    }
    // In place: over what is normalised, or over what is added.
    float *place = row.residual ? part[2].data() : x.data();
    row.out = place;
    CHECK(tier.kernels->norm(&row));
    CHECK(first_difference(std::vector<float>(expected.begin(), expected.end() - 1),
                           std::vector<float>(place, place + n)) == "");
}

TEST_CASE("norms of rows of any length give the reference's bits", "[cpu]") {
    random_source r = {51};
    for (const test_tier &tier : test_tiers())
        for (uint32_t n : {1, 8, 15, 16, 17, 31, 32, 33, 64, 72, 80, 172, 256, 288, 2048})
            for (cpu_norm kind : {CPU_NORM_RMS, CPU_NORM_LAYER})
                for (int given = 0; given < 8; given++) check_norm(tier, &r, kind, n, given);
}

TEST_CASE("conversion to halves rounds as the reference and stores no infinity", "[cpu]") {
    for (const test_tier &tier : test_tiers()) {
        std::vector<float> x;
        for (uint64_t u = 0; u < 1ull << 32; u += 40961) x.push_back(float_of(uint32_t(u)));
        for (uint32_t i = 0; i < 4096; i++) x.push_back(float_of(0x33000000 + i * 0x5000 + (i & 1 ? 0x1000 : 0)));
        size_t wrong = 0, infinite = 0;
        for (size_t i = 0; i + 37 <= x.size(); i += 37) {
            uint16_t found[37];
            bool expect_finite = true;
            const bool finite = tier.kernels->to_f16(&x[i], found, 37);
            for (int j = 0; j < 37; j++) {
                uint16_t expected = f32_to_f16(x[i + j]);
                if ((expected & 0x7c00) == 0x7c00) {
                    expect_finite = false;
                    expected = 0;
                    infinite++;
                }
                wrong += found[j] != expected;
            }
            wrong += finite != expect_finite;
        }
        INFO(tier.b->name);
        CHECK(wrong == 0);
        CHECK(infinite > 0);
    }
}

// What the tables and blocks of the grid formats promise beside their values (format_test.cpp).
#include "quant/grids.h"
#include "quant/format.h"
#include "test.h"
#include <cstring>
#include <random>
#include <vector>

using namespace llm;

namespace {

// Points as numbers with the first value as the lowest digit: `codes` possible codes, `values` of them.
template <size_t N> void check_grid(const char *name, const grid<N> &g, uint32_t codes, uint32_t values) {
    uint64_t last = 0;
    for (size_t i = 0; i < N; i++) {
        uint64_t number = 0;
        for (uint32_t k = values; k-- > 0;) {
            const uint32_t code = g.point[i] >> (8 * (k % 4) + 4 * (k / 4)) & 15;
            REQUIRE(code < codes);
            number = number * codes + code;
        }
        INFO(name << ", point " << i);
        REQUIRE((i == 0 || number > last));
        last = number;
    }
}

} // namespace

TEST_CASE("points of grids are distinct and in order", "[quant]") {
    check_grid("IQ2_XXS", grid_iq2_xxs, 3, 8);
    check_grid("IQ2_XS", grid_iq2_xs, 3, 8);
    check_grid("IQ2_S", grid_iq2_s, 3, 8);
    check_grid("IQ1", grid_iq1, 3, 8);
    check_grid("IQ3_XXS", grid_iq3_xxs, 8, 4);
    check_grid("IQ3_S", grid_iq3_s, 8, 4);
}

TEST_CASE("where a file has seven signs for eight values, an even number of them is negative", "[quant]") {
    std::mt19937 random(5);
    uint8_t block[128];
    for (unpack_group *unpack : {unpack_iq2_xxs, unpack_iq2_xs, unpack_iq3_xxs})
        for (int round = 0; round < 1000; round++) {
            for (uint8_t &byte : block) byte = (uint8_t)random();
            grid_group g;
            unpack(block, round % 8, &g);
            for (int i = 0; i < 32; i += 8) {
                int negative = 0;
                for (int k = 0; k < 8; k++) negative += g.signs >> (i + k) & 1;
                REQUIRE(negative % 2 == 0);
            }
        }
}

TEST_CASE("the scale of IQ1_M goes into its four pieces and nothing else does", "[quant]") {
    std::mt19937 random(6);
    const block_format *f = format_by_id(FORMAT_IQ1_M);
    for (int round = 0; round < 1000; round++) {
        uint32_t aligned[14], before[14];
        for (uint32_t &word : aligned) word = random();
        memcpy(before, aligned, sizeof before);
        const uint16_t d = (uint16_t)(random() & 0xfbff); // no infinity, no NaN
        f->set_scales(aligned, f16_to_f32(d), 0);
        for (int group = 0; group < 8; group++) {
            grid_group was, is;
            unpack_iq1_m(before, group, &was);
            unpack_iq1_m(aligned, group, &is);
            REQUIRE(is.d == d);
            REQUIRE(is.signs == was.signs);
            REQUIRE(memcmp(is.index, was.index, 4 * sizeof is.index[0]) == 0);
            REQUIRE(memcmp(is.s, was.s, sizeof is.s) == 0);
        }
    }
}

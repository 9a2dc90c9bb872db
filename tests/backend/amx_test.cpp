// Kernels for prompts against the reference, bit by bit: over emulated tiles wherever AVX-512 is, and over the real
// ones where the processor has them.
#include "backend/ref/ref.h"
#include "core/cpu.h"
#include "random_data.h"
#include "test.h"
#include "tiers.h"
#include <stdio.h>

using namespace llm;

#if defined(__x86_64__)
namespace llm {
extern unsigned emulated_tile_faults;
}

namespace {

constexpr uint32_t PANELS = 2;

struct prompt_case {
    const block_format *format;
    uint32_t cols, n_tokens;
    std::vector<uint8_t> panels;
    std::vector<act_block> blocks;
    std::vector<float> expected; // tiles: [panel][token][row]
};

prompt_case make_case(random_source *r, const block_format *format, uint32_t cols, uint32_t n_tokens, data_kind kind) {
    prompt_case c = {format, cols, n_tokens, {}, {}, {}};
    const std::vector<uint8_t> file = random_blocks(r, format, PANELS * PANEL_ROWS, cols, kind);
    const std::vector<float> x = random_floats(r, size_t(cols) * n_tokens, kind);
    const panel_layout *layout = panel_layout_of(format);
    const size_t bytes = panel_bytes(layout, cols), row_bytes = format_bytes(format, cols);
    c.panels.resize(PANELS * bytes);
    for (uint32_t p = 0; p < PANELS; p++)
        panel_pack(layout, format, cols, PANEL_ROWS, &file[p * PANEL_ROWS * row_bytes], &c.panels[p * bytes]);
    c.blocks.resize(x.size() / 32);
    std::vector<ref_act8> x8(x.size() / 32);
    for (uint32_t t = 0; t < n_tokens; t++) {
        ref_quantise_row(&x[t * cols], cols, &x8[t * (cols / 32)]);
        kernels_avx512.quantise(&x[t * cols], cols / 32, act_row_at(c.blocks.data(), n_tokens, cols / 32, t));
    }
    for (uint32_t row = 0; row < PANELS * PANEL_ROWS; row += PANEL_ROWS)
        for (uint32_t t = 0; t < n_tokens; t++)
            for (uint32_t i = 0; i < PANEL_ROWS; i++)
                c.expected.push_back(
                    ref_dot_row(format, &file[(row + i) * row_bytes], cols, &x8[t * (cols / 32)], nullptr));
    return c;
}

void compare(const cpu_prompt_kernels &kernels, const char *name) {
    random_source r = {31};
    for (const block_format *format : panel_formats()) {
        dot_many_kernel *run = kernels.dot[panel_layout_of(format)->kind];
        if (!format->quantised) {
            CHECK(!run);
            continue;
        }
        REQUIRE(run);
        // One block, an end within the blocks that are unpacked together, and more than those.
        for (uint32_t units : {1u, 544 / format->block_size, 1280 / format->block_size})
            for (uint32_t n_tokens : {16, 24, 40})
                for (int kind = 0; kind < DATA_KINDS; kind++) {
                    const uint32_t cols = units * format->block_size;
                    const prompt_case c = make_case(&r, format, cols, n_tokens, data_kind(kind));
                    std::vector<float> tiles(c.expected.size(), 7.f);
                    run(c.panels.data(), cols, PANELS, c.blocks.data(), n_tokens, tiles.data());
                    INFO(format->name << ", " << name << ", " << cols << " columns, " << n_tokens
                                      << " tokens, data kind " << kind);
                    CHECK(first_difference(c.expected, tiles) == "");
                }
    }
}

} // namespace

TEST_CASE("kernels for prompts give the reference's bits", "[cpu]") {
    if (!cpu()->avx512) {
        fprintf(stderr,
                "WARN: no AVX-512 here: NOT TESTED: the kernels of the amx tier, not even over emulated tiles\n");
        return;
    }
    compare(prompt_kernels_emulated, "emulated tiles");
    CHECK(emulated_tile_faults == 0);
    if (cpu()->amx)
        compare(prompt_kernels_amx, "amx");
    else
        fprintf(stderr, "WARN: no AMX here: NOT TESTED: the tile instructions themselves (emulated ones were)\n");
}
#endif

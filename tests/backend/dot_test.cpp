// Panel kernels against the reference's plain loops over the file's blocks: bits, on every tier of this machine.
#include "backend/cpu/panel.h"
#include "backend/ref/ref.h"
#include "random_data.h"
#include "test.h"
#include "tiers.h"

using namespace llm;

namespace {

constexpr uint32_t PANELS = 2;

struct dot_case {
    const block_format *format;
    uint32_t cols, n_tokens;
    std::vector<uint8_t> file, panels;
    std::vector<float> x, expected; // expected as tiles
};

void pack(dot_case *c) {
    const panel_layout *layout = panel_layout_of(c->format);
    const size_t bytes = panel_bytes(layout, c->cols), row_bytes = format_bytes(c->format, c->cols);
    c->panels.resize(PANELS * bytes);
    for (uint32_t p = 0; p < PANELS; p++)
        panel_pack(layout, c->format, c->cols, PANEL_ROWS, &c->file[p * PANEL_ROWS * row_bytes], &c->panels[p * bytes]);
}

std::vector<ref_act8> quantised(const dot_case *c) {
    std::vector<ref_act8> out(c->x.size() / 32);
    if (c->format->quantised) ref_quantise_row(c->x.data(), uint32_t(c->x.size()), out.data());
    return out;
}

void compute_expected(dot_case *c) {
    const size_t row_bytes = format_bytes(c->format, c->cols);
    const std::vector<ref_act8> x8 = quantised(c);
    for (uint32_t row = 0; row < PANELS * PANEL_ROWS; row += PANEL_ROWS)
        for (uint32_t t = 0; t < c->n_tokens; t++)
            for (uint32_t r = 0; r < PANEL_ROWS; r++)
                c->expected.push_back(ref_dot_row(c->format, &c->file[(row + r) * row_bytes], c->cols,
                                                  x8.data() + t * (c->cols / 32), &c->x[t * c->cols]));
}

dot_case make_case(random_source *r, const block_format *format, uint32_t cols, uint32_t n_tokens, data_kind kind) {
    dot_case c = {format, cols, n_tokens, random_blocks(r, format, PANELS * PANEL_ROWS, cols, kind), {}, {}, {}};
    c.x = random_floats(r, size_t(cols) * n_tokens, kind);
    pack(&c);
    compute_expected(&c);
    return c;
}

std::vector<float> run(const cpu_kernels *k, const dot_case *c) {
    std::vector<float> tiles(c->expected.size(), 7.f);
    const void *x = c->x.data();
    std::vector<act_block> blocks(c->x.size() / 32 + 1);
    if (c->format->quantised) {
        for (uint32_t t = 0; t < c->n_tokens; t++)
            k->quantise(&c->x[t * c->cols], c->cols / 32, act_row_at(blocks.data(), c->n_tokens, c->cols / 32, t));
        x = blocks.data();
    }
    k->dot[panel_layout_of(c->format)->kind][c->n_tokens - 1](c->panels.data(), c->cols, PANELS, x, c->cols,
                                                              tiles.data(), 0);
    return tiles;
}

void compare(random_source *r, const block_format *format, uint32_t cols, uint32_t n_tokens, data_kind kind) {
    const dot_case c = make_case(r, format, cols, n_tokens, kind);
    for (const test_tier &tier : test_tiers()) {
        INFO(format->name << ", " << tier.b->name << ", " << cols << " columns, " << n_tokens << " tokens, data kind "
                          << kind);
        CHECK(first_difference(c.expected, run(tier.kernels, &c)) == "");
    }
}

} // namespace

TEST_CASE("panel kernels give the reference's bits for 1 to 8 tokens", "[cpu]") {
    random_source r = {21};
    for (const block_format *format : panel_formats())
        for (uint32_t n_tokens = 1; n_tokens <= MAX_TOKENS; n_tokens++)
            for (int kind = 0; kind < DATA_KINDS; kind++) {
                const uint32_t block = format->block_size;
                if (block == 1)
                    for (uint32_t cols : {1, 31, 32, 33, 172}) compare(&r, format, cols, n_tokens, data_kind(kind));
                else
                    for (uint32_t cols : {block, 2 * block, 768u}) compare(&r, format, cols, n_tokens, data_kind(kind));
            }
}

#include "backend/cpu/panel.h"
#include "random_data.h"
#include "test.h"
#include "tiers.h"

using namespace llm;

TEST_CASE("a packed matrix gives back the file's values bit by bit", "[cpu]") {
    random_source r = {11};
    for (const block_format *f : panel_formats())
        for (uint32_t rows : {1, 15, 16, 17, 40}) {
            INFO(f->name << ", " << rows << " rows");
            const uint64_t cols = 2 * f->block_size + (f->block_size == 1 ? 35 : 0);
            std::vector<uint8_t> file = random_blocks(&r, f, rows, cols, DATA_PLAIN);
            std::vector<float> expected(rows * cols), found(rows * cols);
            f->dequantise(file.data(), expected.data(), expected.size());

            const panel_layout *layout = panel_layout_of(f);
            const size_t bytes = panel_bytes(layout, cols);
            std::vector<uint8_t> matrix(panel_count(rows) * bytes, 0xee);
            for (uint32_t row = 0; row < rows; row += PANEL_ROWS)
                panel_pack(layout, f, cols, std::min(PANEL_ROWS, rows - row), &file[row * format_bytes(f, cols)],
                           &matrix[row / PANEL_ROWS * bytes]);
            for (uint32_t row = 0; row < rows; row++) panel_row(layout, matrix.data(), cols, row, &found[row * cols]);
            CHECK(first_difference(expected, found) == "");

            std::vector<float> filled(cols, 1.f);
            for (uint64_t row = rows; row < panel_count(rows) * PANEL_ROWS; row++) {
                panel_row(layout, matrix.data(), cols, row, filled.data());
                for (float x : filled) CHECK(x == 0);
            }
        }
}

TEST_CASE("panels take at most a tenth more memory than the file's blocks", "[cpu]") {
    for (const block_format *f : panel_formats()) {
        const panel_layout *layout = panel_layout_of(f);
        const double panel = double(layout->unit_bytes) / layout->unit_cols;
        const double file = double(PANEL_ROWS) * f->block_bytes / f->block_size;
        INFO(f->name << ": " << panel / file);
        CHECK(panel <= 1.1 * file);
    }
}

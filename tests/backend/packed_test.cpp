// The way back from panels to the file's blocks.
#include "backend/packed.h"
#include "random_data.h"
#include "test.h"
#include "tiers.h"

using namespace llm;

TEST_CASE("packing can be undone for every format, bit by bit", "[cpu]") {
    random_source r = {12};
    for (const block_format *f : panel_formats()) {
        packed_inverse inverse;
        INFO(f->name);
        REQUIRE(packed_inverse_find(f, &inverse));
        for (uint32_t rows : {1, 15, 16, 17, 40}) {
            const uint64_t cols = 2 * f->block_size + (f->block_size == 1 ? 35 : 0);
            std::vector<uint8_t> file(rows * format_bytes(f, cols)), back(file.size(), 0xee);
            for (uint8_t &byte : file) byte = uint8_t(r.next()); // any bits, not only those of sensible numbers
            std::vector<uint8_t> panels(packed_bytes(f, rows, cols), 0xee);
            packed_pack(f, cols, rows, file.data(), panels.data());
            packed_unpack(&inverse, cols, rows, panels.data(), back.data());
            CHECK(back == file);
        }
    }
}

TEST_CASE("formats without a panel take no packed bytes", "[cpu]") {
    packed_inverse inverse;
    CHECK(packed_bytes(format_by_id(FORMAT_I64), 16, 32) == 0);
    CHECK(!packed_inverse_find(format_by_id(FORMAT_I64), &inverse));
}

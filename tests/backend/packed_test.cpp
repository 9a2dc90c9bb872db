// The way back from panels to the file's blocks.
#include "backend/packed.h"
#include "gguf/gguf.h"
#include "random_data.h"
#include "test.h"
#include "tiers.h"
#include <algorithm>
#include <stdio.h>

using namespace llm;

TEST_CASE("packing can be undone for every format, bit by bit", "[cpu]") {
    random_source r = {12};
    for (const block_format *f : panel_formats()) {
        packed_inverse inverse;
        INFO(f->name);
        // More than moving bits: digits of base three become digits of base two, and bytes that mean no scale become 0.
        const bool one_way = f->id == FORMAT_TQ1_0 || f->id == FORMAT_NVFP4;
        REQUIRE(packed_inverse_find(f, &inverse) == !one_way);
        if (one_way) continue;
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

namespace {

struct packed_hash {
    const char *format;
    uint32_t hash;
};
// Of 17 rows of two blocks of pseudo-random bytes, packed. A row that changes means that existing packed files would be
// read wrongly: raise GGUF_PACKED_VERSION and print the table anew.
// clang-format off
const packed_hash hashes[] = {
    {"F32", 0x31832dba}, {"F16", 0xd5d32be9}, {"Q4_0", 0x8b9891fd}, {"Q4_1", 0xf02dccc4},
    {"Q5_0", 0x27535bca}, {"Q5_1", 0xc3d46938}, {"Q8_0", 0xff5999fb}, {"Q2_K", 0xea719bcb},
    {"Q3_K", 0x74ef480e}, {"Q4_K", 0xa4fe0865}, {"Q5_K", 0xbca3e2a0}, {"Q6_K", 0x0d2a910d},
    {"IQ4_NL", 0x92348bd8}, {"IQ4_XS", 0x7e78732f}, {"BF16", 0xee2791f4}, {"TQ1_0", 0xbf344ffd},
    {"TQ2_0", 0xde1df5a2}, {"MXFP4", 0x978df433}, {"NVFP4", 0x1a0ce52e}, {"Q1_0", 0x0f3be046},
    {"Q2_0", 0xee3fd612}, {"IQ2_XXS", 0x59ac094a}, {"IQ2_XS", 0x88a0415e}, {"IQ2_S", 0x4dccf7bb},
    {"IQ3_XXS", 0x93254483}, {"IQ3_S", 0xcb4ab9be}, {"IQ1_S", 0x4ac3d2ae}, {"IQ1_M", 0x9b549d6c},
};
// clang-format on

uint32_t hash_of_panels(const block_format *f) {
    random_source r = {f->id + 100ull};
    const uint64_t rows = 17, cols = 2 * f->block_size;
    std::vector<uint8_t> file(rows * format_bytes(f, cols)), panels(packed_bytes(f, rows, cols));
    for (uint8_t &byte : file) byte = uint8_t(r.next());
    packed_pack(f, cols, rows, file.data(), panels.data());
    uint32_t hash = 2166136261u; // FNV-1a
    for (uint8_t byte : panels) hash = (hash ^ byte) * 16777619u;
    return hash;
}

} // namespace

TEST_CASE("the layout of packed files changes only with its version", "[cpu]") {
    REQUIRE(GGUF_PACKED_VERSION == 1);
    for (const block_format *f : panel_formats()) {
        auto same = [f](const packed_hash &h) { return std::string(h.format) == f->name; };
        const packed_hash *row = std::find_if(std::begin(hashes), std::end(hashes), same);
        char now[60];
        snprintf(now, sizeof now, "{\"%s\", 0x%08x},", f->name, unsigned(hash_of_panels(f)));
        INFO("this build: " << now);
        CHECK((row != std::end(hashes) && row->hash == hash_of_panels(f)));
    }
}

TEST_CASE("formats without a panel take no packed bytes", "[cpu]") {
    packed_inverse inverse;
    CHECK(packed_bytes(format_by_id(FORMAT_I64), 16, 32) == 0);
    CHECK(!packed_inverse_find(format_by_id(FORMAT_I64), &inverse));
}

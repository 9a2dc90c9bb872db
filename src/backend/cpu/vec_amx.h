// Tiles of the amx tier: six instructions as functions over tile numbers (Intel SDM volume 1, chapter 18). body_amx.inl
// takes them as a type, and the tests put plain C in their place, since few machines have them.
#pragma once
#include "backend/cpu/vec_avx512.h"

namespace llm {
namespace {

// Palette 1: eight tiles of at most 16 rows of 64 bytes.
struct alignas(64) tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

// Assembler: the intrinsics of gcc 12 want digits for tile numbers, tell the compiler of 8 of the 64 bytes of a
// configuration, and of no memory at all that a tile is loaded from.
struct amx_tiles {
    INLINE void configure(const tile_config &c) { asm volatile("ldtilecfg %0" ::"m"(c)); }
    INLINE void release() { asm volatile("tilerelease"); }
    template <int T> INLINE void zero() { asm volatile("tilezero %%tmm%c0" ::"i"(T)); }
    template <int T> INLINE void load(const void *rows, size_t stride) {
        asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(rows), "r"(stride), "i"(T) : "memory");
    }
    template <int T> INLINE void store(void *rows, size_t stride) {
        asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(rows), "r"(stride), "i"(T) : "memory");
    }
    // int32 c[m][n] += sum over four bytes i and rows k of b: int8 a[m][4 k + i] * int8 b[k][4 n + i]
    template <int C, int A, int B> INLINE void multiply() {
        asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
    }
};

} // namespace
} // namespace llm

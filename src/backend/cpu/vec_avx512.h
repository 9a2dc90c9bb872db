// Vector layer of the avx512 tier (F, BW, VL, DQ, VNNI). One struct of one-line functions per tier, the same names in
// each: F holds N floats, I as many int32, Q 4 N bytes of codes (4 values of each of N rows).
#pragma once
#include "backend/cpu/kernels.h"
#include <string.h>
#if defined(__GNUC__) && !defined(__clang__)
// gcc 12's own header starts a variable with itself to say "undefined", and warns about it wherever it is inlined.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

namespace llm {
namespace {

#define INLINE static inline __attribute__((always_inline))

struct V {
    static constexpr int N = 16;
    using F = __m512;
    using I = __m512i;
    using Q = __m512i;

    INLINE F zero() { return _mm512_setzero_ps(); }
    INLINE F all(float x) { return _mm512_set1_ps(x); }
    INLINE F load(const float *p) { return _mm512_loadu_ps(p); }
    INLINE void store(float *p, F v) { _mm512_storeu_ps(p, v); }
    INLINE F load_f16(const uint16_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }
    INLINE F load_bf16(const uint16_t *p) {
        return of_bits(shl<16>(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p))));
    }
    INLINE void store_f16(uint16_t *p, F v) {
        _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
    INLINE F add(F a, F b) { return _mm512_add_ps(a, b); }
    INLINE F sub(F a, F b) { return _mm512_sub_ps(a, b); }
    INLINE F mul(F a, F b) { return _mm512_mul_ps(a, b); }
    INLINE F div(F a, F b) { return _mm512_div_ps(a, b); }
    INLINE F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
    INLINE F fnma(F a, F b, F c) { return _mm512_fnmadd_ps(a, b, c); } // c - a b
    INLINE F fma_exact(F a, F b, F c) { return fma(a, b, c); }         // where nothing is rounded, fused or not
    INLINE F max(F a, F b) { return _mm512_max_ps(a, b); }             // a > b ? a : b
    INLINE F min(F a, F b) { return _mm512_min_ps(a, b); }             // a < b ? a : b
    INLINE F if_less(F a, F b, F yes, F no) {
        return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes);
    }
    INLINE F if_nan(F a, F yes, F no) { return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), no, yes); }

    INLINE float largest_lane(F a) { return _mm512_reduce_max_ps(a); }
    // Sum of 16 lanes: s[j] += s[j + 8], then 4, 2, 1.
    INLINE float sum_halves(const F *s) {
        __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(s[0]), _mm512_extractf32x8_ps(s[0], 1));
        __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
        __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
    }

    INLINE I izero() { return _mm512_setzero_si512(); }
    INLINE I iall(int x) { return _mm512_set1_epi32(x); }
    INLINE I iload(const int32_t *p) { return _mm512_loadu_si512(p); }
    INLINE void istore(int32_t *p, I v) { _mm512_storeu_si512(p, v); }
    INLINE I iadd(I a, I b) { return _mm512_add_epi32(a, b); }
    INLINE I isub(I a, I b) { return _mm512_sub_epi32(a, b); }
    INLINE I imax(I a, I b) { return _mm512_max_epi32(a, b); }
    INLINE int32_t largest_lane(I a) { return _mm512_reduce_max_epi32(a); }
    INLINE bool any_less(I a, int b) { return _mm512_cmplt_epi32_mask(a, iall(b)) != 0; }
    INLINE I iand(I a, I b) { return _mm512_and_si512(a, b); }
    template <int S> INLINE I shl(I a) { return _mm512_slli_epi32(a, S); }
    template <int S> INLINE I sra(I a) { return _mm512_srai_epi32(a, S); }
    INLINE I load_u8(const uint8_t *p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p)); }
    INLINE I load_s8(const uint8_t *p) { return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)); }
    // Stores 32 small integers as bytes; sums[0] and sums[1] become the sums of the first and the last 16.
    INLINE void store_32(int8_t *p, const I *v, int32_t *sums) {
        __m128i low = _mm512_cvtepi32_epi8(v[0]), high = _mm512_cvtepi32_epi8(v[1]);
        __m256i q = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
        _mm256_storeu_si256((__m256i *)p, q);
        __m256i four = _mm256_dpbusd_epi32(_mm256_setzero_si256(), _mm256_set1_epi8(1), q);
        __m256i two = _mm256_add_epi32(four, _mm256_shuffle_epi32(four, 0x4e));
        __m256i one = _mm256_add_epi32(two, _mm256_shuffle_epi32(two, 0xb1));
        sums[0] = _mm_cvtsi128_si32(_mm256_castsi256_si128(one));
        sums[1] = _mm_cvtsi128_si32(_mm256_extracti128_si256(one, 1));
    }
    INLINE F of_int(I a) { return _mm512_cvtepi32_ps(a); }
    INLINE I nearest(F a) { return _mm512_cvtps_epi32(a); } // ties to even
    INLINE I bits(F a) { return _mm512_castps_si512(a); }
    INLINE F of_bits(I a) { return _mm512_castsi512_ps(a); }

    INLINE Q codes(const uint8_t *p) { return _mm512_loadu_si512(p); }
    INLINE Q low_nibbles(Q v) { return _mm512_and_si512(v, _mm512_set1_epi8(15)); }
    INLINE Q high_nibbles(Q v) { return _mm512_and_si512(_mm512_srli_epi16(v, 4), _mm512_set1_epi8(15)); }
    // q | ((h << S) & MASK), byte by byte; S may be negative, MASK drops what comes from the neighbouring byte.
    template <int S, int MASK> INLINE Q add_bits(Q h, Q q) {
        Q t = S >= 0 ? _mm512_slli_epi16(h, S < 0 ? 0 : S) : _mm512_srli_epi16(h, S < 0 ? -S : 0);
        return _mm512_ternarylogic_epi32(t, _mm512_set1_epi8((char)MASK), q, 0xEA);
    }
    // (h << S) & MASK, byte by byte, S and MASK as in add_bits.
    template <int S, int MASK> INLINE Q bits_of(Q h) {
        Q t = S >= 0 ? _mm512_slli_epi16(h, S < 0 ? 0 : S) : _mm512_srli_epi16(h, S < 0 ? -S : 0);
        return _mm512_and_si512(t, _mm512_set1_epi8((char)MASK));
    }
    // table[q] of 16 bytes, byte by byte, for q < 16; 0 where the top bit of q is set.
    INLINE Q lookup(const uint8_t *table, Q q) {
        return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)table)), q);
    }
    // table[index], lane by lane; and its bytes as codes.
    INLINE I gather(const uint32_t *table, I index) { return _mm512_i32gather_epi32(index, table, 4); }
    INLINE Q as_codes(I v) { return v; }
    // Signed codes become unsigned for vpdpbusd, 128 larger.
    static constexpr int SIGNED_OFFSET = 128; // what signed_codes() adds
    INLINE Q signed_codes(const uint8_t *p) { return _mm512_xor_si512(codes(p), _mm512_set1_epi8((char)0x80)); }

    // vpdpbusd waits 5 or 6 cycles for its own result and two may start in each, so all tokens run side by side (pairs:
    // 60 instead of 68 products a cycle on an Emerald Rapids).
    static constexpr int TOGETHER = 8;
    static constexpr bool BORROWS = false; // see vec_neon.h
    static constexpr const cpu_float_kernels *FLOATS = nullptr;
    static constexpr bool SHARE_CODE = false; // see vec_neon.h
    // acc += codes * the four activation bytes at `a`. Assembler, because gcc 12 otherwise spends an instruction and a
    // register on the broadcast, which as part of the operand is free.
    INLINE void dot4(I &acc, Q codes, const int8_t *a) {
        asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(acc) : "v"(codes), "m"(*(const int32_t *)a));
    }
    // acc[u] += sum over GROUPS groups of codes (none above MAX) and activations of token u, whose blocks follow each
    // other. One token alone runs as two chains: integers may be added in any order, and one chain waits for itself.
    template <int MAX, int GROUPS, int TOKENS> INLINE void dot(I *acc, const Q *q, const int8_t *a) {
        if (TOKENS == 1) {
            I other = izero();
#pragma GCC unroll 8
            for (int g = 0; g < GROUPS; g += 2) {
                dot4(acc[0], q[g], a + 4 * g);
                dot4(other, q[g + 1], a + 4 * g + 4);
            }
            acc[0] = iadd(acc[0], other);
            return;
        }
#pragma GCC unroll 8
        for (int g = 0; g < GROUPS; g++)
#pragma GCC unroll 8
            for (int u = 0; u < TOKENS; u++) dot4(acc[u], q[g], a + u * sizeof(act_block) + 4 * g);
    }
    template <int TOKENS, int GROUPS = 8> INLINE void dot_signed(I *acc, const Q *q, const int8_t *a) {
        dot<255, GROUPS, TOKENS>(acc, q, a);
    }
};

} // namespace
} // namespace llm

// Vector layer of the avx2 tier (AVX2, FMA, F16C), and with __AVXVNNI__ of the avxvnni tier. The names are explained in
// vec_avx512.h.
#pragma once
#include "backend/cpu/kernels.h"
#include <immintrin.h>
#include <string.h>

namespace llm {
namespace {

#define INLINE static inline __attribute__((always_inline))

struct V {
    static constexpr int N = 8;
    using F = __m256;
    using I = __m256i;
    using Q = __m256i;

    INLINE F zero() { return _mm256_setzero_ps(); }
    INLINE F all(float x) { return _mm256_set1_ps(x); }
    INLINE F load(const float *p) { return _mm256_loadu_ps(p); }
    INLINE void store(float *p, F v) { _mm256_storeu_ps(p, v); }
    INLINE F load_f16(const uint16_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }
    INLINE F load_bf16(const uint16_t *p) {
        return of_bits(shl<16>(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p))));
    }
    INLINE void store_f16(uint16_t *p, F v) {
        _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    }
    INLINE F add(F a, F b) { return _mm256_add_ps(a, b); }
    INLINE F sub(F a, F b) { return _mm256_sub_ps(a, b); }
    INLINE F mul(F a, F b) { return _mm256_mul_ps(a, b); }
    INLINE F div(F a, F b) { return _mm256_div_ps(a, b); }
    INLINE F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
    INLINE F fnma(F a, F b, F c) { return _mm256_fnmadd_ps(a, b, c); }
    INLINE F fma_exact(F a, F b, F c) { return fma(a, b, c); }
    INLINE F max(F a, F b) { return _mm256_max_ps(a, b); }
    INLINE F min(F a, F b) { return _mm256_min_ps(a, b); }
    INLINE F if_less(F a, F b, F yes, F no) { return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_LT_OQ)); }
    INLINE F if_nan(F a, F yes, F no) { return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, a, _CMP_UNORD_Q)); }

    INLINE float largest_lane(F a) {
        __m128 four = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
        __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
    }
    INLINE float sum_halves(const F *s) {
        __m256 eight = _mm256_add_ps(s[0], s[1]);
        __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
        __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
    }

    INLINE I izero() { return _mm256_setzero_si256(); }
    INLINE I iall(int x) { return _mm256_set1_epi32(x); }
    INLINE I iload(const int32_t *p) { return _mm256_loadu_si256((const I *)p); }
    INLINE void istore(int32_t *p, I v) { _mm256_storeu_si256((I *)p, v); }
    INLINE I iadd(I a, I b) { return _mm256_add_epi32(a, b); }
    INLINE I isub(I a, I b) { return _mm256_sub_epi32(a, b); }
    INLINE I imax(I a, I b) { return _mm256_max_epi32(a, b); }
    INLINE int32_t largest_lane(I a) {
        __m128i four = _mm_max_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
        __m128i two = _mm_max_epi32(four, _mm_unpackhi_epi64(four, four));
        return _mm_cvtsi128_si32(_mm_max_epi32(two, _mm_shuffle_epi32(two, 1)));
    }
    INLINE bool any_less(I a, int b) { return _mm256_movemask_epi8(_mm256_cmpgt_epi32(iall(b), a)) != 0; }
    INLINE I iand(I a, I b) { return _mm256_and_si256(a, b); }
    template <int S> INLINE I shl(I a) { return _mm256_slli_epi32(a, S); }
    template <int S> INLINE I sra(I a) { return _mm256_srai_epi32(a, S); }
    INLINE I load_u8(const uint8_t *p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)); }
    INLINE I load_s8(const uint8_t *p) { return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)); }
    INLINE void store_32(int8_t *p, const I *v, int32_t *sums) {
        __m256i a = _mm256_packs_epi32(v[0], v[1]), b = _mm256_packs_epi32(v[2], v[3]);
        __m256i mixed = _mm256_packs_epi16(a, b); // groups of four: 0 2 4 6, 1 3 5 7
        __m256i q = _mm256_permutevar8x32_epi32(mixed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
        _mm256_storeu_si256((__m256i *)p, q);
        __m256i four = pairs(_mm256_maddubs_epi16(_mm256_set1_epi8(1), q));
        __m256i two = _mm256_add_epi32(four, _mm256_shuffle_epi32(four, 0x4e));
        __m256i one = _mm256_add_epi32(two, _mm256_shuffle_epi32(two, 0xb1));
        sums[0] = _mm_cvtsi128_si32(_mm256_castsi256_si128(one));
        sums[1] = _mm_cvtsi128_si32(_mm256_extracti128_si256(one, 1));
    }
    INLINE F of_int(I a) { return _mm256_cvtepi32_ps(a); }
    INLINE I nearest(F a) { return _mm256_cvtps_epi32(a); }
    INLINE I bits(F a) { return _mm256_castps_si256(a); }
    INLINE F of_bits(I a) { return _mm256_castsi256_ps(a); }

    INLINE Q codes(const uint8_t *p) { return _mm256_loadu_si256((const I *)p); }
    INLINE Q low_nibbles(Q v) { return _mm256_and_si256(v, _mm256_set1_epi8(15)); }
    INLINE Q high_nibbles(Q v) { return _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(15)); }
    template <int S, int MASK> INLINE Q add_bits(Q h, Q q) {
        Q t = S >= 0 ? _mm256_slli_epi16(h, S < 0 ? 0 : S) : _mm256_srli_epi16(h, S < 0 ? -S : 0);
        return _mm256_or_si256(_mm256_and_si256(t, _mm256_set1_epi8((char)MASK)), q);
    }
    template <int S, int MASK> INLINE Q bits_of(Q h) {
        Q t = S >= 0 ? _mm256_slli_epi16(h, S < 0 ? 0 : S) : _mm256_srli_epi16(h, S < 0 ? -S : 0);
        return _mm256_and_si256(t, _mm256_set1_epi8((char)MASK));
    }
    INLINE Q lookup(const uint8_t *table, Q q) {
        return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)table)), q);
    }
    INLINE I gather(const uint32_t *table, I index) { return _mm256_i32gather_epi32((const int *)table, index, 4); }
    INLINE Q as_codes(I v) { return v; }
    INLINE Q four(const int8_t *p) {
        int32_t v;
        memcpy(&v, p, 4);
        return _mm256_set1_epi32(v);
    }
    INLINE I pairs(Q s16) { return _mm256_madd_epi16(s16, _mm256_set1_epi16(1)); }

    static constexpr bool BORROWS = false; // see vec_neon.h
    static constexpr const cpu_float_kernels *FLOATS = nullptr;
    static constexpr bool SHARE_CODE = false;
#if defined(__AVXVNNI__)
    static constexpr int TOGETHER = 4;
    static constexpr int SIGNED_OFFSET = 128;
    INLINE Q signed_codes(const uint8_t *p) { return _mm256_xor_si256(codes(p), _mm256_set1_epi8((char)0x80)); }
    template <int MAX, int GROUPS, int TOKENS> INLINE void dot(I *acc, const Q *q, const int8_t *a) {
#pragma GCC unroll 8
        for (int g = 0; g < GROUPS; g++)
#pragma GCC unroll 8
            for (int u = 0; u < TOKENS; u++)
                acc[u] = _mm256_dpbusd_avx_epi32(acc[u], q[g], four(a + u * sizeof(act_block) + 4 * g));
    }
    template <int TOKENS, int GROUPS = 8> INLINE void dot_signed(I *acc, const Q *q, const int8_t *a) {
        dot<255, GROUPS, TOKENS>(acc, q, a);
    }
#else
    static constexpr int TOGETHER = 2;
    static constexpr int SIGNED_OFFSET = 0;
    INLINE Q signed_codes(const uint8_t *p) { return codes(p); }
    // vpmaddubsw saturates: as many groups are added in int16 as cannot reach its end (a pair of products is at most
    // 2 * 127 * MAX).
    template <int MAX, int GROUPS, int TOKENS> INLINE void dot(I *acc, const Q *q, const int8_t *a) {
        constexpr int FIT = 32767 / (MAX * 254), SHARED = FIT < GROUPS ? FIT : GROUPS;
#pragma GCC unroll 8
        for (int u = 0; u < TOKENS; u++) {
            const int8_t *x = a + u * sizeof(act_block);
#pragma GCC unroll 8
            for (int g = 0; g < GROUPS; g += SHARED) {
                Q s = _mm256_maddubs_epi16(q[g], four(x + 4 * g));
#pragma GCC unroll 8
                for (int j = 1; j < SHARED; j++)
                    if (g + j < GROUPS) s = _mm256_add_epi16(s, _mm256_maddubs_epi16(q[g + j], four(x + 4 * (g + j))));
                acc[u] = iadd(acc[u], pairs(s));
            }
        }
    }
    // Signed codes as |code| <= 128 with the sign moved to the activation, which is never -128: 2 * 128 * 127 fits.
    // The pipes that multiply are full (24 of 32 instructions). Nibbles of the code + 128 with int16 sums over all
    // groups, a third less for them but more in all, were slower: 15.4 instead of 17.5 products a cycle. Codes and
    // activations widened to int16 (vpmaddwd, a third less to multiply, 4 tokens and 16 rows at a time) gave 17.6
    // instead of 15.7 for 8 tokens on Zen 3, too little for a second form of this loop.
    template <int TOKENS, int GROUPS = 8> INLINE void dot_signed(I *acc, const Q *q, const int8_t *a) {
#pragma GCC unroll 8
        for (int u = 0; u < TOKENS; u++)
#pragma GCC unroll 8
            for (int g = 0; g < GROUPS; g++) {
                Q x = _mm256_sign_epi8(four(a + u * sizeof(act_block) + 4 * g), q[g]);
                acc[u] = iadd(acc[u], pairs(_mm256_maddubs_epi16(_mm256_abs_epi8(q[g]), x)));
            }
    }
#endif
};

} // namespace
} // namespace llm

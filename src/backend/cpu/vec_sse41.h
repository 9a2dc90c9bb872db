// Vector layer of the sse41 tier: x86-64 processors without AVX2 or without FMA (Penryn to Ivy Bridge, small Atoms).
// The names are explained in vec_avx512.h. What these processors lack is made of what they have: fused multiply-add of
// double arithmetic, half floats of integers.
#pragma once
#include "backend/cpu/kernels.h"
#include <smmintrin.h>
#include <string.h>

namespace llm {
namespace {

#define INLINE static inline __attribute__((always_inline))

// a b + c of two lanes in double, rounded to odd: to the neighbour with an odd last bit, unless it is exact. The
// product of two floats is exact in double. Rounded once more, to float, the result is that of one rounding, because
// double has more than two bits beyond float. Boldo, Melquiond: Emulation of FMA and correctly rounded sums: proved
// algorithms using rounding to odd, 2008. The error of the sum: Knuth's two-sum.
INLINE __m128d odd_fma(__m128d a, __m128d b, __m128d c) {
    const __m128d p = _mm_mul_pd(a, b), s = _mm_add_pd(p, c), t = _mm_sub_pd(s, p);
    const __m128d error = _mm_add_pd(_mm_sub_pd(p, _mm_sub_pd(s, t)), _mm_sub_pd(c, t));
    // Compared in order: an infinite sum has an error that is no number, and stays.
    const __m128d below = _mm_cmplt_pd(error, _mm_setzero_pd()), above = _mm_cmpgt_pd(error, _mm_setzero_pd());
    const __m128d negative = _mm_cmplt_pd(s, _mm_setzero_pd());
    const __m128d beyond = _mm_blendv_pd(below, above, negative); // the sum is nearer to zero than s
    const __m128i towards_zero = _mm_add_epi64(_mm_castpd_si128(s), _mm_castpd_si128(beyond));
    const __m128i inexact = _mm_srli_epi64(_mm_castpd_si128(_mm_or_pd(below, above)), 63);
    return _mm_castsi128_pd(_mm_or_si128(towards_zero, inexact));
}

INLINE __m128 upper(__m128 a) { return _mm_movehl_ps(a, a); }

__attribute__((noinline, cold)) static __m128 fma_by_odd(__m128 a, __m128 b, __m128 c) {
    const __m128d low = odd_fma(_mm_cvtps_pd(a), _mm_cvtps_pd(b), _mm_cvtps_pd(c));
    const __m128d high = odd_fma(_mm_cvtps_pd(upper(a)), _mm_cvtps_pd(upper(b)), _mm_cvtps_pd(upper(c)));
    return _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high));
}

struct V {
    static constexpr int N = 4;
    using F = __m128;
    using I = __m128i;
    using Q = __m128i;

    INLINE F zero() { return _mm_setzero_ps(); }
    INLINE F all(float x) { return _mm_set1_ps(x); }
    INLINE F load(const float *p) { return _mm_loadu_ps(p); }
    INLINE void store(float *p, F v) { _mm_storeu_ps(p, v); }
    INLINE I load_u16(const uint16_t *p) { return _mm_cvtepu16_epi32(_mm_loadl_epi64((const __m128i *)p)); }
    INLINE F load_f16(const uint16_t *p) {
        const I half = load_u16(p), m = iand(half, iall(0x7fff));
        // 2^-24 is the last bit of 0.5: a denormal half added to its bits is the number behind it.
        const F denormal = sub(of_bits(iadd(m, iall(0x3f000000))), all(0.5f));
        const I infinite = iand(_mm_cmpgt_epi32(m, iall(0x7bff)), iall(0x7f800000));
        const I normal = _mm_or_si128(iadd(shl<13>(m), iall(112 << 23)), infinite);
        const F v = _mm_blendv_ps(of_bits(normal), denormal, of_bits(_mm_cmpgt_epi32(iall(0x400), m)));
        return _mm_or_ps(v, of_bits(shl<16>(_mm_xor_si128(half, m))));
    }
    INLINE F load_bf16(const uint16_t *p) { return of_bits(shl<16>(load_u16(p))); }
    INLINE void store_f16(uint16_t *p, F v) {
        const I x = iand(bits(v), iall(0x7fffffff)), sign = _mm_srli_epi32(_mm_xor_si128(bits(v), x), 16);
        const I denormal = isub(bits(add(of_bits(x), all(0.5f))), iall(0x3f000000));
        // Half of the last bit, less one where the last bit is 0: ties to even. A carry out of the largest is infinity.
        const I odd = iand(_mm_srli_epi32(x, 13), iall(1));
        const I normal = _mm_srli_epi32(iadd(iadd(x, iall(0xfff - (112 << 23))), odd), 13);
        I h = _mm_blendv_epi8(normal, denormal, _mm_cmpgt_epi32(iall(0x38800000), x)); // below 2^-14
        h = _mm_blendv_epi8(h, iall(0x7c00), _mm_cmpgt_epi32(x, iall(0x47800000 - 1)));
        h = _mm_blendv_epi8(h, iall(0x7e00), _mm_cmpgt_epi32(x, iall(0x7f800000)));
        h = _mm_or_si128(h, sign);
        _mm_storel_epi64((__m128i *)p, _mm_packus_epi32(h, h));
    }
    INLINE F add(F a, F b) { return _mm_add_ps(a, b); }
    INLINE F sub(F a, F b) { return _mm_sub_ps(a, b); }
    INLINE F mul(F a, F b) { return _mm_mul_ps(a, b); }
    INLINE F div(F a, F b) { return _mm_div_ps(a, b); }
    // The sum in double, rounded again to float, is wrong only where the first rounding has made a tie of it (its last
    // 29 bits are 100...0), or where the float is denormal and ties are elsewhere: these lanes, few with any real
    // data, go the long way. The long way everywhere would nearly double the cost. (A float that becomes 0 was exact
    // in double: its addend was 0 or cancelled.)
    INLINE F fma(F a, F b, F c) {
        const __m128d low = _mm_add_pd(_mm_mul_pd(_mm_cvtps_pd(a), _mm_cvtps_pd(b)), _mm_cvtps_pd(c));
        const __m128d high =
            _mm_add_pd(_mm_mul_pd(_mm_cvtps_pd(upper(a)), _mm_cvtps_pd(upper(b))), _mm_cvtps_pd(upper(c)));
        const F result = _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high));
        const I tail = bits(_mm_shuffle_ps(_mm_castpd_ps(low), _mm_castpd_ps(high), 0x88));
        const I tie = _mm_cmpeq_epi32(iand(tail, iall(0x1fffffff)), iall(0x10000000));
        // 0 < |result| <= 2^-126 as one comparison of twice its bits, 0 having become the largest.
        const I small = _mm_cmplt_epi32(iadd(shl<1>(bits(result)), iall(0x7fffffff)), iall(int(0x81000000u)));
        if (__builtin_expect(_mm_movemask_ps(of_bits(_mm_or_si128(tie, small))), 0)) return fma_by_odd(a, b, c);
        return result;
    }
    INLINE F fnma(F a, F b, F c) { return fma(_mm_xor_ps(a, all(-0.f)), b, c); }
    INLINE F fma_exact(F a, F b, F c) { return add(mul(a, b), c); }
    INLINE F max(F a, F b) { return _mm_max_ps(a, b); }
    INLINE F min(F a, F b) { return _mm_min_ps(a, b); }
    INLINE F if_less(F a, F b, F yes, F no) { return _mm_blendv_ps(no, yes, _mm_cmplt_ps(a, b)); }
    INLINE F if_nan(F a, F yes, F no) { return _mm_blendv_ps(no, yes, _mm_cmpunord_ps(a, a)); }

    INLINE float largest_lane(F a) {
        F two = _mm_max_ps(a, upper(a));
        return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
    }
    INLINE float sum_halves(const F *s) {
        F four = add(add(s[0], s[2]), add(s[1], s[3]));
        F two = add(four, upper(four));
        return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
    }

    INLINE I izero() { return _mm_setzero_si128(); }
    INLINE I iall(int x) { return _mm_set1_epi32(x); }
    INLINE I iload(const int32_t *p) { return _mm_loadu_si128((const I *)p); }
    INLINE void istore(int32_t *p, I v) { _mm_storeu_si128((I *)p, v); }
    INLINE I iadd(I a, I b) { return _mm_add_epi32(a, b); }
    INLINE I isub(I a, I b) { return _mm_sub_epi32(a, b); }
    INLINE I imax(I a, I b) { return _mm_max_epi32(a, b); }
    INLINE int32_t largest_lane(I a) {
        I two = imax(a, _mm_shuffle_epi32(a, 0x4e));
        return _mm_cvtsi128_si32(imax(two, _mm_shuffle_epi32(two, 0xb1)));
    }
    INLINE bool any_less(I a, int b) { return _mm_movemask_epi8(_mm_cmpgt_epi32(iall(b), a)) != 0; }
    INLINE I iand(I a, I b) { return _mm_and_si128(a, b); }
    template <int S> INLINE I shl(I a) { return _mm_slli_epi32(a, S); }
    template <int S> INLINE I sra(I a) { return _mm_srai_epi32(a, S); }
    INLINE I four_bytes(const void *p) {
        int32_t v;
        memcpy(&v, p, 4);
        return _mm_cvtsi32_si128(v);
    }
    INLINE I load_u8(const uint8_t *p) { return _mm_cvtepu8_epi32(four_bytes(p)); }
    INLINE I load_s8(const uint8_t *p) { return _mm_cvtepi8_epi32(four_bytes(p)); }
    INLINE int32_t sum_bytes(Q q) {
        I four = pairs(_mm_maddubs_epi16(_mm_set1_epi8(1), q));
        I two = iadd(four, _mm_shuffle_epi32(four, 0x4e));
        return _mm_cvtsi128_si32(iadd(two, _mm_shuffle_epi32(two, 0xb1)));
    }
    INLINE void store_32(int8_t *p, const I *v, int32_t *sums) {
#pragma GCC unroll 2
        for (int i = 0; i < 2; i++, v += 4) {
            Q q = _mm_packs_epi16(_mm_packs_epi32(v[0], v[1]), _mm_packs_epi32(v[2], v[3]));
            _mm_storeu_si128((Q *)p + i, q);
            sums[i] = sum_bytes(q);
        }
    }
    INLINE F of_int(I a) { return _mm_cvtepi32_ps(a); }
    INLINE I nearest(F a) { return _mm_cvtps_epi32(a); }
    INLINE I bits(F a) { return _mm_castps_si128(a); }
    INLINE F of_bits(I a) { return _mm_castsi128_ps(a); }

    INLINE Q codes(const uint8_t *p) { return _mm_loadu_si128((const Q *)p); }
    INLINE Q low_nibbles(Q v) { return _mm_and_si128(v, _mm_set1_epi8(15)); }
    INLINE Q high_nibbles(Q v) { return _mm_and_si128(_mm_srli_epi16(v, 4), _mm_set1_epi8(15)); }
    template <int S, int MASK> INLINE Q add_bits(Q h, Q q) { return _mm_or_si128(bits_of<S, MASK>(h), q); }
    template <int S, int MASK> INLINE Q bits_of(Q h) {
        Q t = S >= 0 ? _mm_slli_epi16(h, S < 0 ? 0 : S) : _mm_srli_epi16(h, S < 0 ? -S : 0);
        return _mm_and_si128(t, _mm_set1_epi8((char)MASK));
    }
    INLINE Q lookup(const uint8_t *table, Q q) { return _mm_shuffle_epi8(codes(table), q); }
    INLINE I gather(const uint32_t *table, I index) {
        return _mm_setr_epi32(int(table[_mm_cvtsi128_si32(index)]), int(table[_mm_extract_epi32(index, 1)]),
                              int(table[_mm_extract_epi32(index, 2)]), int(table[_mm_extract_epi32(index, 3)]));
    }
    INLINE Q as_codes(I v) { return v; }
    INLINE I pairs(Q s16) { return _mm_madd_epi16(s16, _mm_set1_epi16(1)); }

    // Group g of the activations at `a` in every lane.
    INLINE Q four(const int8_t *a, int g) { return _mm_shuffle_epi32(four_bytes(a + 4 * g), 0); }

    static constexpr int TOGETHER = 2;
    static constexpr bool BORROWS = false; // see vec_neon.h
    static constexpr const cpu_float_kernels *FLOATS = nullptr;
    static constexpr bool SHARE_CODE = false;
    static constexpr int SIGNED_OFFSET = 0;
    INLINE Q signed_codes(const uint8_t *p) { return codes(p); }
    // As in vec_avx2.h: groups are added in int16 as long as they cannot saturate.
    template <int MAX, int GROUPS, int TOKENS> INLINE void dot(I *acc, const Q *q, const int8_t *a) {
        constexpr int FIT = 32767 / (MAX * 254), SHARED = FIT < GROUPS ? FIT : GROUPS;
#pragma GCC unroll 8
        for (int u = 0; u < TOKENS; u++) {
            const int8_t *x = a + u * sizeof(act_block);
#pragma GCC unroll 8
            for (int g = 0; g < GROUPS; g += SHARED) {
                Q s = _mm_maddubs_epi16(q[g], four(x, g));
#pragma GCC unroll 8
                for (int j = 1; j < SHARED; j++)
                    if (g + j < GROUPS) s = _mm_add_epi16(s, _mm_maddubs_epi16(q[g + j], four(x, g + j)));
                acc[u] = iadd(acc[u], pairs(s));
            }
        }
    }
    template <int TOKENS, int GROUPS = 8> INLINE void dot_signed(I *acc, const Q *q, const int8_t *a) {
#pragma GCC unroll 8
        for (int u = 0; u < TOKENS; u++)
#pragma GCC unroll 8
            for (int g = 0; g < GROUPS; g++) {
                Q x = _mm_sign_epi8(four(a + u * sizeof(act_block), g), q[g]);
                acc[u] = iadd(acc[u], pairs(_mm_maddubs_epi16(_mm_abs_epi8(q[g]), x)));
            }
    }
};

} // namespace
} // namespace llm

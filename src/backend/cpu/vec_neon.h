// Vector layer of the AArch64 tiers: armv8.0 by itself, with __ARM_FEATURE_DOTPROD and __ARM_FEATURE_MATMUL_INT8 of the
// tiers neon-dotprod and neon-i8mm. The names are explained in vec_avx512.h.
//
// A vector is two registers: with 32 of them, two quarters of a panel side by side load each activation once for both,
// where one at a time would load it twice. (Four at once would need a register for each of their 32 groups of codes.)
#pragma once
#include "backend/cpu/kernels.h"
#include <arm_neon.h>
#include <string.h>

namespace llm {
namespace {

#define INLINE static inline __attribute__((always_inline))

struct V {
    static constexpr int N = 8;
    // Not float32x4x2_t: compilers keep that in neighbouring registers, and copy to get there.
    struct F {
        float32x4_t a, b;
    };
    struct I {
        int32x4_t a, b;
    };
    struct Q {
        uint8x16_t a, b;
    };

    INLINE F zero() { return all(0); }
    INLINE F all(float x) { return {vdupq_n_f32(x), vdupq_n_f32(x)}; }
    INLINE F load(const float *p) { return {vld1q_f32(p), vld1q_f32(p + 4)}; }
    INLINE void store(float *p, F v) {
        vst1q_f32(p, v.a);
        vst1q_f32(p + 4, v.b);
    }
    INLINE F load_f16(const uint16_t *p) {
        float16x8_t v = vreinterpretq_f16_u16(vld1q_u16(p));
        return {vcvt_f32_f16(vget_low_f16(v)), vcvt_high_f32_f16(v)};
    }
    INLINE F load_bf16(const uint16_t *p) {
        uint16x8_t v = vld1q_u16(p);
        return {vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(v), 16)),
                vreinterpretq_f32_u32(vshll_high_n_u16(v, 16))};
    }
    INLINE void store_f16(uint16_t *p, F v) {
        vst1q_u16(p, vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(v.a), v.b)));
    }
    INLINE F add(F x, F y) { return {vaddq_f32(x.a, y.a), vaddq_f32(x.b, y.b)}; }
    INLINE F sub(F x, F y) { return {vsubq_f32(x.a, y.a), vsubq_f32(x.b, y.b)}; }
    INLINE F mul(F x, F y) { return {vmulq_f32(x.a, y.a), vmulq_f32(x.b, y.b)}; }
    INLINE F div(F x, F y) { return {vdivq_f32(x.a, y.a), vdivq_f32(x.b, y.b)}; }
    INLINE F fma(F x, F y, F z) { return {vfmaq_f32(z.a, x.a, y.a), vfmaq_f32(z.b, x.b, y.b)}; }
    INLINE F fma_exact(F x, F y, F z) { return fma(x, y, z); } // where a product and a sum would give the same
    INLINE F fnma(F x, F y, F z) { return {vfmsq_f32(z.a, x.a, y.a), vfmsq_f32(z.b, x.b, y.b)}; }
    // fmax and fmin treat NaN and the sign of a zero differently from x86.
    INLINE float32x4_t larger(float32x4_t x, float32x4_t y) { return vbslq_f32(vcgtq_f32(x, y), x, y); }
    INLINE F max(F x, F y) { return {larger(x.a, y.a), larger(x.b, y.b)}; }
    INLINE F min(F x, F y) { return if_less(x, y, x, y); }
    INLINE F if_less(F x, F y, F yes, F no) {
        return {vbslq_f32(vcltq_f32(x.a, y.a), yes.a, no.a), vbslq_f32(vcltq_f32(x.b, y.b), yes.b, no.b)};
    }
    INLINE F if_nan(F x, F yes, F no) {
        return {vbslq_f32(vceqq_f32(x.a, x.a), no.a, yes.a), vbslq_f32(vceqq_f32(x.b, x.b), no.b, yes.b)};
    }

    INLINE float largest_lane(F x) {
        float32x4_t four = larger(x.a, x.b), two = larger(four, vextq_f32(four, four, 2));
        return vgetq_lane_f32(larger(two, vdupq_laneq_f32(two, 1)), 0);
    }
    INLINE float sum_halves(const F *s) {
        float32x4_t four = vaddq_f32(vaddq_f32(s[0].a, s[1].a), vaddq_f32(s[0].b, s[1].b));
        float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
        return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
    }

    INLINE I izero() { return iall(0); }
    INLINE I iall(int x) { return {vdupq_n_s32(x), vdupq_n_s32(x)}; }
    INLINE I iload(const int32_t *p) { return {vld1q_s32(p), vld1q_s32(p + 4)}; }
    INLINE void istore(int32_t *p, I v) {
        vst1q_s32(p, v.a);
        vst1q_s32(p + 4, v.b);
    }
    INLINE I iadd(I x, I y) { return {vaddq_s32(x.a, y.a), vaddq_s32(x.b, y.b)}; }
    INLINE I isub(I x, I y) { return {vsubq_s32(x.a, y.a), vsubq_s32(x.b, y.b)}; }
    INLINE I imax(I x, I y) { return {vmaxq_s32(x.a, y.a), vmaxq_s32(x.b, y.b)}; }
    INLINE int32_t largest_lane(I x) { return vmaxvq_s32(vmaxq_s32(x.a, x.b)); }
    INLINE bool any_less(I x, int y) { return vminvq_s32(vminq_s32(x.a, x.b)) < y; }
    INLINE I iand(I x, I y) { return {vandq_s32(x.a, y.a), vandq_s32(x.b, y.b)}; }
    template <int S> INLINE I shl(I x) { return {vshlq_n_s32(x.a, S), vshlq_n_s32(x.b, S)}; }
    template <int S> INLINE I sra(I x) { return {vshrq_n_s32(x.a, S), vshrq_n_s32(x.b, S)}; }
    INLINE I load_u8(const uint8_t *p) {
        uint16x8_t v = vmovl_u8(vld1_u8(p));
        return {vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(v))), vreinterpretq_s32_u32(vmovl_high_u16(v))};
    }
    INLINE I load_s8(const uint8_t *p) {
        int16x8_t v = vmovl_s8(vreinterpret_s8_u8(vld1_u8(p)));
        return {vmovl_s16(vget_low_s16(v)), vmovl_high_s16(v)};
    }
    INLINE void store_32(int8_t *p, const I *v, int32_t *sums) {
#pragma GCC unroll 2
        for (int half = 0; half < 2; half++) {
            const I first = v[2 * half], last = v[2 * half + 1];
            int16x8_t low = vmovn_high_s32(vmovn_s32(first.a), first.b);
            int16x8_t high = vmovn_high_s32(vmovn_s32(last.a), last.b);
            vst1q_s8(p + 16 * half, vmovn_high_s16(vmovn_s16(low), high));
            sums[half] = vaddlvq_s16(vaddq_s16(low, high));
        }
    }
    INLINE F of_int(I x) { return {vcvtq_f32_s32(x.a), vcvtq_f32_s32(x.b)}; }
    INLINE I nearest(F x) { return {vcvtnq_s32_f32(x.a), vcvtnq_s32_f32(x.b)}; }
    INLINE I bits(F x) { return {vreinterpretq_s32_f32(x.a), vreinterpretq_s32_f32(x.b)}; }
    INLINE F of_bits(I x) { return {vreinterpretq_f32_s32(x.a), vreinterpretq_f32_s32(x.b)}; }

    INLINE Q codes(const uint8_t *p) { return {vld1q_u8(p), vld1q_u8(p + 16)}; }
    INLINE Q low_nibbles(Q v) { return {vandq_u8(v.a, vdupq_n_u8(15)), vandq_u8(v.b, vdupq_n_u8(15))}; }
    INLINE Q high_nibbles(Q v) { return {vshrq_n_u8(v.a, 4), vshrq_n_u8(v.b, 4)}; }
    template <int S> INLINE uint8x16_t shifted(uint8x16_t h) {
        return S > 0 ? vshlq_n_u8(h, S > 0 ? S : 0) : S < 0 ? vshrq_n_u8(h, S < 0 ? -S : 1) : h;
    }
    // An insertion under the mask is one instruction where and-or are two; q has no bits there.
    template <int S, int MASK> INLINE uint8x16_t insert(uint8x16_t h, uint8x16_t q) {
        return MASK == 255 ? vorrq_u8(shifted<S>(h), q) : vbslq_u8(vdupq_n_u8(MASK), shifted<S>(h), q);
    }
    template <int S, int MASK> INLINE Q add_bits(Q h, Q q) {
        return {insert<S, MASK>(h.a, q.a), insert<S, MASK>(h.b, q.b)};
    }
    template <int S, int MASK> INLINE Q bits_of(Q h) {
        return {vandq_u8(shifted<S>(h.a), vdupq_n_u8(MASK)), vandq_u8(shifted<S>(h.b), vdupq_n_u8(MASK))};
    }
    INLINE Q lookup(const uint8_t *table, Q q) {
        uint8x16_t t = vld1q_u8(table);
        return {vqtbl1q_u8(t, q.a), vqtbl1q_u8(t, q.b)};
    }
    INLINE I gather(const uint32_t *table, I index) {
        int32_t at[N];
        istore(at, index);
        for (int i = 0; i < N; i++) at[i] = int32_t(table[at[i]]);
        return iload(at);
    }
    INLINE Q as_codes(I v) { return {vreinterpretq_u8_s32(v.a), vreinterpretq_u8_s32(v.b)}; }

    // The tiers with dot products take the larger kernels without them from the plain one: 110 KB each.
#if defined(__ARM_FEATURE_DOTPROD)
    static constexpr bool BORROWS = true;
    static constexpr const cpu_float_kernels *FLOATS = &float_kernels_neon;
#else
    static constexpr bool BORROWS = false;
    static constexpr const cpu_float_kernels *FLOATS = nullptr;
#endif
    // One block kernel for 2 to 8 tokens: their sums are in memory and the loop over them is not unrolled in any case,
    // so a kernel for each number would only be larger (890 instead of 450 KB in three tiers).
    static constexpr bool SHARE_CODE = true;
    // Products are of signed bytes in every tier, so signed codes need no offset, and unsigned ones must stay below
    // 128.
    static constexpr int SIGNED_OFFSET = 0;
    INLINE Q signed_codes(const uint8_t *p) { return codes(p); }
    INLINE int8x16_t s8(uint8x16_t v) { return vreinterpretq_s8_u8(v); }
    template <int TOKENS, int GROUPS = 8> INLINE void dot_signed(I *acc, const Q *q, const int8_t *a) {
        products<128, GROUPS, TOKENS>(acc, q, a);
    }
    template <int MAX, int GROUPS, int TOKENS> INLINE void dot(I *acc, const Q *q, const int8_t *a) {
        static_assert(MAX < 128, "codes are read as signed bytes");
        products<MAX, GROUPS, TOKENS>(acc, q, a);
    }
#if defined(__ARM_FEATURE_DOTPROD)
    static constexpr int TOGETHER = 2; // more, and the sums would not fit beside 16 registers of codes
    template <int LANE> INLINE void dot4(I *acc, Q q, int8x16_t x) {
        acc->a = vdotq_laneq_s32(acc->a, s8(q.a), x, LANE);
        acc->b = vdotq_laneq_s32(acc->b, s8(q.b), x, LANE);
    }
    template <int, int GROUPS, int TOKENS> INLINE void products(I *acc, const Q *q, const int8_t *a) {
#if defined(__ARM_FEATURE_MATMUL_INT8)
        if constexpr (TOKENS == 2) return matrices<GROUPS>(acc, q, a);
#endif
#pragma GCC unroll 2
        for (int g = 0; g < GROUPS; g += 4)
#pragma GCC unroll 8
            for (int u = 0; u < TOKENS; u++) {
                int8x16_t x = vld1q_s8(a + u * sizeof(act_block) + 4 * g);
                dot4<0>(acc + u, q[g], x);
                dot4<1>(acc + u, q[g + 1], x);
                dot4<2>(acc + u, q[g + 2], x);
                dot4<3>(acc + u, q[g + 3], x);
            }
    }
#if defined(__ARM_FEATURE_MATMUL_INT8)
    // Rows of two registers, [row][token] in each, from and to a register per token.
    struct square {
        int32x4_t low, high;
        INLINE square of(int32x4_t first, int32x4_t second) {
            return {vzip1q_s32(first, second), vzip2q_s32(first, second)};
        }
        // A pair of groups, 8 values of each of 4 rows, times as many of 2 tokens.
        void add(uint8x16_t group, uint8x16_t next, int8x16_t x) {
            uint32x4_t g = vreinterpretq_u32_u8(group), n = vreinterpretq_u32_u8(next);
            low = vmmlaq_s32(low, vreinterpretq_s8_u32(vzip1q_u32(g, n)), x);
            high = vmmlaq_s32(high, vreinterpretq_s8_u32(vzip2q_u32(g, n)), x);
        }
    };
    // smmla takes 8 values of two rows and of two tokens: twice the products of sdot. The zipped groups are the same
    // for all tokens and the compiler keeps them.
    template <int GROUPS> INLINE void matrices(I *acc, const Q *q, const int8_t *a) {
        square s = square::of(acc[0].a, acc[1].a), t = square::of(acc[0].b, acc[1].b);
#pragma GCC unroll 4
        for (int g = 0; g < GROUPS; g += 2) {
            int8x16_t x = vcombine_s8(vld1_s8(a + 4 * g), vld1_s8(a + sizeof(act_block) + 4 * g));
            s.add(q[g].a, q[g + 1].a, x);
            t.add(q[g].b, q[g + 1].b, x);
        }
        acc[0] = {vuzp1q_s32(s.low, s.high), vuzp1q_s32(t.low, t.high)};
        acc[1] = {vuzp2q_s32(s.low, s.high), vuzp2q_s32(t.low, t.high)};
    }
#endif
#else
    static constexpr int TOGETHER = 1; // nothing but the codes is shared
    // Assembler, because gcc 12 keeps the lower half of each register of codes, which is an argument of its own for the
    // intrinsic, in another register or on the stack.
    INLINE int16x8_t low_products(uint8x16_t q, int8x16_t x) {
        int16x8_t s;
        asm("smull %0.8h, %1.8b, %2.8b" : "=w"(s) : "w"(q), "w"(x));
        return s;
    }
    INLINE int16x8_t add_low_products(int16x8_t s, uint8x16_t q, int8x16_t x) {
        asm("smlal %0.8h, %1.8b, %2.8b" : "+w"(s) : "w"(q), "w"(x));
        return s;
    }
    // Groups G to END of 8 rows, two rows in each int16 sum. x: 16 activations in a register.
    template <int G, int END, bool FIRST = true> INLINE void add_groups(int16x8_t *s, const Q *q, const int8x16_t *x) {
        if constexpr (G < END) {
            const int8x16_t four = vreinterpretq_s8_s32(vdupq_laneq_s32(vreinterpretq_s32_s8(x[G / 4]), G % 4));
            s[0] = FIRST ? low_products(q[G].a, four) : add_low_products(s[0], q[G].a, four);
            s[1] = FIRST ? vmull_high_s8(s8(q[G].a), four) : vmlal_high_s8(s[1], s8(q[G].a), four);
            s[2] = FIRST ? low_products(q[G].b, four) : add_low_products(s[2], q[G].b, four);
            s[3] = FIRST ? vmull_high_s8(s8(q[G].b), four) : vmlal_high_s8(s[3], s8(q[G].b), four);
            add_groups<G + 1, END, false>(s, q, x);
        }
    }
    // SHARED groups at a time, from there into int32.
    template <int SHARED, int G, int GROUPS> INLINE void add_all(int32x4_t *sum, const Q *q, const int8x16_t *x) {
        if constexpr (G < GROUPS) {
            int16x8_t s[4];
            add_groups<G, (G + SHARED < GROUPS ? G + SHARED : GROUPS)>(s, q, x);
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) sum[i] = G ? vpadalq_s16(sum[i], s[i]) : vpaddlq_s16(s[i]);
            add_all<SHARED, G + SHARED, GROUPS>(sum, q, x);
        }
    }
    template <int MAX, int GROUPS, int TOKENS> INLINE void products(I *acc, const Q *q, const int8_t *a) {
        constexpr int SHARED = 32767 / (MAX * 127); // products that int16 holds whatever they are
#pragma GCC unroll 8
        for (int u = 0; u < TOKENS; u++, a += sizeof(act_block)) {
            const int8x16_t x[2] = {vld1q_s8(a), GROUPS > 4 ? vld1q_s8(a + 16) : vdupq_n_s8(0)};
            int32x4_t sum[4];
            add_all<SHARED, 0, GROUPS>(sum, q, x);
            acc[u] = iadd(acc[u], {vpaddq_s32(sum[0], sum[1]), vpaddq_s32(sum[2], sum[3])});
        }
    }
#endif
};

} // namespace
} // namespace llm

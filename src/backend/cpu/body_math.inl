// exp and what is made of it (CONTRACT.md section 6, with the errors measured there), sums over lanes, loops over rows.

namespace llm {
namespace {

INLINE F c(float x) { return V::all(x); }

INLINE F power_of_2(I n) { return V::of_bits(V::shl<23>(V::iadd(n, V::iall(127)))); }

// exp(x) = 2^n exp(r), r = x - n log 2 in two steps (the first product is exact), exp(r) by a polynomial.
// NEGATIVE: x is at most 0 or not a number. The order of operands in max and min lets a NaN through.
template <bool NEGATIVE = false> INLINE F vexp(F x) {
    F clamped = V::max(c(-104.f), x);
    if (!NEGATIVE) clamped = V::min(c(89.f), clamped);
    I n = V::nearest(V::mul(clamped, c(0x1.715476p+0f)));
    F r = V::fnma(V::of_int(n), c(0x1.62e4p-1f), clamped);
    r = V::fnma(V::of_int(n), c(0x1.7f7d1cp-20f), r);
    F p = V::fma(c(0x1.a0f88ap-13f), r, c(0x1.6d112cp-10f));
    p = V::fma(p, r, c(0x1.1110f6p-7f));
    p = V::fma(p, r, c(0x1.55551ap-5f));
    p = V::fma(p, r, c(0x1.555556p-3f));
    p = V::fma(p, r, c(0.5f));
    p = V::add(V::fma(p, V::mul(r, r), r), c(1));
    F y;
    if (NEGATIVE) {
        y = V::mul(p, power_of_2(n));
    } else { // two factors: results beyond the largest float become infinite
        I m = V::imax(n, V::iall(-125)), half = V::sra<1>(m);
        y = V::mul(V::mul(p, power_of_2(half)), power_of_2(V::isub(m, half)));
    }
    // A multiplication that ends below 2^-126 takes 130 cycles on Intel, and every masked score did. The bits of a
    // denormal are an integer: p 2^(n + 149), rounded once. (A NaN has become the smallest n.)
    if (V::any_less(n, -125)) {
        F tiny = V::of_bits(V::nearest(V::mul(p, power_of_2(V::iadd(n, V::iall(149))))));
        y = V::if_nan(x, x, V::if_less(V::of_int(n), c(-125), tiny, y));
    }
    return y;
}

INLINE F over_1_plus_exp_minus(F x, F u) { return V::div(x, V::add(c(1), vexp(V::sub(V::zero(), u)))); }

struct act_none {
    INLINE F of(F x) { return x; }
};
struct act_silu {
    INLINE F of(F x) { return over_1_plus_exp_minus(x, x); }
};
struct act_gelu_tanh {
    INLINE F of(F x) {
        F u = V::mul(x, V::fma(V::mul(x, x), c(0.0713548128f), c(1.59576912f)));
        return over_1_plus_exp_minus(x, u);
    }
};

// Calls f with the activation's type.
template <class Function> INLINE auto with_activation(cpu_activation act, Function f) {
    switch (act) {
    case CPU_ACT_SILU: return f(act_silu());
    case CPU_ACT_GELU_TANH: return f(act_gelu_tanh());
    default: return f(act_none());
    }
}

INLINE I magnitude(F v) { return V::iand(V::bits(v), V::iall(0x7fffffff)); } // as an integer, ordered like |v|
constexpr int32_t LARGEST_FINITE = 0x7f7fffff;

// out[i] = f(x[i], y[i]); the last values go through padded copies. False when a result is not finite.
template <class Function> INLINE bool map2(const float *x, const float *y, float *out, size_t n, Function f) {
    I largest = V::izero();
    size_t i = 0;
    for (; i + N <= n; i += N) {
        F v = f(V::load(x + i), V::load(y + i));
        V::store(out + i, v);
        largest = V::imax(largest, magnitude(v));
    }
    if (i < n) {
        float a[N] = {0}, b[N] = {0};
        memcpy(a, x + i, (n - i) * sizeof(float));
        memcpy(b, y + i, (n - i) * sizeof(float));
        V::store(a, f(V::load(a), V::load(b)));
        memcpy(out + i, a, (n - i) * sizeof(float));
        // The padding gives f(0, 0), which is finite.
        largest = V::imax(largest, magnitude(V::load(a)));
    }
    return V::largest_lane(largest) <= LARGEST_FINITE;
}

} // namespace
} // namespace llm

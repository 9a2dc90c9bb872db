// Panels times 1 to 8 tokens: CONTRACT.md sections 4 (blocks) and 5 (floats). The same code serves generation, checking
// of drafts and prompts; only the number of tokens differs, and never the bits.

namespace llm {
namespace {

// Types of plain numbers.
struct of_f32 {
    using E = float;
    static constexpr float_kernel AT = FLOAT_F32;
    INLINE F load(const float *p) { return V::load(p); }
};
struct of_f16 {
    using E = uint16_t;
    static constexpr float_kernel AT = FLOAT_F16;
    INLINE F load(const uint16_t *p) { return V::load_f16(p); }
};
struct of_bf16 {
    using E = uint16_t;
    static constexpr float_kernel AT = FLOAT_BF16;
    INLINE F load(const uint16_t *p) { return V::load_bf16(p); }
};

// Where the integer chain over 32 starts so that it ends at the sum of (code - OFFSET) * activation.
template <int OFFSET> INLINE I start(const act_block &x) {
    switch (OFFSET) {
    case 1: return V::sra<3>(V::iall(x.start_8));
    case 4: return V::sra<1>(V::iall(x.start_8));
    case 8: return V::iall(x.start_8);
    case 12: return V::iadd(V::iall(x.start_8), V::sra<1>(V::iall(x.start_8)));
    case 16: return V::shl<1>(V::iall(x.start_8));
    case 64: return V::shl<3>(V::iall(x.start_8));
    case 128: return V::iall(x.start_128);
    default: return V::izero();
    }
}
// The same over 16; start_32 is the one of OFFSET 32.
template <int OFFSET> INLINE I start16(int32_t start_32) {
    switch (OFFSET) {
    case 1: return V::sra<5>(V::iall(start_32));
    case 4: return V::sra<3>(V::iall(start_32));
    case 12: return V::iadd(V::sra<2>(V::iall(start_32)), V::sra<3>(V::iall(start_32)));
    case 16: return V::sra<1>(V::iall(start_32));
    case 32: return V::iall(start_32);
    case 64: return V::shl<1>(V::iall(start_32));
    case 128: return V::shl<2>(V::iall(start_32));
    default: return V::izero();
    }
}

template <class W, int GROUPS, int TOKENS> INLINE void chain(I *sum, const Q *q, const int8_t *x) {
    if constexpr (W::SIGNED)
        V::template dot_signed<TOKENS, GROUPS>(sum, q, x);
    else
        V::template dot<W::MAX, GROUPS, TOKENS>(sum, q, x);
}

// Sum of value * activation over 32, for TOKENS tokens, as exact floats (every sum is below 2^24).
template <class W, int TOKENS> INLINE void block_dots(F *sum, const Q *q, const act_block *x) {
    I i[TOKENS];
    UNROLL(8)
    for (int u = 0; u < TOKENS; u++) i[u] = start<W::OFFSET>(x[u]);
    chain<W, 8, TOKENS>(i, q, x->q);
    UNROLL(8)
    for (int u = 0; u < TOKENS; u++) sum[u] = V::of_int(i[u]);
}
// The same over the first and the last 16.
template <class W, int TOKENS> INLINE void half_dots(F *first, F *last, const Q *q, const act_block *x) {
    I i[TOKENS], k[TOKENS];
    UNROLL(8)
    for (int u = 0; u < TOKENS; u++) {
        i[u] = start16<W::OFFSET>(x[u].start_32_low);
        k[u] = start16<W::OFFSET>(x[u].start_32_high);
    }
    chain<W, 4, TOKENS>(i, q, x->q);
    chain<W, 4, TOKENS>(k, q + 4, x->q + 16);
    UNROLL(8)
    for (int u = 0; u < TOKENS; u++) {
        first[u] = V::of_int(i[u]);
        last[u] = V::of_int(k[u]);
    }
}

// One step of the float chain of each token: acc + (scale * d) * sum.
template <int TOKENS> INLINE void add_scaled(F *acc, F scale, const F *sum, const act_block *x) {
    UNROLL(8)
    for (int u = 0; u < TOKENS; u++) acc[u] = V::fma(V::mul(scale, V::all(x[u].d)), sum[u], acc[u]);
}
// What the sums of a block add: `sum` over 32, or over the first 16 and `last` over the last.
template <class W, int TOKENS>
INLINE void add_sums(F *acc, F scale, F *sum, const F *last, const act_block *x, const uint8_t *w, int b, int part) {
    if (W::APART) {
        add_scaled<TOKENS>(acc, W::scale_half(w, b, 0, part), sum, x);
        return add_scaled<TOKENS>(acc, W::scale_half(w, b, 1, part), last, x);
    }
    if (W::SCALES == 2) {
        // Scaling in float is exact here and cheaper than vpmulld.
        F low = W::scale16(w, b, 0, part), high = W::scale16(w, b, 1, part);
        UNROLL(8)
        for (int u = 0; u < TOKENS; u++) sum[u] = V::fma_exact(low, sum[u], V::mul(high, last[u]));
    }
    add_scaled<TOKENS>(acc, scale, sum, x);
}
template <class W, int TOKENS>
INLINE void add_main(F *acc, F scale, const Q *q, const act_block *x, const uint8_t *w, int b, int part) {
    F sum[TOKENS], last[TOKENS];
    if constexpr (W::APART || W::SCALES == 2)
        half_dots<W, TOKENS>(sum, last, q, x);
    else
        block_dots<W, TOKENS>(sum, q, x);
    add_sums<W, TOKENS>(acc, scale, sum, last, x, w, b, part);
}
template <class W, int TOKENS>
INLINE void add_minimum(F *acc, F minimum, const act_block *x, const uint8_t *w, int b, int part) {
    if (W::MINIMUM == MINIMUM_NONE) return;
    F low = W::minimum16(w, b, 0, part), high = W::minimum16(w, b, 1, part);
    UNROLL(8)
    for (int u = 0; u < TOKENS; u++) {
        if (W::MINIMUM == MINIMUM_ADDED) acc[u] = V::fma(minimum, V::all(x[u].scaled_sum), acc[u]);
        if (W::MINIMUM == MINIMUM_SUBTRACTED) acc[u] = V::fnma(minimum, V::all(x[u].scaled_sum), acc[u]);
        if (W::MINIMUM == MINIMA_SUBTRACTED) { // exact but for the last step; start_32 is -32 times the sum
            F last = V::mul(high, V::of_int(V::iall(x[u].start_32_high)));
            F both = V::fma_exact(low, V::of_int(V::iall(x[u].start_32_low)), last);
            acc[u] = V::fma(V::mul(minimum, V::all(x[u].d)), both, acc[u]);
        }
    }
}

// Tokens whose integer chains run side by side: up to V::TOGETHER, a divisor of T. With 16 registers the code for the
// next ones is not unrolled: three times the size for 3 %.
constexpr int TOKEN_UNROLL = N == 16 ? 8 : 1;
template <int T> constexpr int tokens_together() {
    int n = V::TOGETHER;
    while (T % n) n--;
    return n;
}
// As a number of tokens: a multiple of V::TOGETHER, known when the kernel runs.
constexpr int ANY_TOKENS = 0;

// One block of 32 for T tokens (or ANY_TOKENS, n of them): the steps of the float chains.
template <class W, int T> INLINE void block_step(F *acc, const uint8_t *w, int b, int part, const act_block *x, int n) {
    constexpr int TOGETHER = tokens_together<T>();
    Q q[8];
    W::load(q, w, b, part);
    F scale = W::scale(w, b, part), minimum = W::MINIMUM != MINIMUM_NONE ? W::minimum(w, b, part) : V::zero();
    UNROLL(TOKEN_UNROLL)
    for (int t = 0; t < n; t += TOGETHER) {
        add_main<W, TOGETHER>(acc + t, scale, q, x + t, w, b, part);
        add_minimum<W, TOGETHER>(acc + t, minimum, x + t, w, b, part);
    }
}

INLINE void touch(const uint8_t *p, int bytes) {
    for (int i = 0; i < bytes; i += 64) __builtin_prefetch(p + i);
}

template <class W> struct dot_blocks {
    // n tokens of `width` whose activations and tiles lie together.
    template <int T>
    INLINE void sweep(const void *panels, size_t cols, size_t n_panels, const act_block *x, float *tiles,
                      ptrdiff_t ahead, int n, int width) {
        const uint8_t *w = static_cast<const uint8_t *>(panels);
        const size_t n_units = cols / (32 * W::BLOCKS);
        for (; n_panels; n_panels--, tiles += PANEL_ROWS * width) {
            F acc[PARTS][T == ANY_TOKENS ? MAX_TOKENS : T];
            for (int part = 0; part < PARTS; part++)
                for (int t = 0; t < n; t++) acc[part][t] = V::zero();
            const act_block *a = x;
            for (size_t unit = 0; unit < n_units; unit++, w += W::BYTES)
                for (int b = 0; b < W::BLOCKS; b++, a += width) {
                    if (ahead) touch(w + ahead + W::BYTES / W::BLOCKS * b, W::BYTES / W::BLOCKS);
                    ROLLED
                    for (int part = 0; part < PARTS; part++) {
                        // Keeps gcc from sharing the broadcast activations between the parts: it would spill them.
                        if (PARTS > 1) asm volatile("" ::: "memory");
                        block_step<W, T>(acc[part], w, b, part, a, n);
                    }
                }
            for (int part = 0; part < PARTS; part++)
                for (int t = 0; t < n; t++) V::store(tiles + PANEL_ROWS * t + N * part, acc[part][t]);
        }
    }
    template <int T>
    __attribute__((noinline)) static void shared(const void *panels, size_t cols, size_t n_panels, const act_block *x,
                                                 float *tiles, ptrdiff_t ahead, int n, int width) {
        sweep<T>(panels, cols, n_panels, x, tiles, ahead, n, width);
    }
    template <int T>
    static void run(const void *panels, size_t cols, size_t n_panels, const void *from, size_t, float *tiles,
                    ptrdiff_t ahead) {
        const act_block *x = static_cast<const act_block *>(from);
        if constexpr (!V::SHARE_CODE) {
            sweep<T>(panels, cols, n_panels, x, tiles, ahead, T, T);
        } else {
            // The last of an odd number goes by itself: the panels are in the cache by then.
            constexpr int PAIRED = T == 1 ? 0 : T - T % V::TOGETHER;
            if (PAIRED) shared<ANY_TOKENS>(panels, cols, n_panels, x, tiles, ahead, PAIRED, T);
            if (PAIRED < T)
                shared<1>(panels, cols, n_panels, x + PAIRED, tiles + PANEL_ROWS * PAIRED, PAIRED ? 0 : ahead, 1, T);
        }
    }
};

// Order B of section 5: chains of 32, each from +0, added up. The chains of neighbouring blocks overlap.
constexpr int K_UNROLL = N == 16 ? 2 : 4;
template <class W> struct dot_floats {
    using E = typename W::E;

    // One block of P neighbouring panels, `panel` elements apart.
    template <int T, int P>
    INLINE void chain(F (*acc)[T], const E *w, size_t panel, size_t n, const float *x, size_t stride) {
        F a[P][T];
        UNROLL(2)
        for (int p = 0; p < P; p++) {
            UNROLL(8)
            for (int t = 0; t < T; t++) a[p][t] = V::zero();
        }
        UNROLL(K_UNROLL)
        for (size_t k = 0; k < n; k++) {
            F v[P];
            UNROLL(2)
            for (int p = 0; p < P; p++) v[p] = W::load(w + p * panel + PANEL_ROWS * k);
            UNROLL(8)
            for (int t = 0; t < T; t++) {
                UNROLL(2)
                for (int p = 0; p < P; p++) a[p][t] = V::fma(v[p], V::all(x[t * stride + k]), a[p][t]);
            }
        }
        UNROLL(2)
        for (int p = 0; p < P; p++) {
            UNROLL(8)
            for (int t = 0; t < T; t++) acc[p][t] = V::add(acc[p][t], a[p][t]);
        }
    }

    template <int T, int P>
    static void panels(const E *w, size_t cols, const float *x, size_t stride, float *tiles, ptrdiff_t ahead) {
        const size_t panel = PANEL_ROWS * cols;
        F acc[PARTS][P][T];
        for (int part = 0; part < PARTS; part++)
            for (int p = 0; p < P; p++)
                for (int t = 0; t < T; t++) acc[part][p][t] = V::zero();
        for (size_t k = 0; k < cols; k += 32, x += 32) {
            const size_t n = cols - k < 32 ? cols - k : 32;
            for (int p = 0; ahead && p < P; p++)
                touch(reinterpret_cast<const uint8_t *>(w + p * panel) + ahead, int(PANEL_ROWS * sizeof(E) * n));
            ROLLED
            for (int part = 0; part < PARTS; part++) chain<T, P>(acc[part], w + N * part, panel, n, x, stride);
            w += PANEL_ROWS * n;
        }
        for (int part = 0; part < PARTS; part++)
            for (int p = 0; p < P; p++)
                for (int t = 0; t < T; t++) V::store(tiles + PANEL_ROWS * (p * T + t) + N * part, acc[part][p][t]);
    }

    template <int T>
    static void run(const void *from, size_t cols, size_t n_panels, const void *rows, size_t stride, float *tiles,
                    ptrdiff_t ahead) {
        if constexpr (V::BORROWS)
            V::FLOATS->dot[W::AT][T - 1](from, cols, n_panels, rows, stride, tiles, ahead);
        else
            own<T>(from, cols, n_panels, rows, stride, tiles, ahead);
    }
    template <int T>
    INLINE void own(const void *from, size_t cols, size_t n_panels, const void *rows, size_t stride, float *tiles,
                    ptrdiff_t ahead) {
        // 32 registers hold the sums of two panels: 16 chains instead of 8 are 15 % faster.
        constexpr int P = N == 16 && T >= 4 ? 2 : 1;
        const E *w = static_cast<const E *>(from);
        const float *x = static_cast<const float *>(rows);
        for (; n_panels >= P; n_panels -= P, w += P * PANEL_ROWS * cols, tiles += P * PANEL_ROWS * T)
            panels<T, P>(w, cols, x, stride, tiles, ahead);
        if (P > 1 && n_panels) panels<T, 1>(w, cols, x, stride, tiles, ahead);
    }
};

} // namespace
} // namespace llm

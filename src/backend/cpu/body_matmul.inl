// Panels times 1 to 8 tokens: CONTRACT.md sections 4 (blocks) and 5 (floats). The same code serves generation, checking
// of drafts and prompts; only the number of tokens differs, and never the bits.

namespace llm {
namespace {

// Types of plain numbers.
struct of_f32 {
    using E = float;
    INLINE F load(const float *p) { return V::load(p); }
};
struct of_f16 {
    using E = uint16_t;
    INLINE F load(const uint16_t *p) { return V::load_f16(p); }
};
struct of_bf16 {
    using E = uint16_t;
    INLINE F load(const uint16_t *p) { return V::load_bf16(p); }
};

INLINE void nibbles(Q *q, const uint8_t *p) {
    UNROLL(4)
    for (int j = 0; j < 4; j++) {
        Q v = V::codes(p + 64 * j);
        q[j] = V::low_nibbles(v);
        q[j + 4] = V::high_nibbles(v);
    }
}
INLINE void add_one_bit(Q *q, const uint8_t *p) {
    Q h = V::codes(p);
    q[0] = V::add_bits<4, 16>(h, q[0]);
    q[1] = V::add_bits<3, 16>(h, q[1]);
    q[2] = V::add_bits<2, 16>(h, q[2]);
    q[3] = V::add_bits<1, 16>(h, q[3]);
    q[4] = V::add_bits<0, 16>(h, q[4]);
    q[5] = V::add_bits<-1, 16>(h, q[5]);
    q[6] = V::add_bits<-2, 16>(h, q[6]);
    q[7] = V::add_bits<-3, 16>(h, q[7]);
}
INLINE void add_two_bits(Q *q, const uint8_t *p) {
    UNROLL(8)
    for (int half = 0; half < 2; half++) {
        Q h = V::codes(p + 64 * half);
        q[4 * half + 0] = V::add_bits<4, 48>(h, q[4 * half + 0]);
        q[4 * half + 1] = V::add_bits<2, 48>(h, q[4 * half + 1]);
        q[4 * half + 2] = V::add_bits<0, 48>(h, q[4 * half + 2]);
        q[4 * half + 3] = V::add_bits<-2, 48>(h, q[4 * half + 3]);
    }
}
INLINE F half_floats(const uint8_t *p, int part) { return V::load_f16((const uint16_t *)p + N * part); }
INLINE F bytes_u8(const uint8_t *p, int part) { return V::of_int(V::load_u8(p + N * part)); }
INLINE F bytes_s8(const uint8_t *p, int part) { return V::of_int(V::load_s8(p + N * part)); }

// What is special about a format, for part `part` of block `b` of a unit (layouts: panel.h):
//   load()     the codes of 32 values, scale() their scale
//   MAX        no code is larger;  OFFSET: value = code - OFFSET
//   MINIMUM    the term minimum() * (sum of activations) is added (1), subtracted (-1), absent (0)
//   SCALES     2: two integer scales (scale16) per 32, under the float scale
struct format_defaults {
    static constexpr int BLOCKS = 1, MAX = 15, OFFSET = 0, MINIMUM = 0, SCALES = 1;
    static constexpr bool SIGNED = false;
    INLINE F scale(const uint8_t *unit, int, int part) { return half_floats(unit, part); }
    INLINE F minimum(const uint8_t *unit, int, int part) { return half_floats(unit + 32, part); }
    INLINE F scale16(const uint8_t *, int, int, int) { return V::zero(); }
};
struct codes_q4_0 : format_defaults {
    static constexpr int BYTES = 288, OFFSET = 8;
    INLINE void load(Q *q, const uint8_t *unit, int, int part) { nibbles(q, unit + 32 + 4 * N * part); }
};
struct codes_q4_1 : format_defaults {
    static constexpr int BYTES = 320, MINIMUM = 1;
    INLINE void load(Q *q, const uint8_t *unit, int, int part) { nibbles(q, unit + 64 + 4 * N * part); }
};
struct codes_q5_0 : format_defaults {
    static constexpr int BYTES = 352, MAX = 31, OFFSET = 16;
    INLINE void load(Q *q, const uint8_t *unit, int, int part) {
        nibbles(q, unit + 32 + 4 * N * part);
        add_one_bit(q, unit + 288 + 4 * N * part);
    }
};
struct codes_q5_1 : format_defaults {
    static constexpr int BYTES = 384, MAX = 31, MINIMUM = 1;
    INLINE void load(Q *q, const uint8_t *unit, int, int part) {
        nibbles(q, unit + 64 + 4 * N * part);
        add_one_bit(q, unit + 320 + 4 * N * part);
    }
};
struct codes_q8_0 : format_defaults {
    static constexpr int BYTES = 544, OFFSET = V::SIGNED_OFFSET;
    static constexpr bool SIGNED = true;
    INLINE void load(Q *q, const uint8_t *unit, int, int part) {
        UNROLL(8)
        for (int j = 0; j < 8; j++) q[j] = V::signed_codes(unit + 32 + 64 * j + 4 * N * part);
    }
};
struct k4_defaults : format_defaults {
    static constexpr int BLOCKS = 8, MINIMUM = -1;
    // Both products are exact: 11 bits times 6.
    INLINE F scale(const uint8_t *unit, int b, int part) {
        return V::mul(half_floats(unit, part), bytes_u8(unit + 64 + 16 * b, part));
    }
    INLINE F minimum(const uint8_t *unit, int b, int part) {
        return V::mul(half_floats(unit + 32, part), bytes_u8(unit + 192 + 16 * b, part));
    }
};
struct codes_q4_k : k4_defaults {
    static constexpr int BYTES = 2368;
    INLINE void load(Q *q, const uint8_t *unit, int b, int part) { nibbles(q, unit + 320 + 256 * b + 4 * N * part); }
};
struct codes_q5_k : k4_defaults {
    static constexpr int BYTES = 2880, MAX = 31;
    INLINE void load(Q *q, const uint8_t *unit, int b, int part) {
        nibbles(q, unit + 320 + 320 * b + 4 * N * part);
        add_one_bit(q, unit + 320 + 320 * b + 256 + 4 * N * part);
    }
};
struct codes_q6_k : format_defaults {
    static constexpr int BYTES = 3360, BLOCKS = 8, MAX = 63, SCALES = 2;
    INLINE void load(Q *q, const uint8_t *unit, int b, int part) {
        nibbles(q, unit + 288 + 384 * b + 4 * N * part);
        add_two_bits(q, unit + 288 + 384 * b + 256 + 4 * N * part);
    }
    INLINE F scale16(const uint8_t *unit, int b, int i, int part) {
        return bytes_s8(unit + 32 + 16 * (2 * b + i), part);
    }
};

// Where the integer chain over 32 starts so that it ends at the sum of (code - OFFSET) * activation.
template <int OFFSET> INLINE I start(const act_block &x) {
    switch (OFFSET) {
    case 8: return V::iall(x.start_8);
    case 16: return V::shl<1>(V::iall(x.start_8));
    case 128: return V::iall(x.start_128);
    default: return V::izero();
    }
}

// Sum of value * activation over 32, for TOKENS tokens, as exact floats (every sum is below 2^24).
template <class W, int TOKENS>
INLINE void block_dots(F *sum, const Q *q, const act_block *x, const uint8_t *w, int b, int part) {
    I i[TOKENS];
    if (W::SCALES == 1) {
        UNROLL(8)
        for (int u = 0; u < TOKENS; u++) i[u] = start<W::OFFSET>(x[u]);
        if (W::SIGNED)
            V::template dot_signed<TOKENS>(i, q, x->q);
        else
            V::template dot<W::MAX, 8, TOKENS>(i, q, x->q);
        UNROLL(8)
        for (int u = 0; u < TOKENS; u++) sum[u] = V::of_int(i[u]);
        return;
    }
    // Scaling in float is exact here and cheaper than vpmulld.
    I k[TOKENS];
    F low = W::scale16(w, b, 0, part), high = W::scale16(w, b, 1, part);
    UNROLL(8)
    for (int u = 0; u < TOKENS; u++) {
        i[u] = V::iall(x[u].start_32_low);
        k[u] = V::iall(x[u].start_32_high);
    }
    V::template dot<W::MAX, 4, TOKENS>(i, q, x->q);
    V::template dot<W::MAX, 4, TOKENS>(k, q + 4, x->q + 16);
    UNROLL(8)
    for (int u = 0; u < TOKENS; u++) sum[u] = V::fma(low, V::of_int(i[u]), V::mul(high, V::of_int(k[u])));
}

// Tokens whose integer chains run side by side: up to V::TOGETHER, a divisor of T. With 16 registers the code for the
// next ones is not unrolled: three times the size for 3 %.
constexpr int TOKEN_UNROLL = N == 16 ? 8 : 1;
template <int T> constexpr int tokens_together() {
    int n = V::TOGETHER;
    while (T % n) n--;
    return n;
}

// One block of 32 for T tokens: the steps of the float chains.
template <class W, int T> INLINE void block_step(F *acc, const uint8_t *w, int b, int part, const act_block *x) {
    constexpr int TOGETHER = tokens_together<T>();
    Q q[8];
    W::load(q, w, b, part);
    F scale = W::scale(w, b, part), minimum = W::MINIMUM ? W::minimum(w, b, part) : V::zero();
    UNROLL(TOKEN_UNROLL)
    for (int t = 0; t < T; t += TOGETHER) {
        F sum[TOGETHER];
        block_dots<W, TOGETHER>(sum, q, x + t, w, b, part);
        UNROLL(8)
        for (int u = 0; u < TOGETHER; u++) {
            F a = V::fma(V::mul(scale, V::all(x[t + u].d)), sum[u], acc[t + u]);
            if (W::MINIMUM > 0) a = V::fma(minimum, V::all(x[t + u].scaled_sum), a);
            if (W::MINIMUM < 0) a = V::fnma(minimum, V::all(x[t + u].scaled_sum), a);
            acc[t + u] = a;
        }
    }
}

INLINE void touch(const uint8_t *p, int bytes) {
    for (int i = 0; i < bytes; i += 64) __builtin_prefetch(p + i);
}

template <class W> struct dot_blocks {
    template <int T>
    static void run(const void *panels, size_t cols, size_t n_panels, const void *x, size_t, float *tiles,
                    ptrdiff_t ahead) {
        const uint8_t *w = static_cast<const uint8_t *>(panels);
        const size_t n_units = cols / (32 * W::BLOCKS);
        for (; n_panels; n_panels--, tiles += PANEL_ROWS * T) {
            F acc[PARTS][T];
            for (int part = 0; part < PARTS; part++)
                for (int t = 0; t < T; t++) acc[part][t] = V::zero();
            const act_block *a = static_cast<const act_block *>(x);
            for (size_t unit = 0; unit < n_units; unit++, w += W::BYTES)
                for (int b = 0; b < W::BLOCKS; b++, a += T) {
                    if (ahead) touch(w + ahead + W::BYTES / W::BLOCKS * b, W::BYTES / W::BLOCKS);
                    ROLLED
                    for (int part = 0; part < PARTS; part++) {
                        // Keeps gcc from sharing the broadcast activations between the parts: it would spill them.
                        if (PARTS > 1) asm volatile("" ::: "memory");
                        block_step<W, T>(acc[part], w, b, part, a);
                    }
                }
            for (int part = 0; part < PARTS; part++)
                for (int t = 0; t < T; t++) V::store(tiles + PANEL_ROWS * t + N * part, acc[part][t]);
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

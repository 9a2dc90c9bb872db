// Attention over one tile of 64 keys, CONTRACT.md section 7. Scores are panels times queries as in a matrix; a lane is
// a key there and a dimension of V afterwards, so nothing is ever summed across lanes but the probabilities.

namespace llm {
namespace {

constexpr uint32_t TILE_PANELS = KEY_TILE / PANEL_ROWS;

// Scores of query t for the panels of a tile, scaled, those of keys it does not see -inf. Returns the largest score or
// what was the largest so far.
INLINE float scale_scores(const attention_pass *a, uint32_t t, int32_t first_key, uint32_t n_panels) {
    static const float lane_number[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    float *p = a->p + t * PANEL_ROWS;
    const int32_t visible = a->keys[t] - first_key, hidden = a->first[t] - first_key;
    F largest = c(a->max[t]);
    for (uint32_t panel = 0; panel < n_panels; panel++, p += a->n_queries * PANEL_ROWS) {
        UNROLL(4)
        for (int i = 0; i < PARTS; i++) {
            F s = V::mul(V::load(p + N * i), c(a->scale));
            const int32_t here = visible - int32_t(PANEL_ROWS * panel) - N * i;
            if (here < N) s = V::if_less(V::load(lane_number), c(float(here)), s, c(-INFINITY));
            const int32_t before = hidden - int32_t(PANEL_ROWS * panel) - N * i;
            if (before > 0) s = V::if_less(V::load(lane_number), c(float(before)), c(-INFINITY), s);
            V::store(p + N * i, s);
            largest = V::max(largest, s);
        }
    }
    return V::largest_lane(largest);
}

// Scores -> probabilities; returns their sum.
INLINE float soften(const attention_pass *a, uint32_t t, uint32_t n_panels) {
    float *p = a->p + t * PANEL_ROWS;
    F sum[PARTS];
    for (int i = 0; i < PARTS; i++) sum[i] = V::zero();
    for (uint32_t panel = 0; panel < n_panels; panel++, p += a->n_queries * PANEL_ROWS) {
        UNROLL(4)
        for (int i = 0; i < PARTS; i++) {
            F e = vexp<true>(V::sub(V::load(p + N * i), c(a->max[t])));
            V::store(p + N * i, e);
            sum[i] = V::add(sum[i], e);
        }
    }
    return V::sum_halves(sum);
}

#define MEMBER inline __attribute__((always_inline))

// Values of a tile as each cache type holds them: load() gives N of them at dimension d of a key. BITS: of one value.
// A quantised value is its code times its scale: exact.
template <class W> struct float_values {
    using E = typename W::E;
    static constexpr int BITS = 8 * sizeof(E);
    static constexpr cached_value AT = sizeof(E) == 4 ? CACHED_F32 : CACHED_F16;
    const E *v;
    uint32_t head_v;
    INLINE void begin(const void *, uint32_t, float *) {}
    float_values(const void *tile, uint32_t n, const float *) : v(static_cast<const E *>(tile)), head_v(n) {}
    MEMBER F load(uint32_t key, uint32_t d) const { return W::load(v + size_t(key) * head_v + d); }
};
// Scales come first, as half floats; begin() converts them.
struct block_values {
    const uint8_t *codes;
    const float *scales;
    uint32_t head_v;
    INLINE void begin(const void *tile, uint32_t n, float *scales) {
        for (uint32_t i = 0; i < KEY_TILE * n / 32; i += N)
            V::store(scales + i, V::load_f16(static_cast<const uint16_t *>(tile) + i));
    }
    block_values(const void *tile, uint32_t n, const float *s)
        : codes(static_cast<const uint8_t *>(tile) + KEY_TILE * n / 32 * 2), scales(s), head_v(n) {}
    MEMBER F scale(uint32_t key, uint32_t d) const { return c(scales[(key * head_v + d) / 32]); }
};
struct q8_0_values : block_values {
    static constexpr int BITS = 8;
    static constexpr cached_value AT = CACHED_Q8_0;
    using block_values::block_values;
    MEMBER F load(uint32_t key, uint32_t d) const {
        return V::mul(V::of_int(V::load_s8(codes + size_t(key) * head_v + d)), scale(key, d));
    }
};
struct q4_0_values : block_values {
    static constexpr int BITS = 4;
    static constexpr cached_value AT = CACHED_Q4_0;
    using block_values::block_values;
    MEMBER F load(uint32_t key, uint32_t d) const {
        I pair = V::load_u8(codes + (size_t(key) * head_v + d / 32 * 32) / 2 + d % 16);
        I code = d % 32 < 16 ? V::iand(pair, V::iall(15)) : V::template sra<4>(pair);
        return V::mul(V::of_int(V::isub(code, V::iall(8))), scale(key, d));
    }
};

// out[t][d ..] = fma(out, shrink, sum over keys of p v) for COLUMNS registers of dimensions.
template <class W, int T, int COLUMNS>
INLINE void gather_values(const attention_pass *a, uint32_t n_panels, const W &v, const float *shrink, uint32_t d,
                          const uint8_t *next, uint32_t next_step) {
    F acc[COLUMNS][T];
    UNROLL(4)
    for (int i = 0; i < COLUMNS; i++) {
        UNROLL(8)
        for (int t = 0; t < T; t++) acc[i][t] = V::zero();
    }
    const float *p = a->p;
    for (uint32_t panel = 0; panel < n_panels; panel++, p += T * PANEL_ROWS) {
        UNROLL(2)
        for (uint32_t j = 0; j < PANEL_ROWS; j++, next += next_step) {
            __builtin_prefetch(next);
            F vd[COLUMNS];
            UNROLL(4)
            for (int i = 0; i < COLUMNS; i++) vd[i] = v.load(PANEL_ROWS * panel + j, d + N * i);
            UNROLL(8)
            for (int t = 0; t < T; t++) {
                F pj = V::all(p[t * PANEL_ROWS + j]);
                UNROLL(4)
                for (int i = 0; i < COLUMNS; i++) acc[i][t] = V::fma(vd[i], pj, acc[i][t]);
            }
        }
    }
    UNROLL(8)
    for (int t = 0; t < T; t++) {
        UNROLL(4)
        for (int i = 0; i < COLUMNS; i++) {
            float *o = a->out + t * a->head_v + d + N * i;
            V::store(o, V::fma(V::load(o), c(shrink[t]), acc[i][t]));
        }
    }
}

template <class W> struct values {
    template <int T>
    static void run(const attention_pass *a, uint32_t n_panels, const void *tile, const float *shrink,
                    const void *next_k) {
        if constexpr (V::BORROWS)
            V::FLOATS->gather[W::AT][T - 1](a, n_panels, tile, shrink, next_k);
        else
            own<T>(a, n_panels, tile, shrink, next_k);
    }
    template <int T>
    INLINE void own(const attention_pass *a, uint32_t n_panels, const void *tile, const float *shrink,
                    const void *next_k) {
        // As many columns as registers hold sums for: a value is then loaded once for all queries.
        constexpr int COLUMNS = N == 16 ? (T <= 4 ? 4 : 2) : (T <= 2 ? 4 : T <= 4 ? 2 : 1);
        W::begin(tile, a->head_v, a->scales);
        const W v(tile, a->head_v, a->scales);
        const uint8_t *next = static_cast<const uint8_t *>(next_k);
        // One line ahead per key and column group; K of the next tile is as large as V of this one, or nearly.
        const uint32_t step = a->stream ? COLUMNS * N * W::BITS / 8 : 0;
        uint32_t d = 0;
        for (; d + COLUMNS * N <= a->head_v; d += COLUMNS * N, next += KEY_TILE * step)
            gather_values<W, T, COLUMNS>(a, n_panels, v, shrink, d, next, step);
        for (; d < a->head_v; d += N) gather_values<W, T, 1>(a, n_panels, v, shrink, d, next, 0);
    }
};

using f32_values = float_values<of_f32>;
using f16_values = float_values<of_f16>;

template <class W> static void widen(const void *tile, uint32_t head_v, float *scales, float *out) {
    W::begin(tile, head_v, scales);
    const W v(tile, head_v, scales);
    for (uint32_t key = 0; key < KEY_TILE; key++)
        for (uint32_t d = 0; d < head_v; d += N, out += N) V::store(out, v.load(key, d));
}
static void widen_values(panel_kind type, const void *tile, uint32_t head_v, float *scales, float *out) {
    switch (type) {
    case PANEL_Q8_0: return widen<q8_0_values>(tile, head_v, scales, out);
    case PANEL_Q4_0: return widen<q4_0_values>(tile, head_v, scales, out);
    default: return widen<f16_values>(tile, head_v, scales, out);
    }
}

// Kernels by number of queries for what the cache holds.
struct cache_kernels {
    dot_kernel *scores[MAX_TOKENS];
    value_kernel *gather[MAX_TOKENS];
};
static const cache_kernels *kernels_for(panel_kind kind) {
    static const cache_kernels f32 = {PER_TOKENS(dot_floats<of_f32>::run), PER_TOKENS(values<f32_values>::run)};
    static const cache_kernels f16 = {PER_TOKENS(dot_floats<of_f16>::run), PER_TOKENS(values<f16_values>::run)};
    static const cache_kernels q8_0 = {PER_TOKENS(dot_blocks<codes_q8_0>::run), PER_TOKENS(values<q8_0_values>::run)};
    static const cache_kernels q4_0 = {PER_TOKENS(dot_blocks<codes_q4_0>::run), PER_TOKENS(values<q4_0_values>::run)};
    switch (kind) {
    case PANEL_F32: return &f32;
    case PANEL_Q8_0: return &q8_0;
    case PANEL_Q4_0: return &q4_0;
    default: return &f16;
    }
}

static void attend_tile(const attention_pass *a, uint32_t first_key, const void *k, const void *v, const void *next_k) {
    const uint32_t n = a->n_queries;
    int32_t keys = 0; // of this tile that some query sees
    for (uint32_t t = 0; t < n; t++)
        keys = a->keys[t] - int32_t(first_key) > keys ? a->keys[t] - int32_t(first_key) : keys;
    // Panels that nobody sees have p = 0 and would change nothing but the sign of a zero, which attend_finish() drops.
    const uint32_t n_panels = keys < int32_t(KEY_TILE) ? (uint32_t(keys) + PANEL_ROWS - 1) / PANEL_ROWS : TILE_PANELS;
    const ptrdiff_t to_v = a->stream ? static_cast<const uint8_t *>(v) - static_cast<const uint8_t *>(k) : 0;
    kernels_for(a->type_k)->scores[n - 1](k, a->head_k, n_panels, a->q, a->head_k, a->p, to_v);
    // By how much what was gathered so far shrinks, for as many queries at a time as a vector holds.
    float shrink[16] = {0};
    for (uint32_t t = 0; t < n; t++) {
        const float max = scale_scores(a, t, int32_t(first_key), n_panels);
        shrink[t] = a->max[t] - max;
        a->max[t] = max;
    }
    for (uint32_t t = 0; t < n; t += N) V::store(shrink + t, vexp<true>(V::load(shrink + t)));
    for (uint32_t t = 0; t < n; t++) a->sum[t] = __builtin_fmaf(a->sum[t], shrink[t], soften(a, t, n_panels));
    kernels_for(a->type_v)->gather[n - 1](a, n_panels, v, shrink, next_k);
}

static float exp_of(float x) {
    float y[N];
    V::store(y, vexp<true>(c(x)));
    return y[0];
}

static void attend_merge(const attention_pass *earlier, const attention_pass *later) {
    for (uint32_t t = 0; t < earlier->n_queries; t++) {
        float m1 = earlier->max[t], m2 = later->max[t], max = m1 > m2 ? m1 : m2;
        float e1 = exp_of(m1 - max), e2 = exp_of(m2 - max);
        earlier->max[t] = max;
        earlier->sum[t] = __builtin_fmaf(earlier->sum[t], e1, later->sum[t] * e2);
        float *o = earlier->out + t * earlier->head_v;
        const float *more = later->out + t * later->head_v;
        for (uint32_t d = 0; d < earlier->head_v; d += N)
            V::store(o + d, V::fma(V::load(o + d), c(e1), V::mul(V::load(more + d), c(e2))));
    }
}

static bool attend_finish(const attention_pass *a) {
    I largest = V::izero();
    for (uint32_t t = 0; t < a->n_queries; t++)
        for (uint32_t d = 0; d < a->head_v; d += N) {
            float *o = a->out + t * a->head_v + d;
            // + 0 turns -0 into +0: the sign of a zero would tell how many masked keys were passed.
            F v = V::add(V::div(V::load(o), c(a->sum[t])), V::zero());
            V::store(o, v);
            largest = V::imax(largest, magnitude(v));
        }
    return V::largest_lane(largest) <= LARGEST_FINITE;
}

} // namespace
} // namespace llm

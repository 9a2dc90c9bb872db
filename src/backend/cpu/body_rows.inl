// Kernels over rows: what follows a matrix, activations, norms, quantising, rotary embedding.

namespace llm {
namespace {

// One panel's part of one token: y = act(x + bias) + residual. Fewer than 16 columns go through padded copies.
template <class Act>
INLINE I finish_row(const float *x, const float *bias, const float *residual, float *out, uint32_t n) {
    float full_bias[PANEL_ROWS] = {0}, full_residual[PANEL_ROWS] = {0}, full_out[PANEL_ROWS];
    float *to = out;
    if (n < PANEL_ROWS) {
        if (bias) bias = static_cast<float *>(memcpy(full_bias, bias, n * sizeof(float)));
        if (residual) residual = static_cast<float *>(memcpy(full_residual, residual, n * sizeof(float)));
        to = full_out;
    }
    I largest = V::izero();
    UNROLL(4)
    for (int i = 0; i < (int)PANEL_ROWS; i += N) {
        F v = V::load(x + i);
        if (bias) v = V::add(v, V::load(bias + i));
        v = Act::of(v);
        if (residual) v = V::add(v, V::load(residual + i));
        V::store(to + i, v);
        largest = V::imax(largest, magnitude(v));
    }
    if (n < PANEL_ROWS) memcpy(out, full_out, n * sizeof(float));
    return largest;
}

template <class Act> static bool finish_tiles(const float *tiles, const tile_target *o) {
    I largest = V::izero();
    for (uint32_t col = 0; col < o->n_cols; col += PANEL_ROWS) {
        const uint32_t n = o->n_cols - col < PANEL_ROWS ? o->n_cols - col : PANEL_ROWS;
        for (uint32_t t = 0; t < o->n_tokens; t++, tiles += PANEL_ROWS)
            largest =
                V::imax(largest, finish_row<Act>(tiles, o->bias ? o->bias + col : nullptr,
                                                 o->residual ? o->residual + t * o->residual_stride + col : nullptr,
                                                 o->out + t * o->out_stride + col, n));
    }
    return V::largest_lane(largest) <= LARGEST_FINITE;
}
static bool finish_linear(const float *tiles, const tile_target *o) {
    if constexpr (V::BORROWS) return V::FLOATS->finish_linear(tiles, o);
    return with_activation(o->act, [&](auto act) { return finish_tiles<decltype(act)>(tiles, o); });
}

static bool glu(cpu_activation act, const float *gate, const float *up, float *out, size_t n) {
    if constexpr (V::BORROWS) return V::FLOATS->glu(act, gate, up, out, n);
    return with_activation(
        act, [&](auto a) { return map2(gate, up, out, n, [](F g, F u) { return V::mul(decltype(a)::of(g), u); }); });
}
static bool activate(cpu_activation act, const float *x, float *out, size_t n) {
    if constexpr (V::BORROWS) return V::FLOATS->activate(act, x, out, n);
    return with_activation(act, [&](auto a) { return map2(x, x, out, n, [](F v, F) { return decltype(a)::of(v); }); });
}
static bool add(const float *x, const float *y, float *out, size_t n) {
    return map2(x, y, out, n, [](F a, F b) { return V::add(a, b); });
}

constexpr int IN_32 = 32 / N; // registers that hold a block of activations

// A block of 32: CONTRACT.md section 3.
INLINE bool quantise_block(const F *v, act_block *out) {
    I m = V::izero();
    UNROLL(8)
    for (int i = 0; i < IN_32; i++) m = V::imax(m, magnitude(v[i]));
    const int32_t largest = V::largest_lane(m);
    float a, inverse = 0, d = 0;
    memcpy(&a, &largest, 4);
    if (largest > LARGEST_FINITE)
        d = NAN;
    else if (largest >= 0x0d800000) { // 2^-100; below, 127 / a would overflow sooner or later
        d = a / 127.f;
        inverse = 127.f / a;
    }
    I q[IN_32];
    UNROLL(8)
    for (int i = 0; i < IN_32; i++) // values that are not finite times 0 would not become 0
        q[i] = inverse == 0 ? V::izero() : V::nearest(V::mul(v[i], c(inverse)));
    int32_t sums[2];
    V::store_32(out->q, q, sums);
    const int32_t low = sums[0], high = sums[1];
    out->start_8 = -8 * (low + high);
    out->start_128 = -128 * (low + high);
    out->start_32_low = -32 * low;
    out->start_32_high = -32 * high;
    out->d = d;
    out->scaled_sum = d * float(low + high);
    return largest <= LARGEST_FINITE;
}

static bool quantise(const float *x, size_t n_blocks, act_row out) {
    bool finite = true;
    for (size_t b = 0; b < n_blocks; b++, x += 32) {
        F v[IN_32];
        UNROLL(8)
        for (int i = 0; i < IN_32; i++) v[i] = V::load(x + N * i);
        finite &= quantise_block(v, out.first + b * out.step);
    }
    return finite;
}

// Sum over k of term(x[k]) in 16 lanes (k mod 16), then halves. step(sum, x) is one lane's step, in vectors and
// scalars.
template <class Step> INLINE float sum_lanes(const float *x, size_t n, Step step) {
    F s[PARTS];
    for (int i = 0; i < PARTS; i++) s[i] = V::zero();
    size_t k = 0;
    for (; k + 16 <= n; k += 16) {
        UNROLL(4)
        for (int i = 0; i < PARTS; i++) s[i] = step(s[i], V::load(x + k + N * i));
    }
    if (k < n) {
        float lane[16];
        for (int i = 0; i < PARTS; i++) V::store(lane + N * i, s[i]);
        float rest[16] = {0}, ended[16];
        memcpy(rest, x + k, (n - k) * sizeof(float));
        for (int i = 0; i < PARTS; i++) V::store(ended + N * i, step(s[i], V::load(rest + N * i)));
        memcpy(lane, ended, (n - k) * sizeof(float));
        for (int i = 0; i < PARTS; i++) s[i] = V::load(lane + N * i);
    }
    return V::sum_halves(s);
}

// The norm of one row, register by register: value(x, k) is that of numbers k and on.
template <class Value> INLINE bool norm_blocks(const norm_row *r, Value value) {
    bool finite = true;
    for (size_t k = 0; k + 32 <= r->n; k += 32) {
        F v[IN_32];
        UNROLL(8)
        for (int i = 0; i < IN_32; i++) {
            v[i] = value(r->x, r->gain, r->bias, r->residual, k + N * i);
            if (r->out) V::store(r->out + k + N * i, v[i]);
        }
        if (r->act.first) finite &= quantise_block(v, r->act.first + k / 32 * r->act.step);
    }
    // A row that ends within a block is never quantised.
    for (size_t k = r->n / 32 * 32; k < r->n; k += N) {
        const float *from[4] = {r->x, r->gain, r->bias, r->residual};
        float part[4][N] = {{0}};
        const size_t bytes = (r->n - k < N ? r->n - k : N) * sizeof(float);
        for (int i = 0; i < 4; i++)
            if (from[i]) from[i] = static_cast<float *>(memcpy(part[i], from[i] + k, bytes));
        V::store(part[0], value(from[0], from[1], from[2], from[3], 0));
        memcpy(r->out + k, part[0], bytes);
    }
    return finite;
}

static bool norm(const norm_row *r) {
    if constexpr (V::BORROWS) return V::FLOATS->norm(r);
    const bool centred = r->kind == CPU_NORM_LAYER;
    const size_t n = r->n;
    const F mean = c(centred ? sum_lanes(r->x, n, [](F s, F v) { return V::add(s, v); }) / float(n) : 0);
    const float squares = centred ? sum_lanes(r->x, n,
                                              [&](F s, F v) {
                                                  F d = V::sub(v, mean);
                                                  return V::fma(d, d, s);
                                              })
                                  : sum_lanes(r->x, n, [](F s, F v) { return V::fma(v, v, s); });
    const F factor = c(1.f / sqrtf(squares / float(n) + r->eps));
    auto value = [&](const float *x, const float *gain, const float *bias, const float *residual, size_t k) {
        F v = V::load(x + k);
        if (centred) v = V::sub(v, mean);
        v = V::mul(v, factor);
        if (gain) v = V::mul(v, V::load(gain + k));
        if (bias) v = V::add(v, V::load(bias + k));
        return residual ? V::add(V::load(residual + k), v) : v;
    };
    return norm_blocks(r, value) && squares - squares == 0;
}

// Scalar code: 0.1 % of a prompt's time. Vectors would need shuffles in every layer.
static void rotate(float *a, float *b, float cosine, float sine) {
    float x0 = *a, x1 = *b;
    *a = __builtin_fmaf(x0, cosine, -(x1 * sine));
    *b = __builtin_fmaf(x1, cosine, x0 * sine);
}
static void rotate_neighbours(float *head, const float *table, uint32_t n_rot) {
    for (uint32_t i = 0; i < n_rot; i += 2) rotate(head + i, head + i + 1, table[i], table[i + 1]);
}
static void rotate_halves(float *head, const float *table, uint32_t n_rot) {
    for (uint32_t i = 0; i < n_rot; i += 2) rotate(head + i / 2, head + (i + n_rot) / 2, table[i], table[i + 1]);
}

static bool to_f16(const float *x, uint16_t *out, size_t n) {
    for (size_t i = 0; i < n; i += N) {
        float part[N] = {0};
        uint16_t half[N];
        const size_t some = n - i < N ? n - i : N;
        memcpy(part, x + i, some * sizeof(float));
        V::store_f16(half, V::load(part));
        memcpy(out + i, half, some * sizeof(uint16_t));
    }
    bool finite = true;
    for (size_t i = 0; i < n; i++)
        if ((out[i] & 0x7c00) == 0x7c00) {
            out[i] = 0;
            finite = false;
        }
    return finite;
}
static bool to_f32(const float *x, float *out, size_t n) {
    bool finite = true;
    for (size_t i = 0; i < n; i++) {
        bool good = x[i] - x[i] == 0;
        out[i] = good ? x[i] : 0;
        finite &= good;
    }
    return finite;
}
static void from_f16(const uint16_t *x, float *out, size_t n) {
    for (size_t i = 0; i < n; i += N) V::store(out + i, V::load_f16(x + i)); // n: a multiple of PANEL_ROWS
}

} // namespace
} // namespace llm

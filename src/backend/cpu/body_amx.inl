// Panels times many tokens with tiles. A block of 32 columns of a panel, groups of four values of 16 rows, is a B tile
// as it stands; eight tokens of a group of activations are the rows of an A tile, act_blocks apart. The tile of int32
// sums is exact, so the float chain after it gives the bits of every other kernel. Weights are unpacked to signed bytes
// for a few blocks at a time and serve all tokens.
//
// A tiles of 16 rows would need another order of activations, which all other kernels share; two of eight rows take the
// same B tile instead.

namespace llm {
namespace {

constexpr int BLOCKS_AT_ONCE = 16; // unpacked together: they stay in the L1 cache
constexpr int AHEAD = 4;           // blocks between a product and its use: a stored tile reaches loads late

// A block of 32 columns of a panel.
struct alignas(64) tile_block {
    int8_t q[8][4 * PANEL_ROWS];
    float scale[PANEL_ROWS], minimum[PANEL_ROWS];
    float factor[2][PANEL_ROWS], minima[2][PANEL_ROWS]; // what belongs to 16 columns
};

// The policy W once its blocks are tile_blocks.
template <class W> struct unpacked : W {
    INLINE const tile_block *at(const uint8_t *unit) { return reinterpret_cast<const tile_block *>(unit); }
    INLINE F scale16(const uint8_t *unit, int, int half, int) { return V::load(at(unit)->factor[half]); }
    INLINE F scale_half(const uint8_t *unit, int, int half, int) { return V::load(at(unit)->factor[half]); }
    INLINE F minimum16(const uint8_t *unit, int, int half, int) { return V::load(at(unit)->minima[half]); }
};

template <class W> static void unpack(const uint8_t *unit, int b, tile_block *out) {
    Q q[8];
    W::load(q, unit, b, 0);
    UNROLL(8)
    for (int j = 0; j < 8; j++) _mm512_store_si512(out->q[j], _mm512_sub_epi8(q[j], _mm512_set1_epi8((char)W::OFFSET)));
    V::store(out->scale, W::scale(unit, b, 0));
    if (W::MINIMUM != MINIMUM_NONE) V::store(out->minimum, W::minimum(unit, b, 0));
    for (int half = 0; half < 2; half++) {
        if (W::SCALES == 2) V::store(out->factor[half], W::scale16(unit, b, half, 0));
        if (W::APART) V::store(out->factor[half], W::scale_half(unit, b, half, 0));
        if (W::MINIMUM == MINIMA_SUBTRACTED) V::store(out->minima[half], W::minimum16(unit, b, half, 0));
    }
}

template <class TILES, class W> struct dot_tiles {
    static constexpr bool HALVES = W::APART || W::SCALES == 2; // sums over 16 instead of 32
    typedef int32_t sums[2][2 * MAX_TOKENS][PANEL_ROWS];       // of a block: [half][token]

    // Tiles 0-3 hold sums, 4 and 5 activations of two groups, 6 and 7 weights.
    static tile_config shapes() {
        tile_config c = {};
        c.palette = 1;
        for (int i = 0; i < 8; i++) {
            c.rows[i] = i < 6 ? MAX_TOKENS : HALVES ? 4 : 8;
            c.row_bytes[i] = i < 4 || i > 5 ? 4 * PANEL_ROWS : HALVES ? 16 : 32;
        }
        return c;
    }

    template <int SUMS, int GROUP, int WEIGHTS> INLINE void multiply(const int8_t *x, int32_t (*out)[PANEL_ROWS]) {
        TILES::template zero<SUMS>();
        TILES::template load<4 + GROUP>(x, sizeof(act_block));
        TILES::template multiply<SUMS, 4 + GROUP, WEIGHTS>();
        TILES::template store<SUMS>(out + MAX_TOKENS * GROUP, sizeof *out);
    }
    // Columns from 16 HALF on, with tiles of their own for each SET.
    template <int GROUPS, int SET, int HALF>
    INLINE void multiply_groups(const tile_block &w, const act_block *const *x, size_t b, int32_t (*out)[PANEL_ROWS]) {
        TILES::template load<6 + SET>(w.q[4 * HALF], sizeof w.q[0]);
        multiply<2 * SET, 0, 6 + SET>(x[0][b * MAX_TOKENS].q + 16 * HALF, out);
        if (GROUPS == 2) multiply<2 * SET + 1, 1, 6 + SET>(x[1][b * MAX_TOKENS].q + 16 * HALF, out);
    }
    template <int GROUPS>
    INLINE void multiply_block(const tile_block &w, const act_block *const *x, size_t b, sums &out) {
        if (HALVES) {
            multiply_groups<GROUPS, 0, 0>(w, x, b, out[0]);
            multiply_groups<GROUPS, 1, 1>(w, x, b, out[1]);
        } else if (b % 2) {
            multiply_groups<GROUPS, 1, 0>(w, x, b, out[0]);
        } else {
            multiply_groups<GROUPS, 0, 0>(w, x, b, out[0]);
        }
    }

    // The float chains of a few tokens, one step.
    template <int TOKENS>
    INLINE void add_block(F *acc, const tile_block &w, const act_block *x, const int32_t (*first)[PANEL_ROWS],
                          const int32_t (*last)[PANEL_ROWS]) {
        const uint8_t *unit = reinterpret_cast<const uint8_t *>(&w);
        F sum[TOKENS], rest[TOKENS];
        UNROLL(8)
        for (int u = 0; u < TOKENS; u++) {
            sum[u] = V::of_int(V::iload(first[u]));
            rest[u] = HALVES ? V::of_int(V::iload(last[u])) : V::zero();
        }
        add_sums<unpacked<W>, TOKENS>(acc, V::load(w.scale), sum, rest, x, unit, 0, 0);
        if (W::MINIMUM != MINIMUM_NONE) add_minimum<unpacked<W>, TOKENS>(acc, V::load(w.minimum), x, unit, 0, 0);
    }

    // n blocks times GROUPS groups of tokens, whose chains continue from `tiles`.
    template <int GROUPS> static void sweep(const tile_block *w, size_t n, const act_block *const *x, float *tiles) {
        constexpr int TOGETHER = HALVES ? 2 : 4;
        alignas(64) sums products[2 * AHEAD];
        F acc[GROUPS * MAX_TOKENS];
        UNROLL(16)
        for (int t = 0; t < GROUPS * int(MAX_TOKENS); t++) acc[t] = V::load(tiles + PANEL_ROWS * t);
        for (size_t b = 0; b < n && b < AHEAD; b++) multiply_block<GROUPS>(w[b], x, b, products[b]);
        for (size_t b = 0; b < n; b++) {
            for (size_t k = b + AHEAD; b % AHEAD == 0 && k < n && k < b + 2 * AHEAD; k++)
                multiply_block<GROUPS>(w[k], x, k, products[k % (2 * AHEAD)]);
            const sums &s = products[b % (2 * AHEAD)];
            UNROLL(16)
            for (int t = 0; t < GROUPS * int(MAX_TOKENS); t += TOGETHER)
                add_block<TOGETHER>(acc + t, w[b], x[t / MAX_TOKENS] + b * MAX_TOKENS + t % MAX_TOKENS, s[0] + t,
                                    s[1] + t);
        }
        UNROLL(16)
        for (int t = 0; t < GROUPS * int(MAX_TOKENS); t++) V::store(tiles + PANEL_ROWS * t, acc[t]);
    }

    static void sweep_tokens(const tile_block *w, size_t n, const act_block *x, size_t n_blocks, size_t n_tokens,
                             float *tiles) {
        const size_t group = MAX_TOKENS * n_blocks;
        for (size_t t = 0; t < n_tokens; t += 2 * MAX_TOKENS, x += 2 * group, tiles += 2 * MAX_TOKENS * PANEL_ROWS) {
            const act_block *groups[] = {x, x + group};
            if (t + MAX_TOKENS < n_tokens)
                sweep<2>(w, n, groups, tiles);
            else
                sweep<1>(w, n, groups, tiles);
        }
    }

    static void run(const void *panels, size_t cols, size_t n_panels, const act_block *x, size_t n_tokens,
                    float *tiles) {
        const tile_config config = shapes();
        TILES::configure(config);
        tile_block w[BLOCKS_AT_ONCE];
        const uint8_t *panel = static_cast<const uint8_t *>(panels);
        const size_t n_blocks = cols / 32;
        for (; n_panels; n_panels--, panel += n_blocks / W::BLOCKS * W::BYTES, tiles += n_tokens * PANEL_ROWS) {
            memset(tiles, 0, n_tokens * PANEL_ROWS * sizeof *tiles);
            for (size_t first = 0; first < n_blocks; first += BLOCKS_AT_ONCE) {
                const size_t n = n_blocks - first < BLOCKS_AT_ONCE ? n_blocks - first : BLOCKS_AT_ONCE;
                for (size_t i = first; i < first + n; i++)
                    unpack<W>(panel + i / W::BLOCKS * W::BYTES, int(i % W::BLOCKS), &w[i - first]);
                sweep_tokens(w, n, x + first * MAX_TOKENS, n_blocks, n_tokens, tiles);
            }
        }
        TILES::release(); // else the system saves tiles at each change of threads
    }
};

// The prompt kernel of a row of LLM_PANEL_KINDS.
template <class TILES, class KERNEL> struct prompt_kernel { static constexpr dot_many_kernel *run = nullptr; };
template <class TILES, class W> struct prompt_kernel<TILES, dot_blocks<W>> {
    static constexpr dot_many_kernel *run = dot_tiles<TILES, W>::run;
};
template <class TILES> constexpr cpu_prompt_kernels prompt_kernels() {
#define PROMPT_KERNEL(name, kernel) prompt_kernel<TILES, kernel>::run,
    return {{LLM_PANEL_KINDS(PROMPT_KERNEL)}};
#undef PROMPT_KERNEL
}

} // namespace
} // namespace llm

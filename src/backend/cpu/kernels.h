// What a vector tier of the CPU backend provides: one table of kernels. Each tier is body.inl compiled once more over
// another vector layer, all in an anonymous namespace: an inline function shared between tiers would be merged by the
// linker, and the copy with the newer instructions might be the one that stays. For the same reason this header, which
// tiers include, stays free of the standard library.
//
// Every kernel gives the bits that CONTRACT.md defines, so a tier, a split into calls and a number of tokens never
// show.
#pragma once
#include "backend/cpu/panel_kinds.h"
#include <stddef.h>
#include <stdint.h>

namespace llm {

constexpr uint32_t PANEL_ROWS = 16;   // rows of a weight panel, and keys of a K panel
constexpr uint32_t MAX_TOKENS = 8;    // of one kernel call: what registers can hold
constexpr uint32_t MANY_TOKENS = 128; // of a call of a kernel for prompts
constexpr uint32_t KEY_TILE = 64;

#define LLM_PANEL_KIND(name, kernel) PANEL_##name,
enum panel_kind : uint8_t { LLM_PANEL_KINDS(LLM_PANEL_KIND) PANEL_KINDS };
#undef LLM_PANEL_KIND

// 32 activations of one token, quantised (CONTRACT.md section 3). The integer chains of formats whose codes have an
// offset start at -offset * (sum of q): these products are kept ready, a shift per chain cost 5 % of a prompt's time.
// One struct per token and block, not arrays per field: the kernel then needs one base register.
struct act_block {
    int8_t q[32];
    int32_t start_8, start_128;          // -8, -128 times the sum of q
    int32_t start_32_low, start_32_high; // -32 times the sum of the first and the last 16
    float d;                             // value = d * q
    float scaled_sum;                    // d * (sum of q)
};

// Rows of activations lie in groups of MAX_TOKENS (the last may be smaller): [block][token of the group].
struct act_row {
    act_block *first; // block 0
    size_t step;      // to the next block
};
static inline act_row act_row_at(void *base, size_t n_rows, size_t n_blocks, size_t row) {
    size_t group = row / MAX_TOKENS * MAX_TOKENS;
    size_t width = n_rows - group < MAX_TOKENS ? n_rows - group : MAX_TOKENS;
    return {static_cast<act_block *>(base) + group * n_blocks + (row - group), width};
}

enum cpu_activation : uint8_t { CPU_ACT_NONE, CPU_ACT_SILU, CPU_ACT_GELU_TANH, CPU_ACTS };

// tiles[panel][token][PANEL_ROWS] = rows of `n_panels` neighbouring panels times T tokens.
// x: block-quantised panels take act_blocks [cols / 32][T]; float panels take float rows, `stride` apart.
// ahead: the kernel touches what lies that many bytes further on, it will be wanted soon; 0: nothing.
typedef void dot_kernel(const void *panels, size_t cols, size_t n_panels, const void *x, size_t stride, float *tiles,
                        ptrdiff_t ahead);

// The same for many tokens at once: a multiple of MAX_TOKENS, at most MANY_TOKENS. x: full groups of rows (act_row_at).
typedef void dot_many_kernel(const void *panels, size_t cols, size_t n_panels, const act_block *x, size_t n_tokens,
                             float *tiles);

// Where tiles of a linear layer go: out[token][col] = act(tile + bias) + residual.
struct tile_target {
    const float *bias;     // of the first column here, or NULL
    const float *residual; // likewise, or NULL; may be the same memory as out
    size_t residual_stride;
    float *out;
    size_t out_stride;
    uint32_t n_cols, n_tokens;
    cpu_activation act;
};

enum cpu_norm : uint8_t { CPU_NORM_RMS, CPU_NORM_LAYER };

// One row, or one head: y = norm(x) * gain + bias + residual.
struct norm_row {
    cpu_norm kind;
    const float *x;
    size_t n;
    float eps;
    const float *gain, *bias, *residual; // NULL: none
    float *out;                          // NULL when not wanted; may be x, or the residual
    act_row act;                         // quantised; first is NULL when not wanted; n is a multiple of 32 then
};

// A run of key tiles for up to MAX_TOKENS queries that share a KV head. Queries see different numbers of keys.
struct attention_pass {
    uint32_t n_queries;
    uint32_t head_k, head_v; // padded as the cache pads them (kv_cells.h)
    const void *q;           // what dot[type_k] takes: float [n_queries][head_k] or act_block [head_k / 32][n_queries]
    const int32_t *first, *keys; // [n_queries] visible keys: places first .. keys - 1
    float scale;
    panel_kind type_k, type_v;
    bool stream;      // tiles come from memory: prefetch V beside the scores, and the next K beside the sums
    float *p;         // scratch [KEY_TILE / PANEL_ROWS][n_queries][PANEL_ROWS]
    float *scales; // scratch [KEY_TILE][head_v / 32], for a quantised V
    float *max, *sum; // state [n_queries]
    float *out;       // state [n_queries][head_v]
};

// out = out * shrink + the values of a tile times p, for its first n_panels panels.
typedef void value_kernel(const attention_pass *a, uint32_t n_panels, const void *v, const float *shrink,
                          const void *next_k);

// The kernels without integer products, which tiers that differ in those alone can have together. By numbers of tokens.
enum float_kernel : uint8_t { FLOAT_F32, FLOAT_F16, FLOAT_BF16, FLOAT_KERNELS };
enum cached_value : uint8_t { CACHED_F32, CACHED_F16, CACHED_Q8_0, CACHED_Q4_0, CACHED_VALUES };
struct cpu_float_kernels {
    dot_kernel *dot[FLOAT_KERNELS][MAX_TOKENS];
    value_kernel *gather[CACHED_VALUES][MAX_TOKENS];
    bool (*finish_linear)(const float *tiles, const tile_target *target); // these as below
    bool (*glu)(cpu_activation act, const float *gate, const float *up, float *out, size_t n);
    bool (*activate)(cpu_activation act, const float *x, float *out, size_t n);
    bool (*norm)(const norm_row *row);
};

struct cpu_kernels {
    dot_kernel *dot[PANEL_KINDS][MAX_TOKENS]; // [kind][T - 1]

    // These return false when a result is infinite or NaN.
    bool (*finish_linear)(const float *tiles, const tile_target *target);
    bool (*glu)(cpu_activation act, const float *gate, const float *up, float *out, size_t n); // act(gate) * up
    bool (*activate)(cpu_activation act, const float *x, float *out, size_t n);
    bool (*add)(const float *x, const float *y, float *out, size_t n);
    bool (*quantise)(const float *x, size_t n_blocks, act_row out);
    bool (*norm)(const norm_row *row);

    void (*rotate_neighbours)(float *head, const float *table, uint32_t n_rot); // table: n_rot / 2 pairs (cos, sin)
    void (*rotate_halves)(float *head, const float *table, uint32_t n_rot);
    // To the element type of a cache; an element that is not finite there is stored as 0 and makes the result false.
    bool (*to_f16)(const float *x, uint16_t *out, size_t n);
    bool (*to_f32)(const float *x, float *out, size_t n);
    void (*from_f16)(const uint16_t *x, float *out, size_t n);
    // Values of a tile as float32. scales: scratch as in attention_pass.
    void (*widen_values)(panel_kind type, const void *v, uint32_t head_v, float *scales, float *out);

    // One tile of keys at position `first_key`; k, v as kv_cells.h says. next_k: what the next call will read, or k.
    void (*attend_tile)(const attention_pass *a, uint32_t first_key, const void *k, const void *v, const void *next_k);
    // Joins two runs of keys, the earlier one first; the result replaces the earlier.
    void (*attend_merge)(const attention_pass *earlier, const attention_pass *later);
    bool (*attend_finish)(const attention_pass *a); // out = out / sum

    uint64_t (*dots)(uint64_t rounds); // see backend.h
};

// What a tier has for prompts besides; NULL: this kind of panel has nothing better than `dot`.
struct cpu_prompt_kernels {
    dot_many_kernel *dot[PANEL_KINDS];
};

extern const cpu_kernels kernels_sse41, kernels_avx2, kernels_avxvnni, kernels_avx512;
extern const cpu_kernels kernels_neon, kernels_neon_dotprod, kernels_neon_i8mm;
extern const cpu_float_kernels float_kernels_neon;
extern const cpu_prompt_kernels prompt_kernels_amx;

} // namespace llm

// OP_LINEAR and OP_GLU_LINEAR: sweeps of panels over tokens.
//
// For each few panels (they stay in the L2 cache) all tokens of the chunk pass by, eight at a time. A chunk has at most
// as many tokens as their activations fit the cache beside the panels. Where a tier has a kernel for prompts, it takes
// the tokens of more than one call, panel by panel, and leaves the last few to the others.
#include "backend/cpu/ops.h"
#include <string.h>

namespace llm {
namespace {

constexpr uint32_t MAX_PANELS = 8;                     // of one kernel call
constexpr size_t TILES = 2 * MANY_TOKENS * PANEL_ROWS; // floats of one kernel call: two panels of many tokens
static_assert(TILES >= MAX_PANELS * MAX_TOKENS * PANEL_ROWS, "or many panels of few");
constexpr size_t PANELS_IN_CACHE = 64 << 10;  // bytes of weights that tokens sweep over
constexpr size_t TOKENS_IN_CACHE = 512 << 10; // bytes of activations of a chunk
constexpr size_t CHUNK_WORK = 96 << 10;       // bytes of weights, times sweeps, worth a claim of their own

// The matrix side of a step.
struct matrix {
    const panel_layout *layout;
    const uint8_t *data;
    size_t panel_bytes, cols, act_bytes; // act_bytes: activations of one token
    bool quantised;
    dot_many_kernel *many; // or NULL
};
matrix matrix_of(const cpu_job *job, const weight *w) {
    const panel_layout *layout = panel_layout_of(w->format);
    size_t act_bytes = w->format->quantised ? w->cols / 32 * sizeof(act_block) : w->cols * sizeof(float);
    return {layout,
            static_cast<const uint8_t *>(w->data),
            panel_bytes(layout, w->cols),
            w->cols,
            act_bytes,
            w->format->quantised,
            job->prompt ? job->prompt->dot[layout->kind] : nullptr};
}

uint32_t panels_per_call(const matrix &m, cpu_range rows, uint32_t least) {
    if (m.many && rows.end - rows.begin >= 2 * MAX_TOKENS) return least;
    size_t n = PANELS_IN_CACHE / m.panel_bytes;
    return n < least ? least : n > MAX_PANELS ? MAX_PANELS : uint32_t(n);
}

uint32_t tokens_per_call(const matrix &m, cpu_range rows) {
    const uint32_t left = rows.end - rows.begin;
    if (!m.many || left < 2 * MAX_TOKENS) return left < MAX_TOKENS ? left : MAX_TOKENS;
    return left < MANY_TOKENS ? left / MAX_TOKENS * MAX_TOKENS : MANY_TOKENS;
}

// Tiles of n_panels panels times the tokens of `rows` (as many as tokens_per_call says).
void dot(const cpu_job *job, const matrix &m, uint32_t panel, uint32_t n_panels, cpu_range rows, float *tiles) {
    const uint32_t n = rows.end - rows.begin;
    const uint8_t *panels = m.data + panel * m.panel_bytes;
    const act_block *x8 = m.quantised ? act8_row(job, job->s->in, rows.begin).first : nullptr;
    if (n > MAX_TOKENS) return m.many(panels, m.cols, n_panels, x8, n, tiles);
    const void *x = m.quantised ? static_cast<const void *>(x8) : f32_row(job, job->s->in, rows.begin);
    // Weights are read once and in order when all tokens fit a call; prompts find them in the cache but for the first.
    const ptrdiff_t ahead = rows.begin == 0 ? 4096 : 0;
    job->kernels->dot[m.layout->kind][n - 1](panels, m.cols, n_panels, x, m.cols, tiles, ahead);
}

cpu_split split(const cpu_job *job, uint32_t n_matrices, uint32_t panel_step) {
    const weight *w = job->s->w;
    const matrix m = matrix_of(job, w);
    const uint32_t n_rows = pass_rows(job->p, job->s->in), n_panels = uint32_t(panel_count(w->rows));
    uint32_t rows = uint32_t(TOKENS_IN_CACHE / m.act_bytes) / MAX_TOKENS * MAX_TOKENS;
    rows = rows < 2 * MAX_TOKENS ? 2 * MAX_TOKENS : rows;
    rows = rows < n_rows ? rows : round_up(n_rows ? n_rows : 1, MAX_TOKENS); // a pass without outputs has no rows
    const uint64_t sweeps = (rows + MAX_TOKENS - 1) / MAX_TOKENS;
    const uint32_t panels =
        pieces_per_chunk(n_panels, n_matrices * m.panel_bytes * sweeps, CHUNK_WORK, job->n_threads, panel_step);
    return {n_panels, panels, n_rows, rows};
}

} // namespace

namespace {

// Where a call's tiles go: rows of a buffer, or, when nobody wants to see the logits, lists of the best ones.
bool finish_tiles(const cpu_job *job, const float *tiles, uint32_t col, uint32_t n_panels, cpu_range rows) {
    const plan_step *s = job->s;
    const bool keep_top = s->out == job->p->program->logits && !job->p->logits;
    float logits[TILES];
    tile_target target = {};
    target.n_cols = uint32_t(s->w->rows - col < n_panels * PANEL_ROWS ? s->w->rows - col : n_panels * PANEL_ROWS);
    target.n_tokens = rows.end - rows.begin;
    target.act = cpu_activation_of(s->act);
    if (s->bias) target.bias = s->bias->data + col;
    if (s->residual >= 0) target.residual = f32_row(job, s->residual, rows.begin) + col;
    target.residual_stride = s->w->rows;
    target.out = keep_top ? logits : f32_row(job, s->out, rows.begin) + col;
    target.out_stride = keep_top ? target.n_cols : s->w->rows;
    const bool finite = job->kernels->finish_linear(tiles, &target);
    if (!keep_top || !finite) return finite;
    top_list *lists = reinterpret_cast<top_list *>(static_cast<uint8_t *>(job->scratch) + job->p->top_offset);
    for (uint32_t t = 0; t < target.n_tokens; t++)
        top_offer(&lists[rows.begin + t], llm_token(col), logits + t * target.n_cols, target.n_cols);
    return true;
}

} // namespace

// Float kernels take two panels at a time.
cpu_split split_linear(const cpu_job *job) { return split(job, 1, job->s->w->format->quantised ? 1 : 2); }

void run_linear(const cpu_job *job, cpu_range panels, cpu_range rows) {
    const plan_step *s = job->s;
    const matrix m = matrix_of(job, s->w);
    const uint32_t per_call = panels_per_call(m, rows, m.quantised ? 1 : 2);
    float tiles[TILES];
    bool finite = true;
    for (uint32_t panel = panels.begin; panel < panels.end; panel += per_call) {
        const uint32_t n = panels.end - panel < per_call ? panels.end - panel : per_call, col = panel * PANEL_ROWS;
        for (cpu_range some = {rows.begin, rows.begin}; some.begin < rows.end; some.begin = some.end) {
            some.end = some.begin + tokens_per_call(m, {some.begin, rows.end});
            dot(job, m, panel, n, some, tiles);
            finite &= finish_tiles(job, tiles, col, n, some);
        }
    }
    check(job, finite);
}

// Two panels make a block of 32 columns, so chunks and calls take pairs.
cpu_split split_glu_linear(const cpu_job *job) { return split(job, 2, 2); }

namespace {

void store_tiles(const cpu_job *job, const float *tiles, uint32_t col, uint32_t n_panels, cpu_range rows) {
    const uint32_t n_cols = cols_of(job, job->s->out);
    for (uint32_t i = 0; i < n_panels; i++, col += PANEL_ROWS)
        for (uint32_t row = rows.begin; row < rows.end; row++, tiles += PANEL_ROWS)
            memcpy(f32_row(job, job->s->out, row) + col, tiles,
                   (n_cols - col < PANEL_ROWS ? n_cols - col : PANEL_ROWS) * sizeof(float));
}

void quantise_tiles(const cpu_job *job, const float *tiles, uint32_t col, uint32_t n_panels, cpu_range rows) {
    const uint32_t n = rows.end - rows.begin;
    for (uint32_t i = 0; i + 1 < n_panels; i += 2, col += 32)
        for (uint32_t t = 0; t < n; t++) {
            float block[2 * PANEL_ROWS];
            memcpy(block, tiles + (i * n + t) * PANEL_ROWS, PANEL_ROWS * sizeof(float));
            memcpy(block + PANEL_ROWS, tiles + ((i + 1) * n + t) * PANEL_ROWS, PANEL_ROWS * sizeof(float));
            act_row out = act8_row(job, job->s->out_act8, rows.begin + t);
            job->kernels->quantise(block, 1, {out.first + col / 32 * out.step, 0});
        }
}

} // namespace

void run_glu_linear(const cpu_job *job, cpu_range panels, cpu_range rows) {
    const plan_step *s = job->s;
    matrix gate = matrix_of(job, s->w), up = matrix_of(job, s->w2);
    if (!gate.many || !up.many) gate.many = up.many = nullptr;
    const uint32_t per_call = panels_per_call(gate, rows, 2) / 2 * 2;
    float gates[TILES], ups[TILES];
    bool finite = true;
    for (uint32_t panel = panels.begin; panel < panels.end; panel += per_call) {
        const uint32_t n = panels.end - panel < per_call ? panels.end - panel : per_call, col = panel * PANEL_ROWS;
        for (cpu_range some = {rows.begin, rows.begin}; some.begin < rows.end; some.begin = some.end) {
            some.end = some.begin + tokens_per_call(gate, {some.begin, rows.end});
            dot(job, gate, panel, n, some, gates);
            dot(job, up, panel, n, some, ups);
            const size_t n_values = size_t(n) * (some.end - some.begin) * PANEL_ROWS;
            finite &= job->kernels->glu(cpu_activation_of(s->act), gates, ups, gates, n_values);
            if (s->out >= 0) store_tiles(job, gates, col, n, some);
            if (s->out_act8 >= 0) quantise_tiles(job, gates, col, n, some);
        }
    }
    check(job, finite);
}

} // namespace llm

// A random one-layer model of a chosen shape that any backend can run: the fast tiers must give the reference's bits.
#pragma once
#include "backend/backend.h"
#include "graph/rope.h"
#include "random_data.h"
#include <algorithm>
#include <deque>

namespace llm {

struct tiny_shape {
    const block_format *format;      // of the matrices
    const block_format *embd_format; // of the token embedding
    uint32_t n_embd = 64, n_head = 4, n_head_kv = 2, head_k = 16, head_v = 16, n_rot = 16, n_ff = 96, n_vocab = 50;
    float scale = 0.25f; // of scores
    float embd_scale = 1;
    norm_kind norm = NORM_RMS;
    rope_style rope = ROPE_NEIGHBOURS;
    bool gated = true; // act(gate) * up, else act(up)
    activation act = ACT_SILU;
    bool head_norms = false; // of q and k
    float eps_of_k = 1e-6f;  // another than q's keeps the planner from joining the norms to the rotation
    bool post_norms = false; // of what attention and feed-forward add
    bool pre_norms = true;   // of what they read
    bool biases = false;     // everywhere
    bool positions = false;  // learned positions besides
    kv_element type_k = KV_F16, type_v = KV_F16;
    uint32_t window = 0;
};

struct tiny_model {
    tiny_shape shape;
    graph g;
    std::deque<weight> weights;
    std::deque<std::vector<uint8_t>> files; // per weight: the file's blocks
    std::deque<weight_vector> vectors;
    std::deque<std::vector<float>> numbers;
};

inline const weight *tiny_matrix(tiny_model *m, random_source *r, const block_format *f, uint32_t rows, uint32_t cols) {
    std::vector<float> x(size_t(rows) * cols);
    for (float &v : x) v = r->gauss() / 8;
    m->files.push_back(random_blocks(r, f, rows, cols, DATA_SMALL));
    if (f->quantise) f->quantise(x.data(), m->files.back().data(), x.size());
    m->weights.push_back({"w" + std::to_string(m->weights.size()), f, rows, cols, nullptr});
    return &m->weights.back();
}
inline const weight_vector *tiny_vector(tiny_model *m, random_source *r, uint32_t n) {
    m->numbers.push_back(random_floats(r, n, DATA_PLAIN));
    m->vectors.push_back({"v", n, m->numbers.back().data()});
    return &m->vectors.back();
}

inline value_id tiny_linear(tiny_model *m, random_source *r, const char *name, value_id x, uint32_t rows) {
    const uint32_t cols = m->g.values[x].cols;
    const block_format *f = cols % m->shape.format->block_size ? format_by_id(FORMAT_F16) : m->shape.format;
    const weight *w = tiny_matrix(m, r, f, rows, cols);
    return graph_linear(&m->g, name, x, w, m->shape.biases ? tiny_vector(m, r, rows) : nullptr);
}
inline value_id tiny_norm(tiny_model *m, random_source *r, const char *name, value_id x, bool wanted = true) {
    if (!wanted) return x;
    const uint32_t n = m->g.values[x].cols;
    return graph_norm(&m->g, name, x, m->shape.norm, tiny_vector(m, r, n),
                      m->shape.biases ? tiny_vector(m, r, n) : nullptr, 1e-5f);
}

inline void tiny_build(tiny_model *m, const tiny_shape &s, uint64_t seed) {
    random_source r = {seed};
    m->shape = s;
    const weight *tokens = tiny_matrix(m, &r, s.embd_format, s.n_vocab, s.n_embd);
    const weight *positions = s.positions ? tiny_matrix(m, &r, s.embd_format, 4096, s.n_embd) : nullptr;
    value_id x = graph_embed(&m->g, tokens, positions, s.embd_scale), table = -1;
    if (s.n_rot) {
        rope_spec rope;
        rope.style = s.rope;
        rope.n_rot = s.n_rot;
        rope_plain_frequencies(10000, s.n_rot, &rope.frequency);
        table = graph_rope_table(&m->g, "rope_table", rope);
    }
    attention_spec a = {s.n_head, s.n_head_kv, s.head_k, s.head_v, s.scale, 0, s.window};
    value_id h = tiny_norm(m, &r, "attn_norm", x, s.pre_norms);
    value_id q = tiny_linear(m, &r, "q", h, s.n_head * s.head_k),
             k = tiny_linear(m, &r, "k", h, s.n_head_kv * s.head_k);
    value_id v = tiny_linear(m, &r, "v", h, s.n_head_kv * s.head_v);
    if (s.head_norms) {
        q = graph_head_norm(&m->g, "q_norm", q, tiny_vector(m, &r, s.head_k), 1e-6f);
        k = graph_head_norm(&m->g, "k_norm", k, tiny_vector(m, &r, s.head_k), s.eps_of_k);
    }
    h = tiny_linear(m, &r, "attn_out", graph_attention(&m->g, "attention", q, k, v, table, a), s.n_embd);
    x = graph_add(&m->g, "attn_residual", x, tiny_norm(m, &r, "attn_post_norm", h, s.post_norms));
    h = tiny_norm(m, &r, "ffn_norm", x, s.pre_norms);
    value_id up = tiny_linear(m, &r, "up", h, s.n_ff);
    if (s.gated)
        up = graph_glu(&m->g, "glu", tiny_linear(m, &r, "gate", h, s.n_ff), up, s.act);
    else
        up = graph_activate(&m->g, "activation", up, s.act);
    h = tiny_norm(m, &r, "ffn_post_norm", tiny_linear(m, &r, "down", up, s.n_embd), s.post_norms);
    x = graph_add(&m->g, "ffn_residual", x, h);
    x = tiny_norm(m, &r, "output_norm", graph_select_outputs(&m->g, x));
    m->g.hidden = x;
    m->g.logits = tiny_linear(m, &r, "output", x, s.n_vocab);
}

// Tokens of one pass: sequences take turns in runs; every token sees its sequence up to itself.
struct tiny_batch {
    std::vector<int32_t> tokens, pos, n_visible;
    std::vector<uint32_t> run_of_token, outputs, sequence_of_run, run_first;
};
inline void tiny_add_run(tiny_batch *b, random_source *r, uint32_t sequence, uint32_t n, uint32_t *length,
                         uint32_t n_vocab) {
    b->sequence_of_run.push_back(sequence);
    b->run_first.push_back(uint32_t(b->tokens.size()));
    for (uint32_t i = 0; i < n; i++) {
        b->run_of_token.push_back(uint32_t(b->sequence_of_run.size()) - 1);
        b->pos.push_back(int32_t((*length)++));
        b->n_visible.push_back(int32_t(*length));
        if (i + 1 == n || r->below(4) == 0) b->outputs.push_back(uint32_t(b->tokens.size()));
        b->tokens.push_back(int32_t(r->below(n_vocab)));
    }
}

// A model on a backend, with a cache for a few sequences.
struct tiny_session {
    tiny_model *m;
    const backend *b;
    plan program;
    std::vector<std::vector<uint8_t>> packed;
    kv_shape kv;
    std::vector<std::vector<std::vector<uint8_t>>> blocks; // [sequence][block] bytes
    std::vector<std::vector<uint8_t *>> tables;
    std::vector<uint8_t *const *> groups; // [sequence]: of one group
    std::vector<uint8_t> arena, scratch, shared;
    std::atomic<uint32_t> bad{UINT32_MAX};
};

inline void tiny_open(tiny_session *s, tiny_model *m, const backend *b, uint32_t max_tokens, uint32_t n_sequences,
                      uint32_t max_length) {
    s->m = m;
    s->b = b;
    for (size_t i = 0; i < m->weights.size(); i++) {
        weight &w = m->weights[i];
        s->packed.emplace_back(b->weight_bytes(w.format, w.rows, w.cols));
        b->pack(w.format, w.rows, w.cols, 0, w.rows, m->files[i].data(), s->packed.back().data());
        w.data = s->packed.back().data();
    }
    plan_build(&m->g, backend_target(b), max_tokens, &s->program, nullptr);
    s->kv.type_k = m->shape.type_k;
    s->kv.type_v = m->shape.type_v;
    s->kv.layers.push_back({m->shape.n_head_kv, m->shape.head_k, m->shape.head_v, m->shape.window});
    kv_shape_finish(&s->kv, b);
    s->blocks.resize(n_sequences);
    s->tables.resize(n_sequences);
    for (uint32_t i = 0; i < n_sequences; i++)
        for (uint32_t k = 0; k < max_length; k += KV_BLOCK) {
            s->blocks[i].emplace_back(s->kv.block_bytes, 0);
            s->tables[i].push_back(s->blocks[i].back().data());
        }
    for (const auto &table : s->tables) s->groups.push_back(table.data());
    s->arena.resize(s->program.arena_bytes);
    s->scratch.resize(b->scratch_bytes(&s->program));
    s->shared.resize(b->shared_bytes(&s->program, max_length), 0x55);
}

// Logits, then hidden rows. Chunks of a phase run in a random order, as threads would.
inline std::vector<float> tiny_run(tiny_session *s, const tiny_batch &batch, uint32_t n_threads, random_source *r) {
    const uint32_t n_outputs = uint32_t(batch.outputs.size()), n_vocab = s->m->shape.n_vocab,
                   n_embd = s->m->shape.n_embd;
    for (size_t i = 0; i < s->m->weights.size(); i++) s->m->weights[i].data = s->packed[i].data();
    std::vector<float> out(size_t(n_outputs) * (n_vocab + n_embd), 7.f);
    std::vector<query_run> runs;
    for (size_t i = 0; i < batch.run_first.size(); i++) {
        const uint32_t end = uint32_t(i + 1 < batch.run_first.size() ? batch.run_first[i + 1] : batch.tokens.size());
        runs.push_back({batch.run_first[i], end - batch.run_first[i], &s->groups[batch.sequence_of_run[i]]});
    }
    pass p = {};
    p.program = &s->program;
    p.arena = s->arena.data();
    p.shared = s->shared.data();
    p.logits = out.data();
    p.hidden = out.data() + size_t(n_outputs) * n_vocab;
    p.n_tokens = uint32_t(batch.tokens.size());
    p.n_outputs = n_outputs;
    p.tokens = batch.tokens.data();
    p.pos = p.place = batch.pos.data();
    p.n_visible = batch.n_visible.data();
    p.run_of_token = batch.run_of_token.data();
    p.runs = runs.data();
    p.n_runs = uint32_t(runs.size());
    p.outputs = batch.outputs.data();
    p.kv = &s->kv;
    p.bad_step = &s->bad;
    s->b->begin_pass(&p);
    for (const plan_phase &phase : s->program.phases) {
        std::vector<std::pair<uint32_t, uint32_t>> chunks; // step, chunk
        for (uint32_t step = phase.first_step; step < phase.first_step + phase.n_steps; step++)
            for (uint32_t i = 0; i < s->b->n_chunks(&p, step, n_threads); i++) chunks.push_back({step, i});
        for (size_t i = chunks.size(); i > 1; i--) std::swap(chunks[i - 1], chunks[r->below(uint32_t(i))]);
        for (auto c : chunks) s->b->run_chunk(&p, c.first, c.second, n_threads, s->scratch.data());
    }
    return out;
}

} // namespace llm

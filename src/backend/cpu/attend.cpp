// OP_ROPE_STORE and OP_ATTENTION over paged keys and values.
//
// A block of the cache holds, per layer, K and then V of 64 positions. K: [head][4 panels of 16 keys][head_k][16 keys],
// V: [head][64 keys][head_v, padded to 16]; the padding stays zero.
#include "backend/cpu/ops.h"
#include <float.h>
#include <string.h>

namespace llm {
namespace {

static_assert(KV_BLOCK == KEY_TILE, "a tile is a block");
constexpr uint32_t SEGMENT = 1024;   // keys summed from scratch before they are merged: CONTRACT.md section 7
constexpr uint32_t MAX_QUERIES = 64; // of a chunk: they share each tile of keys while it is in the L1 or L2 cache
constexpr uint32_t MAX_PASSES = MAX_QUERIES / MAX_TOKENS;
constexpr uint64_t CHUNK_MACS = 1 << 16; // worth a claim of their own

size_t element_bytes(kv_element type) { return type == KV_F16 ? 2 : 4; }
panel_kind kind_of(kv_element type) { return type == KV_F16 ? PANEL_F16 : PANEL_F32; }
size_t head_k_bytes(uint32_t head_k, kv_element type) { return size_t(KEY_TILE) * head_k * element_bytes(type); }
size_t head_v_bytes(uint32_t head_v, kv_element type) {
    return size_t(KEY_TILE) * round_up(head_v, PANEL_ROWS) * element_bytes(type);
}

// K and V of one head in the block of a sequence that holds `place`.
struct head_tile {
    uint8_t *k, *v;
};
head_tile tile_of(const pass *p, const attention_spec *a, const query_run *run, uint32_t head, uint32_t place) {
    uint8_t *layer = run->blocks[place / KEY_TILE] + p->kv->layer_offset[a->kv_layer];
    const size_t k_bytes = head_k_bytes(a->head_k, p->kv->type_k);
    return {layer + head * k_bytes, layer + a->n_head_kv * k_bytes + head * head_v_bytes(a->head_v, p->kv->type_v)};
}

template <class E> void scatter_key(const E *key, uint32_t head_k, uint32_t cell, E *k) {
    E *to = k + size_t(cell / PANEL_ROWS) * head_k * PANEL_ROWS + cell % PANEL_ROWS;
    for (uint32_t d = 0; d < head_k; d++) to[size_t(d) * PANEL_ROWS] = key[d];
}

// `converted` has room for one head.
bool store_key(const cpu_job *job, const float *key, uint32_t head_k, uint32_t cell, uint8_t *k, void *converted) {
    if (job->p->kv->type_k == KV_F16) {
        uint16_t *half = static_cast<uint16_t *>(converted);
        bool finite = job->kernels->to_f16(key, half, head_k);
        scatter_key(half, head_k, cell, reinterpret_cast<uint16_t *>(k));
        return finite;
    }
    float *full = static_cast<float *>(converted);
    bool finite = job->kernels->to_f32(key, full, head_k);
    scatter_key(full, head_k, cell, reinterpret_cast<float *>(k));
    return finite;
}
bool store_value(const cpu_job *job, const float *value, uint32_t head_v, uint32_t cell, uint8_t *v) {
    const size_t at = size_t(cell) * round_up(head_v, PANEL_ROWS);
    if (job->p->kv->type_v == KV_F16) return job->kernels->to_f16(value, reinterpret_cast<uint16_t *>(v) + at, head_v);
    return job->kernels->to_f32(value, reinterpret_cast<float *>(v) + at, head_v);
}

// Norm (gain NULL: none) and rotation (table NULL: none) of heads, in place.
bool prepare_heads(const cpu_job *job, float *heads, uint32_t n_heads, const weight_vector *gain, const float *table) {
    const rope_spec *rope = table ? &job->p->program->ropes[job->s->rope] : nullptr;
    auto rotate = rope && rope->style == ROPE_HALVES ? job->kernels->rotate_halves : job->kernels->rotate_neighbours;
    const uint32_t n = job->s->attention.head_k;
    norm_row r = {};
    r.n = n;
    r.eps = job->s->eps;
    if (gain) r.gain = gain->data;
    bool finite = true;
    for (uint32_t h = 0; h < n_heads; h++, heads += n) {
        r.x = r.out = heads;
        if (gain) finite &= job->kernels->norm(&r);
        if (rope) rotate(heads, table, rope->n_rot);
    }
    return finite;
}

// ---- attention ----

// Queries that share keys: heads first_head .. of one KV head's group, for neighbouring tokens of one sequence. Query i
// is head i % heads of token i / heads.
struct query_set {
    const query_run *run;
    uint32_t kv_head, first_head, heads, first_token, n; // n queries
    uint32_t first_key, n_keys;                          // keys that one of them sees: first_key .. n_keys - 1
};

// A query's softmax over the segment at hand, and over all segments up to it.
enum state_id { SEGMENT_STATE, WHOLE_STATE };

// What a chunk keeps in scratch, cut up by cut_scratch().
struct chunk_memory {
    float *q, *p;                    // [MAX_QUERIES][head_k], one pass's probabilities
    float *max[2], *sum[2], *out[2]; // states of all queries, by state_id
    int32_t *first, *keys;           // of each query: attention_pass
    float *tile_k, *tile_v;          // a tile as float32
};

size_t cut_scratch(chunk_memory *m, void *scratch, const attention_spec *a) {
    size_t used = 0;
    auto take = [&](size_t n) {
        float *at = scratch ? static_cast<float *>(scratch) + used : nullptr;
        used += (n + 15) / 16 * 16;
        return at;
    };
    const uint32_t head_v = round_up(a->head_v, PANEL_ROWS);
    m->q = take(size_t(MAX_QUERIES) * a->head_k);
    m->p = take(KEY_TILE * MAX_TOKENS);
    for (int i = 0; i < 2; i++) {
        m->max[i] = take(MAX_QUERIES);
        m->sum[i] = take(MAX_QUERIES);
        m->out[i] = take(size_t(MAX_QUERIES) * head_v);
    }
    m->first = reinterpret_cast<int32_t *>(take(MAX_QUERIES));
    m->keys = reinterpret_cast<int32_t *>(take(MAX_QUERIES));
    m->tile_k = take(size_t(KEY_TILE) * a->head_k);
    m->tile_v = take(size_t(KEY_TILE) * head_v);
    return used * sizeof(float);
}

void gather_queries(const cpu_job *job, query_set *set, chunk_memory *m) {
    const attention_spec &a = job->s->attention;
    set->first_key = UINT32_MAX;
    set->n_keys = 0;
    for (uint32_t i = 0; i < set->n; i += set->heads) {
        const uint32_t token = set->first_token + i / set->heads;
        const float *heads = f32_row(job, job->s->in, token) + size_t(set->first_head) * a.head_k;
        memcpy(m->q + size_t(i) * a.head_k, heads, set->heads * a.head_k * sizeof(float));
        const uint32_t first = pass_first_key(job->p, &a, token), keys = uint32_t(job->p->n_visible[token]);
        for (uint32_t h = 0; h < set->heads; h++) {
            m->first[i + h] = int32_t(first);
            m->keys[i + h] = int32_t(keys);
        }
        if (first < set->first_key) set->first_key = first;
        if (keys > set->n_keys) set->n_keys = keys;
    }
}

attention_pass pass_of(const cpu_job *job, const chunk_memory *m, const query_set *set, uint32_t first,
                       state_id state) {
    const attention_spec &a = job->s->attention;
    attention_pass t = {};
    t.n_queries = set->n - first < MAX_TOKENS ? set->n - first : MAX_TOKENS;
    t.head_k = a.head_k;
    t.head_v = round_up(a.head_v, PANEL_ROWS);
    t.q = m->q + size_t(first) * a.head_k;
    t.first = m->first + first;
    t.keys = m->keys + first;
    t.scale = a.scale;
    t.type_k = kind_of(job->p->kv->type_k);
    t.type_v = kind_of(job->p->kv->type_v);
    t.p = m->p;
    t.max = m->max[state] + first;
    t.sum = m->sum[state] + first;
    t.out = m->out[state] + size_t(first) * t.head_v;
    return t;
}

// A tile that no query of the pass sees would leave its state as it is.
bool sees_tile(const attention_pass *t, uint32_t key) {
    for (uint32_t i = 0; i < t->n_queries; i++)
        if (t->keys[i] > int32_t(key) && t->first[i] < int32_t(key + KEY_TILE)) return true;
    return false;
}

// A tile for several passes is converted to float32 once.
void widen(const cpu_job *job, const void **tile, panel_kind *kind, size_t n, float *room) {
    if (*kind != PANEL_F16) return;
    job->kernels->from_f16(static_cast<const uint16_t *>(*tile), room, n);
    *tile = room;
    *kind = PANEL_F32;
}

// Keys first .. end - 1 of one segment, from scratch, for all passes of the chunk.
void attend_segment(const cpu_job *job, const query_set *set, const chunk_memory *m, uint32_t first, uint32_t end,
                    state_id state) {
    const attention_spec &a = job->s->attention;
    attention_pass passes[MAX_PASSES];
    uint32_t n_passes = 0;
    for (uint32_t i = 0; i < set->n; i += MAX_TOKENS) {
        attention_pass &t = passes[n_passes++] = pass_of(job, m, set, i, state);
        for (uint32_t j = 0; j < t.n_queries; j++) {
            t.max[j] = -FLT_MAX;
            t.sum[j] = 0;
        }
        memset(t.out, 0, size_t(t.n_queries) * t.head_v * sizeof(float));
    }
    for (uint32_t key = first; key < end; key += KEY_TILE) {
        const head_tile tile = tile_of(job->p, &a, set->run, set->kv_head, key);
        const void *k = tile.k, *v = tile.v, *next = tile.k;
        if (key + KEY_TILE < end) next = tile_of(job->p, &a, set->run, set->kv_head, key + KEY_TILE).k;
        panel_kind type_k = passes[0].type_k, type_v = passes[0].type_v;
        if (n_passes > 1) {
            widen(job, &k, &type_k, size_t(KEY_TILE) * a.head_k, m->tile_k);
            widen(job, &v, &type_v, size_t(KEY_TILE) * passes[0].head_v, m->tile_v);
        }
        for (uint32_t i = 0; i < n_passes; i++) {
            if (!sees_tile(&passes[i], key)) continue;
            attention_pass t = passes[i];
            t.type_k = type_k;
            t.type_v = type_v;
            t.stream = n_passes == 1;
            job->kernels->attend_tile(&t, key, k, v, next);
        }
    }
}

void merge_segment(const cpu_job *job, const query_set *set, const chunk_memory *m) {
    for (uint32_t i = 0; i < set->n; i += MAX_TOKENS) {
        const attention_pass whole = pass_of(job, m, set, i, WHOLE_STATE);
        const attention_pass segment = pass_of(job, m, set, i, SEGMENT_STATE);
        job->kernels->attend_merge(&whole, &segment);
    }
}

void attend(const cpu_job *job, query_set *set, chunk_memory *m) {
    gather_queries(job, set, m);
    // The first segment goes straight to where all of them are gathered. What lies before every window is passed over:
    // such blocks may be gone.
    const uint32_t begin = set->first_key / KEY_TILE * KEY_TILE;
    for (uint32_t first = begin, end; first < set->n_keys; first = end) {
        end = first / SEGMENT * SEGMENT + SEGMENT;
        if (end > set->n_keys) end = set->n_keys;
        attend_segment(job, set, m, first, end, first == begin ? WHOLE_STATE : SEGMENT_STATE);
        if (first != begin) merge_segment(job, set, m);
    }
    for (uint32_t i = 0; i < set->n; i += MAX_TOKENS) {
        const attention_pass whole = pass_of(job, m, set, i, WHOLE_STATE);
        check(job, job->kernels->attend_finish(&whole));
    }
}

void write_results(const cpu_job *job, const query_set *set, const chunk_memory *m) {
    const attention_spec &a = job->s->attention;
    const uint32_t head_v = round_up(a.head_v, PANEL_ROWS), n = set->heads * a.head_v, col = set->first_head * a.head_v;
    for (uint32_t i = 0; i < set->n; i += set->heads) {
        const uint32_t token = set->first_token + i / set->heads;
        float *row = m->out[SEGMENT_STATE]; // free by now
        for (uint32_t h = 0; h < set->heads; h++)
            memcpy(row + h * a.head_v, m->out[WHOLE_STATE] + size_t(i + h) * head_v, a.head_v * sizeof(float));
        if (job->s->out >= 0) memcpy(f32_row(job, job->s->out, token) + col, row, n * sizeof(float));
        act_row act = act8_row(job, job->s->out_act8, token);
        if (act.first) check(job, job->kernels->quantise(row, n / 32, {act.first + col / 32 * act.step, act.step}));
    }
}

} // namespace

size_t cpu_kv_k_bytes(const kv_layer_shape *layer, kv_element type) {
    return layer->n_head_kv * head_k_bytes(layer->head_k, type);
}
size_t cpu_kv_v_bytes(const kv_layer_shape *layer, kv_element type) {
    return layer->n_head_kv * head_v_bytes(layer->head_v, type);
}

size_t attention_scratch_bytes(const attention_spec *a) {
    chunk_memory m;
    return cut_scratch(&m, nullptr, a);
}

void run_rope_store(const cpu_job *job, cpu_range, cpu_range rows) {
    const plan_step *s = job->s;
    const attention_spec &a = s->attention;
    for (uint32_t token = rows.begin; token < rows.end; token++) {
        float *q = f32_row(job, s->in, token), *k = f32_row(job, s->in2, token);
        const float *v = f32_row(job, s->in3, token);
        const float *table = s->table >= 0 ? f32_row(job, s->table, token) : nullptr;
        bool finite = prepare_heads(job, q, a.n_head, s->q_gain, table);
        finite &= prepare_heads(job, k, a.n_head_kv, s->k_gain, table);
        const uint32_t place = uint32_t(job->p->place[token]), cell = place % KEY_TILE;
        const query_run *run = &job->p->runs[job->p->run_of_token[token]];
        for (uint32_t h = 0; h < a.n_head_kv; h++) {
            const head_tile tile = tile_of(job->p, &a, run, h, place);
            finite &= store_key(job, k + h * a.head_k, a.head_k, cell, tile.k, job->scratch);
            finite &= store_value(job, v + h * a.head_v, a.head_v, cell, tile.v);
        }
        check(job, finite);
    }
}

cpu_split split_attention(const cpu_job *job) {
    const attention_spec &a = job->s->attention;
    const uint32_t group = a.n_head / a.n_head_kv, n_tokens = job->p->n_tokens;
    uint64_t keys = 0;
    for (uint32_t i = 0; i < n_tokens; i++) keys += uint64_t(job->p->n_visible[i]) - pass_first_key(job->p, &a, i);
    if (!n_tokens) return {a.n_head_kv, a.n_head_kv, 0, 1};
    const uint64_t macs = keys / n_tokens * group * (a.head_k + a.head_v) + 1; // of a token and KV head
    uint32_t tokens = group < MAX_QUERIES ? MAX_QUERIES / group : 1;
    tokens = tokens < n_tokens ? tokens : n_tokens;
    return {a.n_head_kv, pieces_per_chunk(a.n_head_kv, macs * tokens, CHUNK_MACS, job->n_threads, 1), n_tokens, tokens};
}

void run_attention(const cpu_job *job, cpu_range heads, cpu_range rows) {
    const attention_spec &a = job->s->attention;
    const uint32_t group = a.n_head / a.n_head_kv;
    chunk_memory m;
    cut_scratch(&m, job->scratch, &a);
    for (uint32_t token = rows.begin; token < rows.end;) {
        const uint32_t run = job->p->run_of_token[token];
        uint32_t n = 1;
        while (token + n < rows.end && job->p->run_of_token[token + n] == run) n++;
        for (uint32_t kv_head = heads.begin; kv_head < heads.end; kv_head++)
            for (uint32_t h = 0; h < group; h += MAX_QUERIES) { // a group beyond MAX_QUERIES comes with single tokens
                const uint32_t some = group - h < MAX_QUERIES ? group - h : MAX_QUERIES;
                query_set set = {&job->p->runs[run], kv_head, kv_head * group + h, some, token, n * some, 0, 0};
                attend(job, &set, &m);
                write_results(job, &set, &m);
            }
        token += n;
    }
}

} // namespace llm

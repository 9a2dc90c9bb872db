// OP_ROPE_STORE and OP_ATTENTION over paged keys and values.
#include "backend/cpu/kv_cells.h"
#include "core/fmath.h"
#include <float.h>
#include <string.h>

namespace llm {
namespace {

constexpr uint32_t SEGMENT = 1024;   // keys summed from scratch before they are merged: CONTRACT.md section 7
constexpr uint32_t MAX_QUERIES = 64; // of a chunk: they share each tile of keys while it is in the L1 or L2 cache
constexpr uint32_t MAX_PASSES = MAX_QUERIES / MAX_TOKENS;
constexpr uint64_t CHUNK_MACS = 1 << 16; // worth a claim of their own

// Norm (gain NULL: none), rotation (table NULL: none) and the turn for a quantised K, of heads in place.
bool prepare_heads(const cpu_job *job, float *heads, uint32_t n_heads, const weight_vector *gain, const float *table) {
    const rope_spec *rope = table ? &job->p->program->ropes[job->s->rope] : nullptr;
    auto rotate = rope && rope->style == ROPE_HALVES ? job->kernels->rotate_halves : job->kernels->rotate_neighbours;
    const uint32_t n = job->s->attention.head_k;
    const bool turned = kv_format(job->p->kv->type_k)->quantised;
    norm_row r = {};
    r.n = n;
    r.eps = job->s->eps;
    if (gain) r.gain = gain->data;
    bool finite = true;
    for (uint32_t h = 0; h < n_heads; h++, heads += n) {
        r.x = r.out = heads;
        if (gain) finite &= job->kernels->norm(&r);
        if (rope) rotate(heads, table, rope->n_rot);
        if (turned) hadamard_f32(heads, n);
    }
    return finite;
}

// ---- attention ----

// Queries that share keys: heads first_head .. of one KV head's group, for neighbouring tokens of one sequence. Query i
// is head i % heads of token i / heads.
struct query_set {
    const kv_layer_view *cache;
    const query_run *run;
    uint32_t kv_head, first_head, heads, first_token, n; // n queries
    uint32_t first_key, end_key;                         // keys that one of them sees
};

// Softmax over some keys, of all queries of a set: largest score, sum of probabilities, sum of values.
struct softmax_states {
    float *max, *sum, *out; // [n], [n], [n][head_v]
};

// What a chunk keeps in scratch, cut up by cut_scratch().
struct chunk_memory {
    float *q, *p;                  // [MAX_QUERIES][head_k, padded], one pass's probabilities
    act_block *q8;                 // rows as act_row_at() has them: for a quantised K
    softmax_states segment, whole; // keys of the segment at hand, and of all segments up to it
    int32_t *first, *keys;         // of each query: attention_pass
    float *tile_k, *tile_v;        // a tile as float32
    float *scales;                 // of a quantised V
};

size_t cut_scratch(chunk_memory *m, void *scratch, const attention_spec *a) {
    size_t used = 0;
    auto take = [&](size_t n) {
        float *at = scratch ? static_cast<float *>(scratch) + used : nullptr;
        used += (n + 15) / 16 * 16;
        return at;
    };
    const uint32_t head_k = round_up(a->head_k, 32), head_v = round_up(a->head_v, 32); // enough for any type
    m->q = take(size_t(MAX_QUERIES) * head_k);
    m->q8 = reinterpret_cast<act_block *>(take(size_t(MAX_QUERIES) * head_k / 32 * sizeof(act_block) / sizeof(float)));
    m->p = take(KEY_TILE * MAX_TOKENS);
    for (softmax_states *s : {&m->segment, &m->whole})
        *s = {take(MAX_QUERIES), take(MAX_QUERIES), take(size_t(MAX_QUERIES) * head_v)};
    m->first = reinterpret_cast<int32_t *>(take(MAX_QUERIES));
    m->keys = reinterpret_cast<int32_t *>(take(MAX_QUERIES));
    m->tile_k = take(size_t(KEY_TILE) * head_k);
    m->tile_v = take(size_t(KEY_TILE) * head_v);
    m->scales = take(size_t(KEY_TILE) * head_v / 32);
    return used * sizeof(float);
}

void find_keys(const cpu_job *job, query_set *set) {
    set->first_key = UINT32_MAX;
    set->end_key = 0;
    for (uint32_t token = set->first_token; token < set->first_token + set->n / set->heads; token++) {
        const uint32_t first = pass_first_key(job->p, &job->s->attention, token);
        const uint32_t end = uint32_t(job->p->n_visible[token]);
        set->first_key = first < set->first_key ? first : set->first_key;
        set->end_key = end > set->end_key ? end : set->end_key;
    }
}

bool is_quantised(const kv_cells &cells) { return cells.format->quantised; }

void gather_queries(const cpu_job *job, const query_set *set, const chunk_memory *m) {
    const attention_spec &a = job->s->attention;
    const kv_cells &k = set->cache->k;
    for (uint32_t i = 0; i < set->n; i++) {
        const uint32_t token = set->first_token + i / set->heads, head = set->first_head + i % set->heads;
        float *q = m->q + size_t(i) * k.cols;
        memcpy(q, f32_row(job, job->s->in, token) + size_t(head) * a.head_k, a.head_k * sizeof(float));
        memset(q + a.head_k, 0, (k.cols - a.head_k) * sizeof(float));
        m->first[i] = int32_t(pass_first_key(job->p, &a, token));
        m->keys[i] = job->p->n_visible[token];
        if (is_quantised(k))
            check(job, job->kernels->quantise(q, k.cols / 32, act_row_at(m->q8, set->n, k.cols / 32, i)));
    }
}

// Queries first .. of a set, as many as a kernel takes, whose states are `s`.
attention_pass pass_of(const cpu_job *job, const chunk_memory *m, const query_set *set, uint32_t first,
                       const softmax_states &s) {
    attention_pass t = {};
    t.n_queries = set->n - first < MAX_TOKENS ? set->n - first : MAX_TOKENS;
    t.head_k = set->cache->k.cols;
    t.head_v = set->cache->v.cols;
    t.q = m->q + size_t(first) * t.head_k;
    if (is_quantised(set->cache->k)) t.q = m->q8 + size_t(first) * (t.head_k / 32);
    t.first = m->first + first;
    t.keys = m->keys + first;
    t.scale = job->s->attention.scale;
    t.type_k = set->cache->k.kind;
    t.type_v = set->cache->v.kind;
    t.p = m->p;
    t.scales = m->scales;
    t.max = s.max + first;
    t.sum = s.sum + first;
    t.out = s.out + size_t(first) * t.head_v;
    return t;
}

// A tile that no query of the pass sees would leave its state as it is.
bool sees_tile(const attention_pass *t, uint32_t key) {
    for (uint32_t i = 0; i < t->n_queries; i++)
        if (t->keys[i] > int32_t(key) && t->first[i] < int32_t(key + KEY_TILE)) return true;
    return false;
}

// A tile for several passes is converted to float32 once; quantised keys are not, their dot products are integers.
void widen(const cpu_job *job, const chunk_memory *m, attention_pass *t, head_tile *tile) {
    if (t->type_k == PANEL_F16) {
        job->kernels->from_f16(reinterpret_cast<uint16_t *>(tile->k), m->tile_k, size_t(KEY_TILE) * t->head_k);
        tile->k = reinterpret_cast<uint8_t *>(m->tile_k);
        t->type_k = PANEL_F32;
    }
    if (t->type_v != PANEL_F32) {
        job->kernels->widen_values(t->type_v, tile->v, t->head_v, m->scales, m->tile_v);
        tile->v = reinterpret_cast<uint8_t *>(m->tile_v);
        t->type_v = PANEL_F32;
    }
}

void attend_tile(const cpu_job *job, const query_set *set, const chunk_memory *m, const attention_pass *passes,
                 uint32_t key, bool more) {
    head_tile tile = kv_tile(set->cache, set->run, set->kv_head, key);
    const uint8_t *next = more ? kv_tile(set->cache, set->run, set->kv_head, key + KEY_TILE).k : tile.k;
    attention_pass types = passes[0];
    if (set->n > MAX_TOKENS) widen(job, m, &types, &tile);
    for (uint32_t i = 0; i * MAX_TOKENS < set->n; i++) {
        if (!sees_tile(&passes[i], key)) continue;
        attention_pass t = passes[i];
        t.type_k = types.type_k;
        t.type_v = types.type_v;
        t.stream = set->n <= MAX_TOKENS;
        job->kernels->attend_tile(&t, key, tile.k, tile.v, next);
    }
}

// The keys of one segment that the set sees, from scratch.
void attend_segment(const cpu_job *job, const query_set *set, const chunk_memory *m, uint32_t segment,
                    const softmax_states &s) {
    attention_pass passes[MAX_PASSES];
    for (uint32_t i = 0; i < set->n; i += MAX_TOKENS) {
        attention_pass &t = passes[i / MAX_TOKENS] = pass_of(job, m, set, i, s);
        for (uint32_t j = 0; j < t.n_queries; j++) {
            t.max[j] = -FLT_MAX;
            t.sum[j] = 0;
        }
        memset(t.out, 0, size_t(t.n_queries) * t.head_v * sizeof(float));
    }
    // What lies before every window is passed over: such blocks may be gone.
    uint32_t key = segment * SEGMENT, end = key + SEGMENT;
    if (key < set->first_key) key = set->first_key / KEY_TILE * KEY_TILE;
    if (end > set->end_key) end = set->end_key;
    for (; key < end; key += KEY_TILE) attend_tile(job, set, m, passes, key, key + KEY_TILE < end);
}

void merge_segment(const cpu_job *job, const query_set *set, const chunk_memory *m, const softmax_states &whole,
                   const softmax_states &segment) {
    for (uint32_t i = 0; i < set->n; i += MAX_TOKENS) {
        const attention_pass earlier = pass_of(job, m, set, i, whole), later = pass_of(job, m, set, i, segment);
        job->kernels->attend_merge(&earlier, &later);
    }
}

uint32_t first_segment(const query_set *set) { return set->first_key / SEGMENT; }
uint32_t end_segment(const query_set *set) { return (set->end_key + SEGMENT - 1) / SEGMENT; }

// Divides by the sums and hands the set's results on, as numbers and quantised.
void write_results(const cpu_job *job, const query_set *set, const chunk_memory *m, const softmax_states &s) {
    const attention_spec &a = job->s->attention;
    for (uint32_t i = 0; i < set->n; i += MAX_TOKENS) {
        const attention_pass whole = pass_of(job, m, set, i, s);
        check(job, job->kernels->attend_finish(&whole));
    }
    const uint32_t head_v = set->cache->v.cols, n = set->heads * a.head_v, col = set->first_head * a.head_v;
    for (uint32_t i = 0; i < set->n; i += set->heads) {
        const uint32_t token = set->first_token + i / set->heads;
        float *row = m->segment.out; // free by now
        for (uint32_t h = 0; h < set->heads; h++)
            memcpy(row + h * a.head_v, s.out + size_t(i + h) * head_v, a.head_v * sizeof(float));
        if (job->s->out >= 0) memcpy(f32_row(job, job->s->out, token) + col, row, n * sizeof(float));
        act_row act = act8_row(job, job->s->out_act8, token);
        if (act.first) check(job, job->kernels->quantise(row, n / 32, {act.first + col / 32 * act.step, act.step}));
    }
}

void attend(const cpu_job *job, const query_set *set, const chunk_memory *m) {
    gather_queries(job, set, m);
    const uint32_t first = first_segment(set);
    attend_segment(job, set, m, first, m->whole);
    for (uint32_t i = first + 1; i < end_segment(set); i++) {
        attend_segment(job, set, m, i, m->segment);
        merge_segment(job, set, m, m->whole, m->segment);
    }
    write_results(job, set, m, m->whole);
}

// Calls f(query_set *) for each set of some KV heads and tokens.
template <class Function> void for_sets(const cpu_job *job, cpu_range heads, cpu_range rows, Function f) {
    const uint32_t group = job->s->attention.n_head / job->s->attention.n_head_kv;
    const kv_layer_view cache = kv_view(job->p, &job->s->attention);
    for (uint32_t token = rows.begin; token < rows.end;) {
        const uint32_t run = job->p->run_of_token[token];
        uint32_t n = 1;
        while (token + n < rows.end && job->p->run_of_token[token + n] == run) n++;
        for (uint32_t kv_head = heads.begin; kv_head < heads.end; kv_head++)
            for (uint32_t h = 0; h < group; h += MAX_QUERIES) { // a group beyond MAX_QUERIES comes with single tokens
                const uint32_t some = group - h < MAX_QUERIES ? group - h : MAX_QUERIES;
                query_set set = {&cache, &job->p->runs[run], kv_head, kv_head * group + h, some, token, n * some, 0, 0};
                find_keys(job, &set);
                f(&set);
            }
        token += n;
    }
}

// ---- few tokens, many keys: chunks are parts of a head's keys ----
//
// Segments are computed by whoever claims them; their states stay in shared memory until the last of a head's chunks
// has ended, which merges them in the order of the segments. A count of arrivals instead of a step of its own:
// generating needs no further barrier per layer.

constexpr uint32_t SPLIT_TOKENS = 8; // passes of more tokens have enough chunks
constexpr uint32_t MAX_PARTS = 64;   // of a head's keys

struct key_parts {
    uint32_t first_segment, n_segments, per_part, n_parts;
};

// The parts depend on the pass alone: every chunk finds the same.
key_parts parts_of(const cpu_job *job) {
    const pass *p = job->p;
    if (p->n_tokens > SPLIT_TOKENS) return {0, 1, 1, 1};
    uint32_t first = UINT32_MAX, end = 0;
    for (uint32_t i = 0; i < p->n_tokens; i++) {
        const uint32_t first_key = pass_first_key(p, &job->s->attention, i), end_key = uint32_t(p->n_visible[i]);
        first = first_key < first ? first_key : first;
        end = end_key > end ? end_key : end;
    }
    if (end <= first) return {0, 1, 1, 1};
    key_parts k = {first / SEGMENT, (end + SEGMENT - 1) / SEGMENT - first / SEGMENT, 1, 1};
    k.per_part = (k.n_segments + MAX_PARTS - 1) / MAX_PARTS;
    k.n_parts = (k.n_segments + k.per_part - 1) / k.per_part;
    return k;
}

// Shared memory: counts of arrivals, [n_head_kv][SPLIT_TOKENS], then states of all queries of the pass per segment.
// A count is tagged with its step, so that it need not go back to 0 between layers.
using arrival_count = std::atomic<uint32_t>;
constexpr uint32_t COUNT_BITS = 8;
static_assert(MAX_PARTS < 1u << COUNT_BITS, "a count fits beside its tag");

bool last_to_arrive(arrival_count *count, uint32_t step, uint32_t n) {
    uint32_t seen = count->load(std::memory_order_relaxed), next;
    do {
        next = (seen >> COUNT_BITS == step + 1 ? seen : (step + 1) << COUNT_BITS) + 1;
    } while (!count->compare_exchange_weak(seen, next, std::memory_order_acq_rel, std::memory_order_relaxed));
    return (next & ((1u << COUNT_BITS) - 1)) == n;
}

size_t count_bytes(const plan *program) {
    size_t most = 0;
    for (const plan_step &s : program->steps)
        if (s.op == OP_ATTENTION && s.attention.n_head_kv > most) most = s.attention.n_head_kv;
    return (most * SPLIT_TOKENS * sizeof(arrival_count) + 63) / 64 * 64;
}

// A set's queries have neighbouring places among those of the pass.
softmax_states shared_states(const cpu_job *job, const query_set *set, uint32_t segment, uint32_t n_segments) {
    const attention_spec &a = job->s->attention;
    const size_t n = size_t(job->p->n_tokens) * a.n_head, head_v = set->cache->v.cols;
    const size_t at = segment * n + size_t(set->first_token) * a.n_head + set->first_head * (set->n / set->heads);
    float *base = reinterpret_cast<float *>(job->p->shared + count_bytes(job->p->program));
    return {base + at, base + n_segments * n + at, base + 2 * n_segments * n + at * head_v};
}

void attend_part(const cpu_job *job, const key_parts &k, uint32_t kv_head, uint32_t part, cpu_range rows) {
    const cpu_range heads = {kv_head, kv_head + 1};
    chunk_memory m;
    cut_scratch(&m, job->scratch, &job->s->attention);
    auto states = [&](const query_set *set, uint32_t segment) {
        return shared_states(job, set, segment - k.first_segment, k.n_segments);
    };
    for_sets(job, heads, rows, [&](const query_set *set) {
        gather_queries(job, set, &m);
        const uint32_t begin = k.first_segment + part * k.per_part;
        for (uint32_t i = begin; i < begin + k.per_part; i++)
            if (i >= first_segment(set) && i < end_segment(set)) attend_segment(job, set, &m, i, states(set, i));
    });
    arrival_count *counts = reinterpret_cast<arrival_count *>(job->p->shared);
    if (!last_to_arrive(&counts[kv_head * SPLIT_TOKENS + rows.begin], job->step, k.n_parts)) return;
    for_sets(job, heads, rows, [&](const query_set *set) {
        const softmax_states whole = states(set, first_segment(set));
        for (uint32_t i = first_segment(set) + 1; i < end_segment(set); i++)
            merge_segment(job, set, &m, whole, states(set, i));
        write_results(job, set, &m, whole);
    });
}

} // namespace

size_t attention_scratch_bytes(const attention_spec *a) {
    chunk_memory m;
    const size_t attending = cut_scratch(&m, nullptr, a);
    const size_t storing = kv_store_bytes(a->head_k > a->head_v ? a->head_k : a->head_v);
    return attending > storing ? attending : storing;
}

void run_rope_store(const cpu_job *job, cpu_range, cpu_range rows) {
    const plan_step *s = job->s;
    const attention_spec &a = s->attention;
    const kv_layer_view cache = kv_view(job->p, &a);
    for (uint32_t token = rows.begin; token < rows.end; token++) {
        float *q = f32_row(job, s->in, token), *k = f32_row(job, s->in2, token);
        const float *v = f32_row(job, s->in3, token);
        const float *table = s->table >= 0 ? f32_row(job, s->table, token) : nullptr;
        bool finite = prepare_heads(job, q, a.n_head, s->q_gain, table);
        finite &= prepare_heads(job, k, a.n_head_kv, s->k_gain, table);
        const uint32_t place = uint32_t(job->p->place[token]), cell = place % KEY_TILE;
        const query_run *run = &job->p->runs[job->p->run_of_token[token]];
        for (uint32_t h = 0; h < a.n_head_kv; h++) {
            const head_tile tile = kv_tile(&cache, run, h, place);
            finite &= kv_store_key(job->kernels, &cache.k, k + h * a.head_k, a.head_k, cell, tile.k, job->scratch);
            finite &= kv_store_value(job->kernels, &cache.v, v + h * a.head_v, a.head_v, cell, tile.v, job->scratch);
        }
        check(job, finite);
    }
}

size_t attention_shared_bytes(const plan *program, uint32_t n_ctx) {
    // Windows do not lessen it: sequences of one pass may be at different places.
    const size_t segments = (size_t(n_ctx) + SEGMENT - 1) / SEGMENT;
    size_t most = 0;
    for (const plan_step &s : program->steps) {
        if (s.op != OP_ATTENTION) continue;
        const size_t queries = size_t(SPLIT_TOKENS) * s.attention.n_head;
        const size_t floats = segments * queries * (2 + round_up(s.attention.head_v, 32));
        most = floats > most ? floats : most;
    }
    return count_bytes(program) + most * sizeof(float);
}

void attention_begin_pass(const pass *p) { memset(p->shared, 0, count_bytes(p->program)); }

cpu_split split_attention(const cpu_job *job) {
    const attention_spec &a = job->s->attention;
    const uint32_t group = a.n_head / a.n_head_kv, n_tokens = job->p->n_tokens;
    if (!n_tokens) return {a.n_head_kv, a.n_head_kv, 0, 1};
    uint32_t tokens = group < MAX_QUERIES ? MAX_QUERIES / group : 1;
    tokens = tokens < n_tokens ? tokens : n_tokens;
    const key_parts k = parts_of(job);
    if (k.n_parts > 1) return {a.n_head_kv * k.n_parts, 1, n_tokens, tokens};
    uint64_t keys = 0;
    for (uint32_t i = 0; i < n_tokens; i++) keys += uint64_t(job->p->n_visible[i]) - pass_first_key(job->p, &a, i);
    const uint64_t macs = keys / n_tokens * group * (a.head_k + a.head_v) + 1; // of a token and KV head
    return {a.n_head_kv, pieces_per_chunk(a.n_head_kv, macs * tokens, CHUNK_MACS, job->n_threads, 1), n_tokens, tokens};
}

void run_attention(const cpu_job *job, cpu_range cols, cpu_range rows) {
    const key_parts k = parts_of(job);
    if (k.n_parts > 1) return attend_part(job, k, cols.begin / k.n_parts, cols.begin % k.n_parts, rows);
    chunk_memory m;
    cut_scratch(&m, job->scratch, &job->s->attention);
    for_sets(job, cols, rows, [&](const query_set *set) { attend(job, set, &m); });
}

} // namespace llm

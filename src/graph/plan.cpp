#include "graph/plan.h"
#include "graph/fuse.h"
#include <algorithm>

namespace llm {

namespace {

constexpr size_t RUN_TIME = SIZE_MAX; // buffer bound at run time
constexpr size_t ALIGN = 64;

// Buffers that hold a value: its numbers, and their quantised form. -1 until made.
struct value_buffers {
    buffer_id f32 = -1, act8 = -1;
};

struct planner {
    const graph *g;
    plan_target target;
    plan *p;
    std::vector<fused_node> fused;
    std::vector<value_buffers> at;
    std::vector<uint8_t> wants_f32, wants_act8; // per value: does any step read it so
    std::vector<int32_t> last_use;              // per value: last node that reads it
};

bool quantised(const weight *w) { return w->format->quantised; }

// Does attention's chunk (one KV head's group) end on a whole block of 32?
bool attention_quantises(const attention_spec &a) { return a.n_head / a.n_head_kv * a.head_v % 32 == 0; }

bool can_quantise(const plan_step &step) {
    switch (step.op) {
    case OP_NORM: return step.group % 32 == 0;
    case OP_GLU_LINEAR: return true;
    case OP_ATTENTION: return attention_quantises(step.attention);
    default: return false;
    }
}

buffer_id new_buffer(planner *q, buffer_kind kind, uint32_t cols, bool per_output) {
    size_t bytes = kind == BUFFER_ACT8 ? q->target.act8_bytes(cols, q->p->max_tokens)
                                       : (size_t)cols * q->p->max_tokens * sizeof(float);
    q->p->buffers.push_back({kind, per_output, cols, (bytes + ALIGN - 1) / ALIGN * ALIGN, 0});
    return (buffer_id)q->p->buffers.size() - 1;
}

buffer_id f32_of(planner *q, value_id x) {
    if (q->at[x].f32 < 0) q->at[x].f32 = new_buffer(q, BUFFER_F32, q->g->values[x].cols, q->g->values[x].per_output);
    return q->at[x].f32;
}
buffer_id act8_of(planner *q, value_id x) {
    if (q->at[x].act8 < 0) q->at[x].act8 = new_buffer(q, BUFFER_ACT8, q->g->values[x].cols, q->g->values[x].per_output);
    return q->at[x].act8;
}

void note_read(planner *q, value_id x, size_t node, bool as_act8) {
    if (x < 0) return;
    (as_act8 ? q->wants_act8 : q->wants_f32)[x] = 1;
    q->last_use[x] = std::max(q->last_use[x], (int32_t)node);
}

// Operand k of a node, behind the norms that its step took over.
value_id operand(const planner *q, size_t i, int k) {
    const fused_node &f = q->fused[i];
    int32_t norm = k == 0 ? f.q_norm : k == 1 ? f.k_norm : -1;
    return norm >= 0 ? q->g->nodes[norm].in[0] : q->g->nodes[i].in[k];
}

void note_uses(planner *q) {
    const graph *g = q->g;
    q->wants_f32.assign(g->values.size(), 0);
    q->wants_act8.assign(g->values.size(), 0);
    q->last_use.assign(g->values.size(), -1);
    for (size_t i = 0; i < g->nodes.size(); i++) {
        const graph_node &node = g->nodes[i];
        const fused_node &f = q->fused[i];
        if (f.absorbed) continue;
        if (f.gate >= 0) {
            note_read(q, g->nodes[f.gate].in[0], i, quantised(g->nodes[f.gate].w));
            continue;
        }
        for (int k = 0; k < 3; k++) note_read(q, operand(q, i, k), i, node.op == OP_LINEAR && quantised(node.w));
        note_read(q, f.residual, i, false);
        note_read(q, node.table, i, false);
    }
    for (value_id x : {g->hidden, g->logits})
        if (x >= 0) note_read(q, x, g->nodes.size(), false);
}

plan_step new_step(planner *q, const graph_node &node) {
    q->p->names.push_back(node.name);
    plan_step step = {};
    step.op = node.op;
    step.norm = node.norm;
    step.group = node.group;
    step.act = node.act;
    step.eps = node.eps;
    step.scale = node.scale;
    step.w = node.w;
    step.w2 = node.w2 && node.w2->data ? node.w2 : nullptr;
    step.gain = node.gain;
    step.bias = node.bias && node.bias->data ? node.bias : nullptr;
    step.attention = node.attention;
    step.in = step.in2 = step.in3 = step.residual = step.table = step.out = step.out_act8 = -1;
    return step;
}

void set_outputs(planner *q, plan_step *step, value_id out) {
    bool fused_act8 = q->wants_act8[out] && can_quantise(*step);
    if (fused_act8) step->out_act8 = act8_of(q, out);
    if (q->wants_f32[out] || !fused_act8) step->out = f32_of(q, out);
}

void quantise_after(planner *q, const graph_node &node, value_id out) {
    if (!q->wants_act8[out] || can_quantise(q->p->steps.back())) return;
    plan_step step = new_step(q, node);
    step.op = OP_QUANTISE;
    step.in = f32_of(q, out);
    step.out_act8 = act8_of(q, out);
    q->p->steps.push_back(step);
}

void set_residual(planner *q, plan_step *step, size_t i) {
    const fused_node &f = q->fused[i];
    if (f.residual < 0) return;
    step->residual = f32_of(q, f.residual);
    // The sum may overwrite its operand when nobody reads that again.
    if (q->last_use[f.residual] == (int32_t)i && q->at[f.out].f32 < 0) q->at[f.out].f32 = step->residual;
}

void plan_linear(planner *q, size_t i) {
    const graph_node &node = q->g->nodes[i];
    const fused_node &f = q->fused[i];
    plan_step step = new_step(q, node);
    step.act = f.act;
    step.in = quantised(node.w) ? act8_of(q, node.in[0]) : f32_of(q, node.in[0]);
    set_residual(q, &step, i);
    step.out = f32_of(q, f.out);
    q->p->steps.push_back(step);
    q->p->macs_per_token += node.w->rows * node.w->cols;
}

void plan_glu_linear(planner *q, size_t i) {
    const graph_node &node = q->g->nodes[i];
    const graph_node &gate = q->g->nodes[q->fused[i].gate], &up = q->g->nodes[q->fused[i].up];
    plan_step step = new_step(q, node);
    step.op = OP_GLU_LINEAR;
    step.in = quantised(gate.w) ? act8_of(q, gate.in[0]) : f32_of(q, gate.in[0]);
    step.w = gate.w;
    step.w2 = up.w;
    set_outputs(q, &step, node.out);
    q->p->steps.push_back(step);
    q->p->macs_per_token += 2 * gate.w->rows * gate.w->cols;
}

uint32_t rope_of_table(const planner *q, value_id table) {
    for (const plan_step &step : q->p->steps)
        if (step.op == OP_ROPE_TABLE && step.out == q->at[table].f32) return step.rope;
    return 0;
}

// q and k become what they are when they are stored, in place.
void plan_rope_store(planner *q, size_t i, plan_step *step) {
    const graph_node &node = q->g->nodes[i];
    const fused_node &f = q->fused[i];
    if (node.table >= 0) {
        step->table = f32_of(q, node.table);
        step->rope = rope_of_table(q, node.table);
    }
    if (f.q_norm >= 0) {
        step->q_gain = q->g->nodes[f.q_norm].gain;
        step->k_gain = q->g->nodes[f.k_norm].gain;
        step->eps = q->g->nodes[f.q_norm].eps;
    }
    q->at[node.out].f32 = step->in;
}

void plan_other(planner *q, size_t i) {
    const graph_node &node = q->g->nodes[i];
    plan_step step = new_step(q, node);
    buffer_id *inputs[3] = {&step.in, &step.in2, &step.in3};
    for (int k = 0; k < 3; k++)
        if (value_id x = operand(q, i, k); x >= 0) *inputs[k] = f32_of(q, x);
    if (node.op == OP_ROPE_TABLE) {
        step.rope = (uint32_t)q->p->ropes.size();
        q->p->ropes.push_back(node.rope);
    }
    if (node.op == OP_ROPE_STORE) plan_rope_store(q, i, &step);
    set_residual(q, &step, i);
    set_outputs(q, &step, q->fused[i].out);
    q->p->steps.push_back(step);
    quantise_after(q, node, q->fused[i].out);
}

void make_steps(planner *q) {
    for (size_t i = 0; i < q->g->nodes.size(); i++) {
        if (q->fused[i].absorbed) continue;
        if (q->fused[i].gate >= 0) plan_glu_linear(q, i);
        else if (q->g->nodes[i].op == OP_LINEAR) {
            plan_linear(q, i);
            quantise_after(q, q->g->nodes[i], q->fused[i].out);
        } else plan_other(q, i);
    }
    for (size_t i = 0; i < q->p->steps.size(); i++) q->p->steps[i].name = q->p->names[i].c_str();
}

// Steps share a phase as long as none reads or writes what another of the phase writes.
void make_phases(plan *p) {
    std::vector<uint8_t> read(p->buffers.size()), written(p->buffers.size());
    for (uint32_t i = 0; i < p->steps.size(); i++) {
        const plan_step &s = p->steps[i];
        const buffer_id reads[] = {s.in, s.in2, s.in3, s.residual, s.table};
        const buffer_id writes[] = {s.out, s.out_act8, s.op == OP_ROPE_STORE ? s.in : -1};
        bool joins = !p->phases.empty() && p->steps[i - 1].op != OP_ROPE_STORE && s.op != OP_ATTENTION;
        for (buffer_id x : reads) joins = joins && !(x >= 0 && written[x]);
        for (buffer_id x : writes) joins = joins && !(x >= 0 && (written[x] || read[x]));
        if (!joins) {
            p->phases.push_back({i, 0});
            std::fill(read.begin(), read.end(), 0);
            std::fill(written.begin(), written.end(), 0);
        }
        p->phases.back().n_steps++;
        for (buffer_id x : reads)
            if (x >= 0) read[x] = 1;
        for (buffer_id x : writes)
            if (x >= 0) written[x] = 1;
    }
}

struct lifetime {
    buffer_id buffer;
    uint32_t first, last; // phases, inclusive
};

void find_lifetimes(const plan *p, std::vector<lifetime> *out) {
    std::vector<lifetime> all(p->buffers.size(), {-1, UINT32_MAX, 0});
    for (uint32_t phase = 0; phase < p->phases.size(); phase++) {
        for (uint32_t i = 0; i < p->phases[phase].n_steps; i++) {
            const plan_step &s = p->steps[p->phases[phase].first_step + i];
            for (buffer_id x : {s.in, s.in2, s.in3, s.residual, s.table, s.out, s.out_act8}) {
                if (x < 0 || p->buffers[x].offset == RUN_TIME) continue;
                all[x].buffer = x;
                all[x].first = std::min(all[x].first, phase);
                all[x].last = std::max(all[x].last, phase);
            }
        }
    }
    for (const lifetime &life : all)
        if (life.buffer >= 0) out->push_back(life);
}

// First fit, largest first: buffers whose lifetimes meet get disjoint places.
void place_buffers(plan *p) {
    std::vector<lifetime> lives, placed;
    find_lifetimes(p, &lives);
    std::stable_sort(lives.begin(), lives.end(), [p](const lifetime &a, const lifetime &b) {
        return p->buffers[a.buffer].bytes > p->buffers[b.buffer].bytes;
    });
    for (const lifetime &life : lives) {
        size_t offset = 0, bytes = p->buffers[life.buffer].bytes;
        for (bool moved = true; moved;) {
            moved = false;
            for (const lifetime &other : placed) {
                const plan_buffer &o = p->buffers[other.buffer];
                bool alive = other.first <= life.last && life.first <= other.last;
                if (!alive || offset + bytes <= o.offset || o.offset + o.bytes <= offset) continue;
                offset = o.offset + o.bytes;
                moved = true;
            }
        }
        p->buffers[life.buffer].offset = offset;
        p->arena_bytes = std::max(p->arena_bytes, offset + bytes);
        placed.push_back(life);
    }
}

} // namespace

llm_status plan_build(const graph *g, plan_target target, uint32_t max_tokens, plan *out, llm_error *err) {
    for (const graph_node &node : g->nodes)
        for (const weight *w : {node.w, node.w2})
            if (w && w->format && !target.supports(w->format))
                return fail(err, LLM_ERR_UNSUPPORTED, "%s: the %s backend cannot use format %s", w->name.c_str(),
                            target.name, w->format->name);
    *out = plan();
    out->max_tokens = out->max_outputs = max_tokens;
    planner q = {g, target, out, {}, {}, {}, {}, {}};
    graph_fuse(g, &q.fused);
    q.at.resize(g->values.size());
    note_uses(&q);
    // Names are kept in one vector that must not move while steps point into it.
    out->names.reserve(2 * g->nodes.size());
    make_steps(&q);
    if (g->hidden >= 0) out->hidden = f32_of(&q, g->hidden);
    if (g->logits >= 0) out->logits = f32_of(&q, g->logits);
    for (buffer_id x : {out->hidden, out->logits})
        if (x >= 0) out->buffers[x].offset = RUN_TIME;
    make_phases(out);
    place_buffers(out);
    return LLM_OK;
}

} // namespace llm

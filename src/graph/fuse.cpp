#include "graph/fuse.h"

namespace llm {

namespace {

struct fuser {
    const graph *g;
    std::vector<fused_node> *fused;
    std::vector<int32_t> producer; // node of each value
    std::vector<uint32_t> n_uses;
};

void count(fuser *f) {
    f->producer.assign(f->g->values.size(), -1);
    f->n_uses.assign(f->g->values.size(), 0);
    for (size_t i = 0; i < f->g->nodes.size(); i++) {
        const graph_node &node = f->g->nodes[i];
        f->producer[node.out] = (int32_t)i;
        for (value_id x : node.in)
            if (x >= 0) f->n_uses[x]++;
    }
    for (value_id x : {f->g->hidden, f->g->logits})
        if (x >= 0) f->n_uses[x]++;
}

// The node whose step currently writes `x`, when nobody else reads x; else -1.
int32_t private_producer(const fuser *f, value_id x) {
    if (f->n_uses[x] != 1) return -1;
    for (size_t i = 0; i < f->fused->size(); i++) {
        const fused_node &node = (*f->fused)[i];
        if (node.out == x && !node.absorbed) return (int32_t)i;
    }
    return -1;
}

int32_t private_linear(const fuser *f, value_id x) {
    int32_t i = private_producer(f, x);
    return i >= 0 && f->g->nodes[i].op == OP_LINEAR ? i : -1;
}

void fuse_activation(fuser *f, size_t i) {
    const graph_node &node = f->g->nodes[i];
    int32_t linear = private_linear(f, node.in[0]);
    if (linear < 0 || (*f->fused)[linear].residual >= 0) return;
    (*f->fused)[linear].act = node.act;
    (*f->fused)[linear].out = node.out;
    (*f->fused)[i].absorbed = true;
}

// Steps that can add a row to their result.
bool takes_residual(const fuser *f, int32_t i) {
    if (i < 0 || (*f->fused)[i].residual >= 0) return false;
    const graph_node &node = f->g->nodes[i];
    return node.op == OP_LINEAR || (node.op == OP_NORM && node.group == 0);
}

// x + W y, x + norm(y): the step that comes later in the order takes the other operand as its residual.
void fuse_residual(fuser *f, size_t i) {
    const graph_node &node = f->g->nodes[i];
    int32_t best = -1;
    value_id other = -1;
    for (int side = 0; side < 2; side++) {
        int32_t step = private_producer(f, node.in[side]);
        value_id rest = node.in[1 - side];
        if (!takes_residual(f, step) || f->producer[rest] > step || step < best) continue;
        best = step;
        other = rest;
    }
    if (best < 0) return;
    (*f->fused)[best].residual = other;
    (*f->fused)[best].out = node.out;
    (*f->fused)[i].absorbed = true;
}

bool plain_linear(const fuser *f, int32_t i) {
    if (i < 0) return false;
    const graph_node &node = f->g->nodes[i];
    return !(node.bias && node.bias->data) && (*f->fused)[i].act == ACT_NONE && (*f->fused)[i].residual < 0;
}

void fuse_glu(fuser *f, size_t i) {
    const graph_node &node = f->g->nodes[i];
    int32_t gate = private_linear(f, node.in[0]), up = private_linear(f, node.in[1]);
    if (!plain_linear(f, gate) || !plain_linear(f, up)) return;
    const graph_node &a = f->g->nodes[gate], &b = f->g->nodes[up];
    if (a.in[0] != b.in[0] || a.w->format->quantised != b.w->format->quantised) return;
    (*f->fused)[i].gate = gate;
    (*f->fused)[i].up = up;
    (*f->fused)[gate].absorbed = (*f->fused)[up].absorbed = true;
}

// A norm of single heads whose result and operand nobody else reads: rotation works in place.
int32_t private_head_norm(const fuser *f, value_id x, uint32_t head) {
    int32_t i = private_producer(f, x);
    if (i < 0) return -1;
    const graph_node &node = f->g->nodes[i];
    bool fits = node.op == OP_NORM && node.group == head && node.norm == NORM_RMS && node.gain && !node.bias;
    return fits && f->n_uses[node.in[0]] == 1 ? i : -1;
}

void fuse_head_norms(fuser *f, size_t i) {
    const graph_node &node = f->g->nodes[i];
    int32_t q = private_head_norm(f, node.in[0], node.attention.head_k);
    int32_t k = private_head_norm(f, node.in[1], node.attention.head_k);
    if (q < 0 || k < 0 || f->g->nodes[q].eps != f->g->nodes[k].eps) return;
    (*f->fused)[i].q_norm = q;
    (*f->fused)[i].k_norm = k;
    (*f->fused)[q].absorbed = (*f->fused)[k].absorbed = true;
}

} // namespace

void graph_fuse(const graph *g, std::vector<fused_node> *out) {
    out->assign(g->nodes.size(), fused_node());
    for (size_t i = 0; i < g->nodes.size(); i++) (*out)[i].out = g->nodes[i].out;
    fuser f = {g, out, {}, {}};
    count(&f);
    for (size_t i = 0; i < g->nodes.size(); i++) {
        switch (g->nodes[i].op) {
        case OP_ACTIVATE: fuse_activation(&f, i); break;
        case OP_ADD: fuse_residual(&f, i); break;
        case OP_GLU: fuse_glu(&f, i); break;
        case OP_ROPE_STORE: fuse_head_norms(&f, i); break;
        default: break;
        }
    }
}

} // namespace llm

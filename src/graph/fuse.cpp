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

// The node whose step currently writes `x`, when it is a linear and nobody else reads x; else -1.
int32_t private_linear(const fuser *f, value_id x) {
    if (f->n_uses[x] != 1) return -1;
    for (size_t i = 0; i < f->fused->size(); i++) {
        const fused_node &node = (*f->fused)[i];
        if (node.out == x && !node.absorbed) return f->g->nodes[i].op == OP_LINEAR ? (int32_t)i : -1;
    }
    return -1;
}

void fuse_activation(fuser *f, size_t i) {
    const graph_node &node = f->g->nodes[i];
    int32_t linear = private_linear(f, node.in[0]);
    if (linear < 0 || (*f->fused)[linear].residual >= 0) return;
    (*f->fused)[linear].act = node.act;
    (*f->fused)[linear].out = node.out;
    (*f->fused)[i].absorbed = true;
}

// x + W y: the linear that comes later in the order takes the other operand as its residual.
void fuse_residual(fuser *f, size_t i) {
    const graph_node &node = f->g->nodes[i];
    int32_t best = -1;
    value_id other = -1;
    for (int side = 0; side < 2; side++) {
        int32_t linear = private_linear(f, node.in[side]);
        value_id rest = node.in[1 - side];
        if (linear < 0 || (*f->fused)[linear].residual >= 0 || f->producer[rest] > linear || linear < best) continue;
        best = linear;
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
        default: break;
        }
    }
}

} // namespace llm

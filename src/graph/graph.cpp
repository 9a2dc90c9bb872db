#include "graph/graph.h"

namespace llm {

const char *op_name(op_kind op) {
    static const char *const names[OP_COUNT] = {"embed",    "rope-table", "norm",       "linear",
                                                "glu-linear", "activate", "glu",        "add",
                                                "quantise", "rope-store", "attention",  "select-outputs"};
    return op < OP_COUNT ? names[op] : "?";
}

static value_id add_value(graph *g, uint32_t cols, bool per_output) {
    g->values.push_back({cols, per_output});
    return (value_id)g->values.size() - 1;
}

static graph_node *add_node(graph *g, op_kind op, std::string name, uint32_t cols, bool per_output) {
    graph_node node;
    node.op = op;
    node.name = std::move(name);
    node.out = add_value(g, cols, per_output);
    g->nodes.push_back(std::move(node));
    return &g->nodes.back();
}

static bool per_output(const graph *g, value_id x) { return g->values[x].per_output; }
static uint32_t cols(const graph *g, value_id x) { return g->values[x].cols; }

value_id graph_embed(graph *g, const weight *tokens, const weight *positions, float scale) {
    graph_node *node = add_node(g, OP_EMBED, "token_embd", (uint32_t)tokens->cols, false);
    node->w = tokens;
    node->w2 = positions;
    node->scale = scale;
    return node->out;
}

value_id graph_rope_table(graph *g, std::string name, const rope_spec &rope) {
    graph_node *node = add_node(g, OP_ROPE_TABLE, std::move(name), rope.n_rot, false);
    node->rope = rope;
    return node->out;
}

value_id graph_norm(graph *g, std::string name, value_id x, norm_kind kind, const weight_vector *gain,
                    const weight_vector *bias, float eps) {
    graph_node *node = add_node(g, OP_NORM, std::move(name), cols(g, x), per_output(g, x));
    node->in[0] = x;
    node->norm = kind;
    node->gain = gain;
    node->bias = bias;
    node->eps = eps;
    return node->out;
}

value_id graph_head_norm(graph *g, std::string name, value_id x, const weight_vector *gain, float eps) {
    value_id y = graph_norm(g, std::move(name), x, NORM_RMS, gain, nullptr, eps);
    g->nodes.back().group = (uint32_t)gain->n;
    return y;
}

value_id graph_linear(graph *g, std::string name, value_id x, const weight *w, const weight_vector *bias) {
    graph_node *node = add_node(g, OP_LINEAR, std::move(name), (uint32_t)w->rows, per_output(g, x));
    node->in[0] = x;
    node->w = w;
    node->bias = bias;
    return node->out;
}

value_id graph_activate(graph *g, std::string name, value_id x, activation act) {
    graph_node *node = add_node(g, OP_ACTIVATE, std::move(name), cols(g, x), per_output(g, x));
    node->in[0] = x;
    node->act = act;
    return node->out;
}

value_id graph_glu(graph *g, std::string name, value_id gate, value_id up, activation act) {
    graph_node *node = add_node(g, OP_GLU, std::move(name), cols(g, gate), per_output(g, gate));
    node->in[0] = gate;
    node->in[1] = up;
    node->act = act;
    return node->out;
}

value_id graph_add(graph *g, std::string name, value_id x, value_id y) {
    graph_node *node = add_node(g, OP_ADD, std::move(name), cols(g, x), per_output(g, x));
    node->in[0] = x;
    node->in[1] = y;
    return node->out;
}

value_id graph_attention(graph *g, std::string name, value_id q, value_id k, value_id v, value_id rope_table,
                         const attention_spec &spec) {
    graph_node *store = add_node(g, OP_ROPE_STORE, name + ".store", cols(g, q), false);
    store->in[0] = q;
    store->in[1] = k;
    store->in[2] = v;
    store->table = rope_table;
    store->attention = spec;
    value_id turned = store->out;
    graph_node *node = add_node(g, OP_ATTENTION, std::move(name), spec.n_head * spec.head_v, false);
    node->in[0] = turned;
    node->attention = spec;
    return node->out;
}

value_id graph_select_outputs(graph *g, value_id x) {
    graph_node *node = add_node(g, OP_SELECT_OUTPUTS, "outputs", cols(g, x), true);
    node->in[0] = x;
    return node->out;
}

} // namespace llm

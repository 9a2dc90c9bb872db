#include "model/model.h"
#include "model/family.h"

namespace llm {

static size_t slot(role id, uint32_t layer) {
    return (size_t)(role_is_per_layer(id) ? layer + 1 : 0) * ROLE_COUNT + id;
}

const weight *model_matrix(const model *m, role id, uint32_t layer) {
    size_t i = slot(id, layer);
    return i < m->matrix_of.size() ? m->matrix_of[i] : nullptr;
}

const weight_vector *model_vector(const model *m, role id, uint32_t layer) {
    size_t i = slot(id, layer);
    return i < m->vector_of.size() ? m->vector_of[i] : nullptr;
}

void model_retain(model *m) { m->references.fetch_add(1, std::memory_order_relaxed); }

void model_release(model *m) {
    if (!m || m->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    memory_release(&m->weights);
    tokenizer_free(m->vocab);
    delete m;
}

uint64_t model_weight_bytes(const model *m) {
    uint64_t total = 0;
    for (const weight &w : m->matrices) total += m->cpu->weight_bytes(w.format, w.rows, w.cols);
    return total;
}

void model_graph(const model *m, graph *out) { m->kind->build(m, out); }

void model_kv_shape(const model *m, kv_element type_k, kv_element type_v, kv_shape *out) {
    *out = kv_shape();
    out->type_k = type_k;
    out->type_v = type_v;
    graph g;
    model_graph(m, &g);
    for (const graph_node &node : g.nodes) {
        if (node.op != OP_ATTENTION) continue;
        const attention_spec &a = node.attention;
        if (out->layers.size() <= a.kv_layer) out->layers.resize(a.kv_layer + 1);
        out->layers[a.kv_layer] = {a.n_head_kv, a.head_k, a.head_v, a.window};
    }
    kv_shape_finish(out, m->cpu);
}

} // namespace llm

#include "model/model.h"
#include "model/family.h"

namespace llm {

static size_t slot(role id, uint32_t layer) {
    if (id == ROLE_NONE) return SIZE_MAX;
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
    for (file_map &map : m->maps) file_unmap(&map);
    tokenizer_free(m->vocab);
    delete m;
}

static uint64_t sum_of_bytes(const model *m, bool also_in_place) {
    uint64_t total = 0;
    for (size_t i = 0; i < m->matrices.size(); i++) {
        const weight *w = &m->matrices[i];
        if (also_in_place || !m->in_place[i]) total += m->cpu->weight_bytes(w->format, w->rows, w->cols);
    }
    return total;
}
uint64_t model_weight_bytes(const model *m) { return sum_of_bytes(m, true); }
uint64_t model_private_bytes(const model *m) { return sum_of_bytes(m, false); }

void model_get_cost(const model *m, model_cost *out) {
    *out = model_cost();
    const weight *head = model_matrix(m, ROLE_OUTPUT);
    if (!head) head = model_matrix(m, ROLE_TOKEN_EMBD);
    for (size_t i = 0; i < m->matrix_of.size(); i++)
        if (const weight *w = m->matrix_of[i])
            cost_add(out, m->cpu, (role)(i % ROLE_COUNT), w == head, w->format, w->rows, w->cols);
    out->n_params = m->n_params;
    const kv_layer_shape layer = {(uint32_t)m->h.n_head_kv, (uint32_t)m->h.head_k, (uint32_t)m->h.head_v, 0};
    for (const layer_hparams &l : m->h.layers) cost_add_cache(out, m->cpu, layer, l.window);
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

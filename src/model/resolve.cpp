// Which rows of which tensor each weight of the family's table is.
#include "backend/packed.h"
#include "model/loading.h"

namespace llm {

namespace {

std::string tensor_name(role id, uint32_t layer, const char *name) {
    return role_is_per_layer(id) ? layer_name(layer, name) : std::string(name);
}

std::string shape_text(const gguf_tensor *t) {
    std::string text = "[";
    for (uint32_t i = t->n_dims; i-- > 0;) text += std::to_string(t->shape[i]) + (i ? ", " : "]");
    return text;
}

llm_status check_shape(const gguf_tensor *t, uint64_t rows, uint64_t cols, llm_error *err) {
    bool vector = cols == 0;
    bool fits = vector ? t->shape[0] == rows && t->shape[1] == 1 : t->shape[0] == cols && t->shape[1] == rows;
    if (fits && t->shape[2] == 1 && t->shape[3] == 1) return LLM_OK;
    std::string expected = "[" + std::to_string(rows) + (vector ? "]" : ", " + std::to_string(cols) + "]");
    return fail(err, LLM_ERR_DAMAGED, "tensor \"%s\" has shape %s; expected %s", t->name.c_str(), shape_text(t).c_str(),
                expected.c_str());
}

llm_status check_format(const gguf_tensor *t, llm_error *err) {
    const block_format *format = format_by_id(t->format);
    if (format && format->dequantise) return LLM_OK;
    return fail(err, LLM_ERR_UNSUPPORTED, "tensor \"%s\" has format %s, which is not supported by this build",
                t->name.c_str(), format ? format->name : std::to_string(t->format).c_str());
}

// The reader knows only that the bytes are in the file: whether they are the panels of this shape is known here.
llm_status check_packed(const gguf_tensor *t, role_kind kind, uint64_t first_row, llm_error *err) {
    uint64_t expected = packed_bytes(format_by_id(t->format), t->shape[1], t->shape[0]);
    if (kind == ROLE_VECTOR)
        return fail(err, LLM_ERR_DAMAGED, "tensor \"%s\" is packed; expected plain numbers", t->name.c_str());
    if (expected == 0)
        return fail(err, LLM_ERR_UNSUPPORTED, "tensor \"%s\" is packed as %s, for which this build has no layout",
                    t->name.c_str(), format_by_id(t->format)->name);
    if (t->bytes != expected)
        return fail(err, LLM_ERR_DAMAGED, "tensor \"%s\" is packed into %llu bytes; expected %llu", t->name.c_str(),
                    (unsigned long long)t->bytes, (unsigned long long)expected);
    if (first_row % PACKED_ROWS != 0)
        return fail(err, LLM_ERR_DAMAGED,
                    "tensor \"%s\" is packed, but one of its parts begins at row %llu; expected a "
                    "multiple of %u",
                    t->name.c_str(), (unsigned long long)first_row, PACKED_ROWS);
    return LLM_OK;
}

// Whether the weight can be used where it is in the file.
bool can_stay(const loader *l, const gguf_tensor *t) {
    const file_source *part = &l->file->parts[t->file];
    return t->packed && l->m->cpu->takes_packed && !l->options->no_map && part->fd >= 0 &&
           (part->base + t->offset) % 64 == 0;
}

// Finds the tensor of a role by its own name, else as part of a fused one. Not there: out->tensor is NULL.
llm_status find_rows(const loader *l, const role_row *row, uint32_t layer, row_range *out, llm_error *err) {
    const hparams *h = &l->m->h;
    uint64_t rows = dimension_of(h, row->rows), cols = row->kind == ROLE_MATRIX ? dimension_of(h, row->cols) : 0;
    *out = row_range();
    const gguf_tensor *t = gguf_find_tensor(l->file, tensor_name(row->id, layer, row->name));
    if (!t && row->fused_name) {
        t = gguf_find_tensor(l->file, tensor_name(row->id, layer, row->fused_name));
        if (!t) return LLM_OK;
        for (dimension before : row->rows_before)
            if (before != DIM_ONE) out->first += dimension_of(h, before);
        rows = dimension_of(h, DIM_Q) + dimension_of(h, DIM_K) + dimension_of(h, DIM_V);
    }
    if (!t) return LLM_OK;
    LLM_TRY(check_shape(t, rows, cols, err));
    LLM_TRY(check_format(t, err));
    if (t->packed) LLM_TRY(check_packed(t, row->kind, out->first, err));
    out->tensor = t;
    return LLM_OK;
}

llm_status read_vector(loader *l, const role_row *row, const row_range &from, weight_vector *out, llm_error *err) {
    const block_format *format = format_by_id(from.tensor->format);
    out->name = from.tensor->name;
    out->n = dimension_of(&l->m->h, row->rows);
    uint64_t total = from.tensor->shape[0];
    std::vector<uint8_t> raw(from.tensor->bytes);
    std::vector<float> values(total);
    LLM_TRY(file_read(&l->file->parts[from.tensor->file], from.tensor->offset, raw.data(), raw.size(), err));
    format->dequantise(raw.data(), values.data(), total);
    l->vector_at.push_back(l->m->vector_data.size());
    l->m->vector_data.insert(l->m->vector_data.end(), values.begin() + (ptrdiff_t)from.first,
                             values.begin() + (ptrdiff_t)(from.first + out->n));
    return LLM_OK;
}

llm_status resolve_weight(loader *l, const family_weight &wanted, uint32_t layer, llm_error *err) {
    const role_row *row = role_find(wanted.id);
    model *m = l->m;
    size_t slot = (size_t)(role_is_per_layer(row->id) ? layer + 1 : 0) * ROLE_COUNT + row->id;
    row_range from;
    LLM_TRY(find_rows(l, row, layer, &from, err));
    if (!from.tensor) {
        if (!wanted.required) return LLM_OK;
        return fail(err, LLM_ERR_DAMAGED, "tensor \"%s\" is missing; a model of architecture %s needs it",
                    tensor_name(row->id, layer, row->name).c_str(), m->architecture.c_str());
    }
    m->n_params += dimension_of(&m->h, row->rows) * (row->kind == ROLE_MATRIX ? dimension_of(&m->h, row->cols) : 1);
    if (row->kind == ROLE_VECTOR) {
        m->vectors.emplace_back();
        m->vector_of[slot] = &m->vectors.back();
        return read_vector(l, row, from, &m->vectors.back(), err);
    }
    m->matrices.emplace_back();
    weight *w = &m->matrices.back();
    w->name = from.tensor->name;
    w->format = format_by_id(from.tensor->format);
    w->rows = dimension_of(&m->h, row->rows);
    w->cols = dimension_of(&m->h, row->cols);
    m->matrix_of[slot] = w;
    l->matrix_source.push_back(from);
    m->in_place.push_back(can_stay(l, from.tensor));
    if (m->cpu->supports(w->format)) return LLM_OK;
    return fail(err, LLM_ERR_UNSUPPORTED, "tensor \"%s\" has format %s, which the CPU tier %s does not support",
                w->name.c_str(), w->format->name, m->cpu->name);
}

llm_status check_rope_factors(const model *m, llm_error *err) {
    const weight_vector *factors = model_vector(m, ROLE_ROPE_FREQS);
    if (!factors) return LLM_OK;
    for (uint64_t i = 0; i < factors->n; i++)
        if (!(factors->data[i] >= 1e-6f && factors->data[i] <= 1e6f))
            return fail(err, LLM_ERR_DAMAGED, "%s[%llu] is %g; expected 1e-6 to 1e6", factors->name.c_str(),
                        (unsigned long long)i, (double)factors->data[i]);
    return LLM_OK;
}

} // namespace

llm_status resolve_weights(loader *l, llm_error *err) {
    model *m = l->m;
    m->matrix_of.assign((m->h.n_layer + 1) * ROLE_COUNT, nullptr);
    m->vector_of.assign((m->h.n_layer + 1) * ROLE_COUNT, nullptr);
    for (size_t i = 0; const family_weight *wanted = family_weight_at(m->kind, i); i++) {
        uint32_t n = role_is_per_layer(wanted->id) ? (uint32_t)m->h.n_layer : 1;
        for (uint32_t layer = 0; layer < n; layer++) LLM_TRY(resolve_weight(l, *wanted, layer, err));
    }
    for (size_t i = 0; i < m->vectors.size(); i++) m->vectors[i].data = m->vector_data.data() + l->vector_at[i];
    return check_rope_factors(m, err);
}

} // namespace llm

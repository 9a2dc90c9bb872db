// A model family: one file in families/ and one row in the registry. Three parts: parameters, weights, graph.
#pragma once
#include "graph/graph.h"
#include "model/model.h"

namespace llm {

struct family_weight {
    role id;
    bool required;
};

struct family {
    const char *architecture;       // general.architecture
    eps_key eps;
    const family_weight *weights;
    size_t n_weights;
    // Reads what hparams_read does not know and refuses what this build cannot do; may be NULL.
    llm_status (*parameters)(const gguf_file *file, hparams *h, llm_error *err);
    void (*build)(const model *m, graph *g);
};

const family *family_find(std::string_view architecture); // NULL when unknown
const family *family_at(size_t index);                    // NULL past the last

// Pieces that families share.

// Frequencies with the scaling that the metadata asks for (linear, YaRN) and per-pair factors (llama 3).
rope_spec family_rope(const model *m, rope_style style);
attention_spec family_attention(const model *m, uint32_t layer);
std::string layer_name(uint32_t layer, const char *what); // "blk.3.attn_q"
// q, k, v from x (already normalised), attention, output projection.
value_id family_self_attention(const model *m, graph *g, uint32_t layer, value_id x, value_id rope_table,
                               value_id *residual);
value_id family_linear(const model *m, graph *g, uint32_t layer, const char *what, value_id x, role matrix, role bias);
// Last norm and head; tied to the embedding where the file has no output matrix.
void family_head(const model *m, graph *g, value_id x, norm_kind norm);

} // namespace llm

// A model family: a row of families/registry.cpp. Most are ordinary decoders (families/decoder.cpp), which differ in
// what the row says and in the weights that it names; a family that is not brings a graph in a file of its own.
#pragma once
#include "graph/graph.h"
#include "model/model.h"

namespace llm {

struct family_weight {
    role id;
    bool required;
};
struct family_weights {
    const family_weight *first;
    size_t n;
};

struct family {
    const char *architecture; // general.architecture
    norm_kind norm;
    rope_style rope;       // of no interest where positions are learned
    activation act;        // of the feed-forward network; gated where the family has a gate
    bool scales_embedding; // by sqrt(n_embd)
    hparams_rules rules;
    family_weights weights[8]; // ended by an empty one; see family_weight_at
    // Reads what hparams_read does not know; may be NULL.
    llm_status (*parameters)(const gguf_file *file, hparams *h, llm_error *err);
    void (*build)(const model *m, graph *g);
};

inline eps_key family_eps(const family *f) { return f->norm == NORM_RMS ? EPS_RMS : EPS_LAYER; }

const family *family_find(std::string_view architecture);             // NULL when unknown
const family *family_at(size_t index);                                // NULL past the last
const family_weight *family_weight_at(const family *f, size_t index); // of all sets; NULL past the last

// decoder.cpp: a stack of layers, each attention and then a feed-forward network, both added to what they read. A part
// whose weights the model does not have is left out: norms before, after and of heads, biases, gates, rotation.
void family_build_decoder(const model *m, graph *g);

// shared.cpp: pieces for graphs of any kind.

// Frequencies with the scaling that the metadata asks for (linear, YaRN) and per-pair factors (llama 3).
rope_spec family_rope(const model *m);
// Those of local layers: another base, no scaling.
rope_spec family_local_rope(const model *m);
attention_spec family_attention(const model *m, uint32_t layer);
std::string layer_name(uint32_t layer, const char *what); // "blk.3.attn_q"
value_id family_linear(const model *m, graph *g, uint32_t layer, const char *what, value_id x, role matrix, role bias);
// x itself where the model has no such norm.
value_id family_norm(const model *m, graph *g, uint32_t layer, const char *what, value_id x, role gain, role bias);
value_id family_head_norm(const model *m, graph *g, uint32_t layer, const char *what, value_id x, role gain);
// q, k, v from x (already normalised), attention, output projection.
value_id family_self_attention(const model *m, graph *g, uint32_t layer, value_id x, value_id rope_table,
                               value_id *residual);
value_id family_feed_forward(const model *m, graph *g, uint32_t layer, value_id x);
// Last norm and head; tied to the embedding where the file has no output matrix.
void family_head(const model *m, graph *g, value_id x);

} // namespace llm

// What a model computes, as a list of named nodes over rows of numbers. A family's builder writes it; the planner turns
// it into a static plan. Every value is a matrix [n_rows, cols] of float32, where n_rows is the number of tokens of a
// pass, or, after graph_select_outputs, the number of tokens whose result is wanted. Both are bound at run time.
#pragma once
#include "quant/format.h"
#include <stdint.h>
#include <string>
#include <vector>

namespace llm {

// A matrix of a model, [rows, cols], in the layout of the backend that owns `data`. y = W x has one value per row.
struct weight {
    std::string name;                    // as in the file
    const block_format *format = nullptr; // NULL: the model has no such weight
    uint64_t rows = 0, cols = 0;
    void *data = nullptr;
};
// A vector of a model as float32 (norms, biases, factors).
struct weight_vector {
    std::string name;
    uint64_t n = 0;
    float *data = nullptr; // NULL: the model has no such vector
};

enum activation : uint8_t { ACT_NONE, ACT_SILU, ACT_GELU_TANH };
enum norm_kind : uint8_t { NORM_RMS, NORM_LAYER };
enum rope_style : uint8_t { ROPE_NEIGHBOURS, ROPE_HALVES }; // pairs (2i, 2i+1), or (i, i + n_rot/2)

// Rotary embedding: pair i of a head turns by pos * frequency[i]; cos and sin are multiplied by `magnitude`.
// Numbers are float64 by own code (CONTRACT.md section 6), so they are the same on every machine.
struct rope_spec {
    rope_style style = ROPE_NEIGHBOURS;
    uint32_t n_rot = 0;            // leading dimensions of a head that turn; frequency has n_rot / 2 entries
    std::vector<double> frequency;
    double magnitude = 1.0;
};

struct attention_spec {
    uint32_t n_head = 0, n_head_kv = 0; // n_head is a multiple of n_head_kv
    uint32_t head_k = 0, head_v = 0;    // numbers per head
    float scale = 0;                    // scores are multiplied by it
    uint32_t kv_layer = 0;              // which cache layer
    uint32_t window = 0;                // a token sees itself and the window - 1 keys before it; 0: all before it
};

enum op_kind : uint8_t { OP_EMBED, OP_ROPE_TABLE, OP_NORM, OP_LINEAR, OP_GLU_LINEAR, OP_ACTIVATE, OP_GLU, OP_ADD, OP_QUANTISE,
                         OP_ROPE_STORE, OP_ATTENTION, OP_SELECT_OUTPUTS, OP_COUNT };
const char *op_name(op_kind op);

using value_id = int32_t; // index into graph::values; -1: none

struct graph_value {
    uint32_t cols;
    bool per_output; // rows are wanted tokens instead of all tokens
};

struct graph_node {
    op_kind op;
    std::string name;                 // "blk.3.attn_q": what errors and comparisons of backends say
    value_id in[3] = {-1, -1, -1};
    value_id table = -1;              // rotary table
    value_id out = -1;
    const weight *w = nullptr, *w2 = nullptr;
    const weight_vector *gain = nullptr, *bias = nullptr;
    norm_kind norm = NORM_RMS;
    uint32_t group = 0;               // OP_NORM: so many neighbouring numbers are normalised by themselves; 0: a row
    activation act = ACT_NONE;
    float eps = 0;
    float scale = 1;                  // OP_EMBED: of token rows
    rope_spec rope;                   // OP_ROPE_TABLE; style and n_rot also in OP_ROPE_STORE
    attention_spec attention;         // OP_ROPE_STORE, OP_ATTENTION
};

struct graph {
    std::vector<graph_value> values;
    std::vector<graph_node> nodes;
    value_id hidden = -1; // after the last norm, [n_outputs, n_embd]
    value_id logits = -1; // [n_outputs, n_vocab]
};

// Rows of `tokens` times `scale`, or the batch's own embeddings as they are; `positions` (may be NULL): a learned row
// per position is added.
value_id graph_embed(graph *g, const weight *tokens, const weight *positions, float scale);
value_id graph_rope_table(graph *g, std::string name, const rope_spec &rope);
value_id graph_norm(graph *g, std::string name, value_id x, norm_kind kind, const weight_vector *gain,
                    const weight_vector *bias, float eps);
// RMS norm of each head by itself: gain->n numbers, the same gain for all.
value_id graph_head_norm(graph *g, std::string name, value_id x, const weight_vector *gain, float eps);
// y = W x (+ bias). bias may be NULL or hold no data.
value_id graph_linear(graph *g, std::string name, value_id x, const weight *w, const weight_vector *bias);
value_id graph_activate(graph *g, std::string name, value_id x, activation act);
value_id graph_glu(graph *g, std::string name, value_id gate, value_id up, activation act); // act(gate) * up
value_id graph_add(graph *g, std::string name, value_id x, value_id y);
// Turns q and k (table -1: not at all), stores k and v in the cache, attends. [n, n_head * head_v]
value_id graph_attention(graph *g, std::string name, value_id q, value_id k, value_id v, value_id rope_table,
                         const attention_spec &spec);
value_id graph_select_outputs(graph *g, value_id x); // keeps the rows of wanted tokens

} // namespace llm

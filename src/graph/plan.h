// A plan: the static program of a model. A list of phases, each a list of steps that may run side by side; the work of a
// step is cut into chunks by the backend, and threads claim chunks. Built once; running a token walks flat arrays.
//
// What the planner fuses (each fusion leaves the bits as CONTRACT.md defines them):
//   norm, attention, GLU + quantising their result, where a block-quantised matrix reads it
//   linear + bias + activation + residual;  gate + up + activation;  norm + residual
//   norms of q and k heads + rotary embedding + KV store
#pragma once
#include "core/status.h"
#include "graph/graph.h"

namespace llm {

using buffer_id = int32_t; // index into plan::buffers; -1: none

enum buffer_kind : uint8_t {
    BUFFER_F32,       // [n, cols] float32, rows without gaps
    BUFFER_ACT8,      // the backend's form of activations quantised per 32 (CONTRACT.md section 3)
};

struct plan_buffer {
    buffer_kind kind;
    bool per_output;
    uint32_t cols;
    size_t bytes;   // for max_tokens rows
    size_t offset;  // in the arena; SIZE_MAX: bound at run time (logits, hidden states)
};

struct plan_step {
    op_kind op;
    const char *name;                       // belongs to plan::names
    buffer_id in = -1, in2 = -1, in3 = -1;  // main input(s): x | q, k, v | gate, up | x, y
    buffer_id residual = -1;                // LINEAR, NORM: added last
    buffer_id table = -1;                   // ROPE_STORE: [n, n_rot] pairs (cos, sin); -1: no rotation
    buffer_id out = -1;                     // float32 result; -1: not wanted
    buffer_id out_act8 = -1;                // quantised result; -1: not wanted
    const weight *w = nullptr, *w2 = nullptr;          // LINEAR: W; GLU_LINEAR: gate, up; EMBED: tokens, positions
    const weight_vector *gain = nullptr, *bias = nullptr; // bias NULL when there is none
    const weight_vector *q_gain = nullptr, *k_gain = nullptr; // ROPE_STORE: RMS norm of each head first; NULL: none
    norm_kind norm = NORM_RMS;
    uint32_t group = 0;                     // NORM: numbers that are normalised by themselves; 0: the row
    activation act = ACT_NONE;
    float eps = 0;
    float scale = 1;                        // EMBED: of token rows
    uint32_t rope = 0;                      // ROPE_TABLE: index into plan::ropes; ROPE_STORE: the same, for style and n_rot
    attention_spec attention;
};
// Where the rows of several adapters will join: an adapter is a further step of the same phase with a row mask.

struct plan_phase {
    uint32_t first_step, n_steps;
};

struct plan {
    std::vector<plan_buffer> buffers;
    std::vector<plan_step> steps;
    std::vector<plan_phase> phases;
    std::vector<rope_spec> ropes;
    std::vector<std::string> names;
    uint32_t max_tokens = 0, max_outputs = 0;
    size_t arena_bytes = 0;
    buffer_id hidden = -1, logits = -1;      // bound at run time
    uint64_t macs_per_token = 0;             // multiply-adds in matrices, to decide on threads
};

// What the planner asks of the backend that will run the plan (backend_target in backend/backend.h).
struct plan_target {
    const char *name;
    bool (*supports)(const block_format *format);
    size_t (*act8_bytes)(uint32_t cols, uint32_t n_rows);
};
// max_tokens: rows of the largest pass; buffers that are never alive together share memory.
llm_status plan_build(const graph *g, plan_target target, uint32_t max_tokens, plan *out, llm_error *err);

} // namespace llm

// First stage of planning: decides which nodes become part of another node's step.
#pragma once
#include "graph/graph.h"

namespace llm {

// What the planner knows of one node after fusion.
struct fused_node {
    bool absorbed = false;       // its work is done by another node's step
    value_id out = -1;           // value the step writes (that of the last absorbed follower)
    value_id residual = -1;      // LINEAR, NORM: added last
    activation act = ACT_NONE;   // LINEAR: applied before the residual
    int32_t gate = -1, up = -1;  // GLU: linears whose work it took over
    int32_t q_norm = -1, k_norm = -1; // ROPE_STORE: norms of heads whose work it took over
};

void graph_fuse(const graph *g, std::vector<fused_node> *out);

} // namespace llm

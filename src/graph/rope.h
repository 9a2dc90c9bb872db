// Angles of the rotary embedding, in float64 by own code with one rounding to float32 at the end.
#pragma once
#include "graph/graph.h"

namespace llm {

// frequency[i] = base^(-2 i / n_rot), i < n_rot / 2
void rope_plain_frequencies(double base, uint32_t n_rot, std::vector<double> *frequency);

// One token: out[2 i] = cos, out[2 i + 1] = sin of pos * frequency[i], times the magnitude.
void rope_angles(const rope_spec *rope, int32_t pos, float *out);

} // namespace llm

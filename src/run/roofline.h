// The two limits of a machine that matter here: how fast all threads together read memory, which bounds generation, and
// how many integer products they make, which bounds prompts.
#pragma once
#include "backend/backend.h"
#include "core/pool.h"

namespace llm {

struct roofline {
    uint32_t n_threads = 0;
    double read_gbps = 0;  // 10^9 bytes a second
    double huge_share = 0; // of that memory that lay in huge pages
    double dot_gmacs = 0;  // 10^9 multiply-accumulates a second of the backend's own dot instruction; 0: it has none
};

// Takes some 0.3 s and up to 512 MiB of memory for that time. n_threads as for pool_create.
llm_status roofline_measure(const backend *b, uint32_t n_threads, roofline *out, llm_error *err);

} // namespace llm

// A context: the plan of a model bound to memory. Owns KV cache, arena, outputs and (without a shared pool) threads.
#pragma once
#include "model/model.h"
#include "run/kv.h"

namespace llm {

struct context_options {
    uint32_t n_ctx = 0, n_batch = 0, n_seq_max = 0, n_threads = 0;
    kv_element type_k = KV_F16, type_v = KV_F16;
    pool *threads = nullptr;
    uint64_t mem_limit = 0;
    const llm_allocator *allocator = nullptr;
};

// What a context takes, in bytes.
struct context_needs {
    uint32_t n_ctx = 0, n_batch = 0;
    uint64_t kv = 0;      // all sequences full
    uint64_t scratch = 0; // arena, thread scratch, outputs of one pass
};

// Per token of the batch at hand, cut into passes.
struct pass_arrays {
    std::vector<int32_t> tokens, pos, place, n_visible;
    std::vector<const float *> embd;
    std::vector<uint32_t> run_of_token, outputs;
    std::vector<query_run> runs;
};

struct context {
    model *m = nullptr; // retained
    plan program;
    kv_cache kv;
    memory_block arena, thread_scratch;
    size_t scratch_step = 0; // bytes of scratch per thread, which end with its top lists
    uint32_t n_ctx = 0, n_batch = 0;

    pool *threads = nullptr;
    pool *own_threads = nullptr;
    uint32_t n_threads = 0; // that take part

    std::atomic<bool> cancel{false};
    std::atomic<uint32_t> bad_step{UINT32_MAX};

    // The batch at hand and the outputs of the last one.
    pass_arrays arrays;
    // Per sequence: tokens of the batch, of its passes so far, and of those before the pass at hand.
    std::vector<uint32_t> n_appended, n_placed, n_placed_before;
    std::vector<uint32_t> chunks_of_phase, chunks_of_step;
    std::vector<int32_t> output_of_token; // row of outputs; -1: none
    std::vector<uint8_t> wants;           // per token
    uint32_t n_outputs = 0;
    std::vector<float> logits, hidden; // [n_outputs, ...]
    std::vector<llm_candidate> top;    // [n_outputs, top_k]
    uint32_t top_k = 0;
    bool top_only = false;             // the threads keep the best while they compute; `logits` is not filled
    std::vector<uint8_t> prompt_wants; // scratch of generate()
    std::vector<llm_seq> prompt_seq;
};

llm_status context_needs_of(const model *m, const context_options *options, context_needs *out, llm_error *err);
llm_status context_create(model *m, const context_options *options, context **out, llm_error *err);
void context_free(context *c);
llm_status context_set_threads(context *c, uint32_t n_threads, llm_error *err);

// Runs a batch as llm_decode promises.
llm_status context_decode(context *c, const llm_batch *batch, llm_error *err);
// Output row of a token of the last batch (-1: the last that has one); NULL when it does not want `want`.
const float *context_logits(const context *c, int32_t index);
const float *context_hidden(const context *c, int32_t index);
const llm_candidate *context_top(const context *c, int32_t index, size_t *n);

// One pass: c->arrays holds n_tokens tokens; rows of its outputs begin at `first_output`.
llm_status execute_pass(context *c, uint32_t n_tokens, uint32_t n_outputs, uint32_t first_output, llm_error *err);

// Lists of the best candidates at the end of each thread's scratch. Their number is bounded, so that they are a fixed
// small part of it; what needs more goes through whole rows of logits.
constexpr uint32_t MAX_TOP_ROWS = 64, MAX_TOP_CANDIDATES = 4096; // of a pass
constexpr size_t TOP_BYTES = MAX_TOP_ROWS * sizeof(top_list) + MAX_TOP_CANDIDATES * sizeof(llm_candidate);
bool context_keeps_top(const context *c, uint32_t n_rows, uint32_t top_k);

} // namespace llm

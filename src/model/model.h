// A loaded model: hyper-parameters, weights in the layout of one backend, tokenizer. Immutable once loaded; shared by
// reference count.
#pragma once
#include "backend/backend.h"
#include "core/memory.h"
#include "core/pool.h"
#include "model/cost.h"
#include "text/tokenizer.h"
#include <atomic>
#include <deque>
#include <memory>

namespace llm {

struct family;

struct model {
    std::atomic<uint32_t> references{1};
    const family *kind = nullptr;
    hparams h;
    const backend *cpu = nullptr;
    std::string name, architecture, chat_template;
    bool has_template = false;
    uint64_t hash = 0;                  // of metadata and tensor headers
    uint64_t n_params = 0;
    uint64_t metadata_bytes = 0;        // of the file's header in memory, while it is open
    bool vocab_only = false;

    std::deque<weight> matrices;        // addresses stay
    std::vector<bool> in_place;         // beside matrices: used where they lie in a packed file
    std::deque<weight_vector> vectors;
    std::vector<const weight *> matrix_of;        // [layer + 1][role]; row 0: per model
    std::vector<const weight_vector *> vector_of;
    std::vector<float> vector_data;
    memory_block weights;               // matrices that are not used in place
    std::vector<file_map> maps;         // packed files, by part; empty when nothing is used in place

    tokenizer *vocab = nullptr;
    llm_error vocab_error = {};         // why there is none

    log_sink log;
    llm_allocator allocator = {};
};

// The weight of a role; NULL when the model has none. Layers count from 0; ignored for roles of the model.
const weight *model_matrix(const model *m, role id, uint32_t layer = 0);
const weight_vector *model_vector(const model *m, role id, uint32_t layer = 0);

struct model_load_options {
    const backend *cpu = nullptr;       // NULL: the best available
    pool *threads = nullptr;            // NULL: own, for the time of loading
    uint32_t n_threads = 0;
    uint64_t mem_limit = 0;
    bool vocab_only = false;
    bool no_map = false;                // reads packed files into memory
    const char *tokenizer_pre = nullptr;
    progress steps;
    log_sink log;
    const llm_allocator *allocator = nullptr;
};

// Takes over `file` in every case.
llm_status model_load(gguf_file *file, const model_load_options *options, model **out, llm_error *err);
// Everything but tokenizer and weights' data: shapes, sizes. For estimates.
llm_status model_describe(gguf_file *file, const model_load_options *options, model **out, llm_error *err);
void model_retain(model *m);
void model_release(model *m); // frees with the last reference

// Bytes of all matrices in the backend's layout, and of those among them that are in memory of our own.
uint64_t model_weight_bytes(const model *m);
uint64_t model_private_bytes(const model *m);
// Most bytes that loading takes beside the weights.
uint64_t model_staging_bytes(const model *m, uint32_t n_threads);
// What a token costs; the cache in F16.
void model_get_cost(const model *m, model_cost *out);
// The graph of one pass, and the shape of its KV cache.
void model_graph(const model *m, graph *out);
void model_kv_shape(const model *m, kv_element type_k, kv_element type_v, kv_shape *out);

} // namespace llm

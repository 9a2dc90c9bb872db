// What the stages of loading share: names, shapes and rows (resolve.cpp), then bytes (stream.cpp); loader.cpp runs them.
#pragma once
#include "model/family.h"

namespace llm {

// Rows of a file's tensor that a weight is made of.
struct row_range {
    const gguf_tensor *tensor = nullptr;
    uint64_t first = 0;
};

struct loader {
    const gguf_file *file;
    const model_load_options *options;
    model *m;
    std::vector<row_range> matrix_source; // beside model::matrices
    std::vector<size_t> vector_at;        // beside model::vectors: where in vector_data, which grows meanwhile
};
model *new_model(const model_load_options *options);

// Everything but the vocabulary and the matrices' data.
llm_status load_description(loader *l, llm_error *err);
// Finds every weight of the family's table, checks its shape and reads the vectors.
llm_status resolve_weights(loader *l, llm_error *err);
// Takes memory for the matrices and fills it.
llm_status stream_weights(loader *l, llm_error *err);

} // namespace llm

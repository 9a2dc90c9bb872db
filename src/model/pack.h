// Writing a packed file: the same model with its matrices in the panel layout of the vector kernels, so that loading
// maps them and uses them in place.
#pragma once
#include "core/status.h"

namespace llm {

// Reads the model at `path` (any part of a split one) and writes `out_path`, one file that appears when it is complete.
// The input is never written to. Tensors that no matrix role uses, and formats whose packing cannot be undone for the
// reference tier, are copied as they are.
llm_status pack_file(const char *path, const char *out_path, const progress *steps, llm_error *err);

} // namespace llm

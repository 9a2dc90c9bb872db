// Random weights with the shape of a published model, as a loadable GGUF: for measurements without a download.
#pragma once
#include "core/status.h"

namespace llm {

const char *synth_shape_name(size_t index); // NULL past the last
// Same shape, format and seed: same file. Tensor by tensor; the model is never in memory.
llm_status synth_write(const char *shape, const char *format, uint64_t seed, const char *path, const progress *steps,
                       llm_error *err);

} // namespace llm

#pragma once
#include "model/model.h"

namespace llm {
// Resolves names and callbacks; `given` (complete, see read_options) must outlive `out`.
llm_status model_options_read(const llm_model_options *given, model_load_options *out, llm_error *err);
} // namespace llm

#pragma once
#include "model/model.h"

namespace llm {
// NULL name: *out is NULL. LLM_ERR_UNSUPPORTED: not part of this build, or not for this machine.
llm_status tier_find(const char *name, const backend **out, llm_error *err);
// Resolves names and callbacks; `given` (complete, see read_options) must outlive `out`.
llm_status model_options_read(const llm_model_options *given, model_load_options *out, llm_error *err);
} // namespace llm

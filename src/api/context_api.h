#pragma once
#include "run/context.h"

namespace llm {
llm_status context_options_read(const llm_context_options *given, context_options *out, llm_error *err);
} // namespace llm

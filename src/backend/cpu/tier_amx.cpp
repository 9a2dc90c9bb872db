#include "backend/cpu/vec_amx.h"
#include "backend/cpu/body_panels.inl"
#include "backend/cpu/body_amx.inl"

namespace llm {
extern const cpu_prompt_kernels prompt_kernels_amx = prompt_kernels<amx_tiles>();
}

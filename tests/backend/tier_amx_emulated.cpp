// The prompt kernels of the amx tier over emulated tiles. Compiled like the tier, so without the standard library.
#if defined(__AVX512VNNI__)
#include "emulated_tiles.h"

#include "backend/cpu/body_panels.inl"

#include "backend/cpu/body_amx.inl"

namespace llm {
unsigned emulated_tile_faults;
extern const cpu_prompt_kernels prompt_kernels_emulated;
const cpu_prompt_kernels prompt_kernels_emulated = prompt_kernels<emulated_tiles>();
} // namespace llm
#endif

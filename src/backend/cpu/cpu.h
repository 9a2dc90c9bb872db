// CPU backends: the same 16-row panels and the same steps over the kernels of one vector tier each.
#pragma once
#include "backend/backend.h"

namespace llm {

#if defined(__x86_64__) || defined(_M_X64)
extern const backend backend_amx, backend_avx512, backend_avxvnni, backend_avx2, backend_sse41; // best first
#elif defined(__aarch64__)
extern const backend backend_neon_i8mm, backend_neon_dotprod, backend_neon;
#endif

} // namespace llm

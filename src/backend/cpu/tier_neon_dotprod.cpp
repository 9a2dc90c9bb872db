#include "backend/cpu/vec_neon.h"
#include "backend/cpu/body.inl"

namespace llm {
extern const cpu_kernels kernels_neon_dotprod = CPU_KERNELS;
}

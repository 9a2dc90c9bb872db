#include "backend/cpu/vec_sse41.h"
#include "backend/cpu/body.inl"

namespace llm {
extern const cpu_kernels kernels_sse41 = CPU_KERNELS;
}

#include "backend/cpu/vec_avx2.h"
#include "backend/cpu/body.inl"

namespace llm {
extern const cpu_kernels kernels_avx2 = CPU_KERNELS;
}

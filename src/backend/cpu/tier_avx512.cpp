#include "backend/cpu/vec_avx512.h"
#include "backend/cpu/body.inl"

namespace llm {
extern const cpu_kernels kernels_avx512 = CPU_KERNELS;
}

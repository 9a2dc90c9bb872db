#include "backend/cpu/vec_neon.h"
#include "backend/cpu/body.inl"

namespace llm {
extern const cpu_kernels kernels_neon = CPU_KERNELS;
extern const cpu_float_kernels float_kernels_neon = CPU_FLOAT_KERNELS;
}

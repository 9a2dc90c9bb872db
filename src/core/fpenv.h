// The floating-point environment of the arithmetic contract: round to nearest even, denormals kept, no traps. A host
// linked with -ffast-math, or one that changed the rounding mode, would change bits: set at each API entry that computes
// and in every worker job, restored on the way out.
#pragma once
#include <stdint.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace llm {

inline uint64_t fp_environment_get() {
#if defined(__x86_64__)
    return _mm_getcsr();
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return value;
#else
    return 0;
#endif
}
inline void fp_environment_set(uint64_t value) {
#if defined(__x86_64__)
    _mm_setcsr((uint32_t)value);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" ::"r"(value));
#else
    (void)value;
#endif
}

struct fp_guard {
    uint64_t saved;
    fp_guard() : saved(fp_environment_get()) {
#if defined(__x86_64__)
        fp_environment_set(0x1F80);
#else
        fp_environment_set(0);
#endif
    }
    ~fp_guard() { fp_environment_set(saved); }
    fp_guard(const fp_guard &) = delete;
    fp_guard &operator=(const fp_guard &) = delete;
};

} // namespace llm

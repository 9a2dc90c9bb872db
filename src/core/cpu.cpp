// Feature bits: Intel SDM volume 2, CPUID leaves 1 and 7; XCR0: volume 1, section 13.3.
// On Arm the system says what all cores have in common and what it saves: Documentation/arch/arm64/elf_hwcaps.rst of
// Linux, "Determining instruction set characteristics" of Apple's developer documentation.
#include "core/cpu.h"
#include <stdint.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <stddef.h>
#include <sys/sysctl.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace llm {

#if defined(__x86_64__) || defined(__i386__)

namespace {

struct registers {
    uint32_t a, b, c, d;
};

// All zero when the processor does not know the leaf.
registers cpuid(uint32_t leaf, uint32_t part) {
    registers r = {0, 0, 0, 0};
    __get_cpuid_count(leaf, part, &r.a, &r.b, &r.c, &r.d);
    return r;
}

// The register files that the system saves. Written as bytes-to-be: the intrinsic needs a compiler flag that would let
// the compiler use the instruction anywhere.
uint32_t saved_registers() {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

// Tiles are 8 KiB more to save per thread, so Linux wants to be asked by each process (ARCH_REQ_XCOMP_PERM, for
// component 18 of XCR0: Documentation/arch/x86/xstate.rst). It refuses where signal stacks are too small for them.
bool may_use_tiles() {
#if defined(__linux__) && defined(__x86_64__) && defined(SYS_arch_prctl)
    return syscall(SYS_arch_prctl, 0x1023, 18) == 0;
#else
    return false;
#endif
}

bool all(uint32_t word, uint32_t bits) { return (word & bits) == bits; }

cpu_features detect() {
    constexpr uint32_t SSE = 1u << 0 | 1u << 9 | 1u << 19; // SSE3, SSSE3, SSE4.1: leaf 1, ecx
    constexpr uint32_t FMA = 1u << 12, OSXSAVE = 1u << 27, AVX = 1u << 28, F16C = 1u << 29;       // leaf 1, ecx
    constexpr uint32_t AVX2 = 1u << 5, F = 1u << 16, DQ = 1u << 17, BW = 1u << 30, VL = 1u << 31; // leaf 7, ebx
    constexpr uint32_t VNNI = 1u << 11;                                                           // leaf 7, ecx
    constexpr uint32_t AMX = 1u << 24 | 1u << 25;               // tiles, int8; leaf 7, edx
    constexpr uint32_t AVXVNNI = 1u << 4;                       // leaf 7.1, eax
    constexpr uint32_t YMM = 0x06, ZMM = 0xe6, TILES = 0x60000; // XCR0
    cpu_features found = {};
    const registers basic = cpuid(1, 0), more = cpuid(7, 0), most = cpuid(7, 1);
    found.sse41 = all(basic.c, SSE);
    if (!all(basic.c, OSXSAVE)) return found;
    const uint32_t saved = saved_registers();
    found.avx2 = all(basic.c, FMA | AVX | F16C) && all(more.b, AVX2) && all(saved, YMM);
    found.avxvnni = found.avx2 && all(most.a, AVXVNNI);
    found.avx512 = found.avx2 && all(more.b, F | DQ | BW | VL) && all(more.c, VNNI) && all(saved, ZMM);
    found.amx = found.avx512 && all(more.d, AMX) && all(saved, TILES) && may_use_tiles();
    return found;
}

} // namespace

#elif defined(__aarch64__)

namespace {

#if defined(__APPLE__)
bool has(const char *feature) {
    int value = 0;
    size_t size = sizeof value;
    return sysctlbyname(feature, &value, &size, nullptr, 0) == 0 && value != 0;
}
bool has_neon() { return true; }
bool has_dotprod() { return has("hw.optional.arm.FEAT_DotProd"); }
bool has_i8mm() { return has("hw.optional.arm.FEAT_I8MM"); }
#elif defined(__linux__)
// Numbers, because headers older than a feature lack its name.
bool has_neon() { return getauxval(AT_HWCAP) & 1ul << 1; }     // ASIMD
bool has_dotprod() { return getauxval(AT_HWCAP) & 1ul << 20; } // ASIMDDP
bool has_i8mm() { return getauxval(AT_HWCAP2) & 1ul << 13; }   // I8MM
#else
bool has_neon() { return true; }
bool has_dotprod() { return false; }
bool has_i8mm() { return false; }
#endif

cpu_features detect() {
    cpu_features found = {};
    found.neon = has_neon();
    found.dotprod = found.neon && has_dotprod();
    found.i8mm = found.dotprod && has_i8mm();
    return found;
}

} // namespace

#else

namespace {
cpu_features detect() { return {}; }
} // namespace

#endif

const cpu_features *cpu() {
    static const cpu_features features = detect();
    return &features;
}

} // namespace llm

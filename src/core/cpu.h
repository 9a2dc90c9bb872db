// What the processor and the operating system let a program use.
#pragma once

namespace llm {

struct cpu_features {
    bool sse41;   // SSE4.1 and what came before it
    bool avx2;    // AVX2, FMA, F16C, and the system saves 256-bit registers
    bool avxvnni; // AVX-VNNI besides: vpdpbusd on 256-bit registers, without AVX-512
    bool avx512;  // AVX2 and AVX-512 F, BW, VL, DQ, VNNI besides, and the system saves 512-bit registers
    bool amx;     // AMX with int8 besides, and the system lets the process use its tiles
    bool neon;    // Advanced SIMD, part of every armv8-a but of special builds
    bool dotprod; // and sdot, udot (armv8.2 at the earliest)
    bool i8mm;    // and smmla besides (armv8.2 at the earliest, usual since 8.6)
};

const cpu_features *cpu(); // asked once

} // namespace llm

#include "backend/cpu/cpu.h"
#include "backend/cpu/ops.h"
#include "backend/packed.h"
#include "core/cpu.h"

namespace llm {
namespace {

bool supports(const block_format *format) { return panel_layout_of(format) != nullptr; }

size_t weight_bytes(const block_format *format, uint64_t rows, uint64_t cols) {
    return (packed_bytes(format, rows, cols) + 63) / 64 * 64;
}

void pack(const block_format *format, uint64_t, uint64_t cols, uint64_t row, uint64_t n_rows, const void *file_rows,
          void *matrix) {
    packed_pack(format, cols, n_rows, file_rows, static_cast<uint8_t *>(matrix) + packed_bytes(format, row, cols));
}

size_t act8_bytes(uint32_t cols, uint32_t n_rows) { return size_t(cols / 32) * n_rows * sizeof(act_block); }

template <const cpu_kernels &KERNELS, const cpu_prompt_kernels *PROMPT> struct steps {
    static constexpr cpu_tier of = {&KERNELS, PROMPT};
    static uint32_t n_chunks(const pass *p, uint32_t step, uint32_t n_threads) {
        return cpu_n_chunks(&of, p, step, n_threads);
    }
    static void run_chunk(const pass *p, uint32_t step, uint32_t chunk, uint32_t n_threads, void *scratch) {
        cpu_run_chunk(&of, p, step, chunk, n_threads, scratch);
    }
};

template <const cpu_kernels &KERNELS> uint64_t dots(uint64_t rounds) { return KERNELS.dots(rounds); }

template <const cpu_kernels &KERNELS, const cpu_prompt_kernels *PROMPT = nullptr>
constexpr backend tier(const char *name, bool (*available)(), const char *needs) {
    using run = steps<KERNELS, PROMPT>;
    return {name,
            available,
            supports,
            weight_bytes,
            PANEL_ROWS,
            pack,
            act8_bytes,
            cpu_scratch_bytes,
            true,
            attention_shared_bytes,
            attention_begin_pass,
            cpu_kv_k_bytes,
            cpu_kv_v_bytes,
            run::n_chunks,
            run::run_chunk,
            true,
            dots<KERNELS>,
            needs};
}

} // namespace

#if defined(__x86_64__) || defined(_M_X64)
const backend backend_sse41 = tier<kernels_sse41>(
    "sse41", [] { return cpu()->sse41; }, "SSE4.1");
const backend backend_avx2 = tier<kernels_avx2>(
    "avx2", [] { return cpu()->avx2; }, "AVX2, FMA and F16C");
const backend backend_avxvnni = tier<kernels_avxvnni>(
    "avxvnni", [] { return cpu()->avxvnni; }, "AVX-VNNI and AVX2");
const backend backend_avx512 = tier<kernels_avx512>(
    "avx512", [] { return cpu()->avx512; }, "AVX-512 F, BW, VL, DQ and VNNI");
const backend backend_amx = tier<kernels_avx512, &prompt_kernels_amx>(
    "amx", [] { return cpu()->amx; }, "AVX-512 with VNNI, AMX with int8, and a system that lets the process use tiles");
#elif defined(__aarch64__)
const backend backend_neon = tier<kernels_neon>(
    "neon", [] { return cpu()->neon; }, "AArch64 with Advanced SIMD");
const backend backend_neon_dotprod = tier<kernels_neon_dotprod>(
    "neon-dotprod", [] { return cpu()->dotprod; }, "the dot product instructions (FEAT_DotProd)");
const backend backend_neon_i8mm = tier<kernels_neon_i8mm>(
    "neon-i8mm", [] { return cpu()->i8mm; }, "the 8-bit matrix instructions (FEAT_I8MM)");
#endif

} // namespace llm

// The vector tiers that this machine can run, and the formats they know.
#pragma once
#include "backend/cpu/cpu.h"
#include "backend/cpu/ops.h"
#include "backend/cpu/panel.h"
#include <vector>

namespace llm {

#if defined(__x86_64__)
// The amx tier over emulated tiles (tier_amx_emulated.cpp), so that its way through a pass is tested on machines
// without them.
extern const cpu_prompt_kernels prompt_kernels_emulated;
constexpr cpu_tier emulated_tier = {&kernels_avx512, &prompt_kernels_emulated};
inline const backend *backend_amx_emulated() {
    static const backend emulated = [] {
        backend b = backend_avx512;
        b.name = "amx-emulated";
        b.n_chunks = [](const pass *p, uint32_t step, uint32_t n_threads) {
            return cpu_n_chunks(&emulated_tier, p, step, n_threads);
        };
        b.run_chunk = [](const pass *p, uint32_t step, uint32_t chunk, uint32_t n_threads, void *scratch) {
            cpu_run_chunk(&emulated_tier, p, step, chunk, n_threads, scratch);
        };
        return b;
    }();
    return &emulated;
}
#endif

struct test_tier {
    const backend *b;
    const cpu_kernels *kernels;
};
// The vector tiers; whole passes also meet those that share a table of kernels.
inline std::vector<test_tier> test_tiers() {
    std::vector<test_tier> tiers;
#if defined(__x86_64__)
    if (backend_avx512.available()) tiers.push_back({&backend_avx512, &kernels_avx512});
    if (backend_avxvnni.available()) tiers.push_back({&backend_avxvnni, &kernels_avxvnni});
    if (backend_avx2.available()) tiers.push_back({&backend_avx2, &kernels_avx2});
    if (backend_sse41.available()) tiers.push_back({&backend_sse41, &kernels_sse41});
#elif defined(__aarch64__)
    if (backend_neon_i8mm.available()) tiers.push_back({&backend_neon_i8mm, &kernels_neon_i8mm});
    if (backend_neon_dotprod.available()) tiers.push_back({&backend_neon_dotprod, &kernels_neon_dotprod});
    if (backend_neon.available()) tiers.push_back({&backend_neon, &kernels_neon});
#endif
    return tiers;
}
inline std::vector<const backend *> pass_backends() {
    std::vector<const backend *> backends;
    for (const test_tier &tier : test_tiers()) backends.push_back(tier.b);
#if defined(__x86_64__)
    if (backend_amx.available()) backends.push_back(&backend_amx);
    if (backend_avx512.available()) backends.push_back(backend_amx_emulated());
#endif
    return backends;
}
inline std::vector<const block_format *> panel_formats() {
    std::vector<const block_format *> formats;
    size_t n;
    const block_format *table = format_table(&n);
    for (size_t i = 0; i < n; i++)
        if (panel_layout_of(&table[i])) formats.push_back(&table[i]);
    return formats;
}

} // namespace llm

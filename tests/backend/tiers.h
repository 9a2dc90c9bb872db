// The vector tiers that this machine can run, and the formats they know.
#pragma once
#include "backend/cpu/cpu.h"
#include "backend/cpu/panel.h"
#include <vector>

namespace llm {

struct test_tier {
    const backend *b;
    const cpu_kernels *kernels;
};
inline std::vector<test_tier> test_tiers() {
    std::vector<test_tier> tiers;
#if defined(__x86_64__)
    if (backend_avx512.available()) tiers.push_back({&backend_avx512, &kernels_avx512});
    if (backend_avxvnni.available()) tiers.push_back({&backend_avxvnni, &kernels_avxvnni});
    if (backend_avx2.available()) tiers.push_back({&backend_avx2, &kernels_avx2});
#elif defined(__aarch64__)
    if (backend_neon_i8mm.available()) tiers.push_back({&backend_neon_i8mm, &kernels_neon_i8mm});
    if (backend_neon_dotprod.available()) tiers.push_back({&backend_neon_dotprod, &kernels_neon_dotprod});
    if (backend_neon.available()) tiers.push_back({&backend_neon, &kernels_neon});
#endif
    return tiers;
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

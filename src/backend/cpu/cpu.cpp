#include "backend/cpu/cpu.h"
#include "backend/cpu/ops.h"
#include "core/cpu.h"

namespace llm {
namespace {

bool supports(const block_format *format) { return panel_layout_of(format) != nullptr; }

size_t weight_bytes(const block_format *format, uint64_t rows, uint64_t cols) {
    const size_t bytes = panel_count(rows) * panel_bytes(panel_layout_of(format), cols);
    return (bytes + 63) / 64 * 64;
}

void pack(const block_format *format, uint64_t, uint64_t cols, uint64_t row, uint64_t n_rows, const void *file_rows,
          void *matrix) {
    const panel_layout *layout = panel_layout_of(format);
    const uint8_t *from = static_cast<const uint8_t *>(file_rows);
    uint8_t *panel = static_cast<uint8_t *>(matrix) + row / PANEL_ROWS * panel_bytes(layout, cols);
    for (; n_rows; panel += panel_bytes(layout, cols)) {
        const uint32_t n = n_rows < PANEL_ROWS ? uint32_t(n_rows) : PANEL_ROWS;
        panel_pack(layout, format, cols, n, from, panel);
        from += n * format_bytes(format, cols);
        n_rows -= n;
    }
}

size_t act8_bytes(uint32_t cols, uint32_t n_rows) { return size_t(cols / 32) * n_rows * sizeof(act_block); }

template <const cpu_kernels &KERNELS> uint32_t n_chunks(const pass *p, uint32_t step, uint32_t n_threads) {
    return cpu_n_chunks(&KERNELS, p, step, n_threads);
}
template <const cpu_kernels &KERNELS>
void run_chunk(const pass *p, uint32_t step, uint32_t chunk, uint32_t n_threads, void *scratch) {
    cpu_run_chunk(&KERNELS, p, step, chunk, n_threads, scratch);
}

template <const cpu_kernels &KERNELS> constexpr backend tier(const char *name, bool (*available)()) {
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
            n_chunks<KERNELS>,
            run_chunk<KERNELS>};
}

} // namespace

#if defined(__x86_64__) || defined(_M_X64)
const backend backend_avx2 = tier<kernels_avx2>("avx2", [] { return cpu()->avx2; });
const backend backend_avxvnni = tier<kernels_avxvnni>("avxvnni", [] { return cpu()->avxvnni; });
const backend backend_avx512 = tier<kernels_avx512>("avx512", [] { return cpu()->avx512; });
#endif

} // namespace llm

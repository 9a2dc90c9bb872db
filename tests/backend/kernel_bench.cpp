// Speeds of the panel kernels, by hand: llm_tests "[kernel-bench]". One thread's CPU time, best of several runs; the
// clock is taken from dependent multiplications (3 cycles each on x86-64).
#include "random_data.h"
#include "test.h"
#include "tiers.h"
#include <stdio.h>
#include <time.h>
#include <algorithm>

using namespace llm;

#if defined(__x86_64__)
namespace {

double cpu_seconds() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}
template <class Function> double best_seconds(int runs, Function function) {
    double best = 1e9;
    for (int i = 0; i < runs; i++) {
        const double start = cpu_seconds();
        function();
        best = std::min(best, cpu_seconds() - start);
    }
    return best;
}
double clock_hertz() {
    constexpr int LOOPS = 1000000;
    return 3.0 * LOOPS / best_seconds(9, [] {
               uint64_t x = 3;
               for (int i = 0; i < LOOPS; i++) __asm__ volatile("imul %0, %0" : "+r"(x));
           });
}

constexpr uint32_t COLS = 4096;

// `n_panels` panels one after another, all for the same tokens.
void measure(const test_tier &tier, const block_format *format, size_t n_panels, uint32_t n_tokens, double hertz) {
    const panel_layout *layout = panel_layout_of(format);
    const size_t bytes = panel_bytes(layout, COLS);
    random_source r = {1};
    const std::vector<uint8_t> rows = random_blocks(&r, format, PANEL_ROWS, COLS, DATA_PLAIN);
    std::vector<uint8_t> panels(n_panels * bytes + 8192);
    for (size_t i = 0; i < n_panels; i++) panel_pack(layout, format, COLS, PANEL_ROWS, rows.data(), &panels[i * bytes]);
    const std::vector<float> x = random_floats(&r, size_t(n_tokens) * COLS, DATA_PLAIN);
    std::vector<act_block> blocks(size_t(n_tokens) * COLS / 32);
    for (uint32_t t = 0; t < n_tokens; t++)
        tier.kernels->quantise(&x[t * COLS], COLS / 32, act_row_at(blocks.data(), n_tokens, COLS / 32, t));
    float tiles[2 * MAX_TOKENS * PANEL_ROWS];
    const void *from = format->quantised ? static_cast<const void *>(blocks.data()) : x.data();
    const double seconds = best_seconds(n_panels > 100 ? 5 : 30, [&] {
        for (size_t i = 0; i < n_panels; i += 2)
            tier.kernels->dot[layout->kind][n_tokens - 1](&panels[i * bytes], COLS, 2, from, COLS, tiles, 4096);
    });
    const double macs = double(PANEL_ROWS) * COLS * n_tokens * double(n_panels);
    printf("  %u: %.1f (%.0f)", n_tokens, macs / (seconds * hertz), double(n_panels * bytes) / seconds * 1e-9);
    fflush(stdout);
}

} // namespace

TEST_CASE("speeds of panel kernels", "[cpu][.][kernel-bench]") {
    const double hertz = clock_hertz();
    printf("%.2f GHz; tokens: MAC/cycle (GB/s of weights), %u columns\n", hertz * 1e-9, COLS);
    for (const test_tier &tier : test_tiers())
        for (const block_format *format : panel_formats())
            for (size_t bytes : {600u << 10, 96u << 20}) {
                const size_t n = bytes / panel_bytes(panel_layout_of(format), COLS) / 2 * 2 + 2;
                printf("%-8s %-6s %-6s", tier.b->name, format->name, bytes > (1 << 20) ? "memory" : "L2");
                for (uint32_t n_tokens : {1, 2, 4, 8}) measure(tier, format, n, n_tokens, hertz);
                puts("");
            }
}
#endif

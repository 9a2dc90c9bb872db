// Dimensions of published models, from the configuration files that came with them.
#include "model/synth.h"

namespace llm {

static const synth_key gemma3_window[] = {{"attention.sliding_window", 512, true}, {nullptr, 0, false}};

// clang-format off
static const synth_shape shapes[] = { // by the number of parameters
    // name           family  layers  embd     ff heads  kv  head   vocab     ctx  base    eps   tied   bias stretch more
    {"tiny-256",     "llama",  1,  256,   512,    4,  2,  64,    320,    512,   1e4f, 1e-5f, false, false,  0, nullptr}, // nobody's: for tests
    {"stories-15m",  "llama",  6,  288,   768,    6,  6,  48,  32000,    256,   1e4f, 1e-5f, true,  false,  0, nullptr},
    {"smol-135m",    "llama", 30,  576,  1536,    9,  3,  64,  49152,   2048,   1e4f, 1e-5f, true,  false,  0, nullptr},
    {"gemma3-270m",  "gemma3",18,  640,  2048,    4,  1, 256, 262144,  32768,   1e6f, 1e-6f, true,  false,  0, gemma3_window},
    {"qwen2-0.5b",   "qwen2", 24,  896,  4864,   14,  2,  64, 151936,  32768,   1e6f, 1e-6f, true,  true,   0, nullptr},
    {"qwen3-0.6b",   "qwen3", 28, 1024,  3072,   16,  8, 128, 151936,  40960,   1e6f, 1e-6f, true,  false,  0, nullptr},
    {"gemma3-1b",    "gemma3",26, 1152,  6912,    4,  1, 256, 262144,  32768,   1e6f, 1e-6f, true,  false,  0, gemma3_window},
    {"llama-3.2-1b", "llama", 16, 2048,  8192,   32,  8,  64, 128256, 131072,   5e5f, 1e-5f, true,  false, 32, nullptr},
    {"llama-2-7b",   "llama", 32, 4096, 11008,   32, 32, 128,  32000,   4096,   1e4f, 1e-5f, false, false,  0, nullptr},
    {"llama-3-8b",   "llama", 32, 4096, 14336,   32,  8, 128, 128256,   8192,   5e5f, 1e-5f, false, false,  0, nullptr},
    {"llama-2-13b",  "llama", 40, 5120, 13824,   40, 40, 128,  32000,   4096,   1e4f, 1e-5f, false, false,  0, nullptr},
    {"llama-3-70b",  "llama", 80, 8192, 28672,   64,  8, 128, 128256,   8192,   5e5f, 1e-5f, false, false,  0, nullptr},
};
// clang-format on
static const size_t n_shapes = sizeof shapes / sizeof *shapes;

const synth_shape *synth_shape_at(size_t index) { return index < n_shapes ? &shapes[index] : nullptr; }

const synth_shape *synth_shape_find(const char *name) {
    for (const synth_shape &shape : shapes)
        if (equal_ignoring_case(shape.name, name)) return &shape;
    return nullptr;
}

} // namespace llm

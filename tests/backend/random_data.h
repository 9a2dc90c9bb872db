// Random inputs that reach the corners of kernels. Seeds are fixed; a failing check prints what it ran with.
#pragma once
#include "quant/format.h"
#include <stdint.h>
#include <string.h>
#include <string>
#include <vector>

namespace llm {

struct random_source {
    uint64_t state;
    uint32_t next() {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return uint32_t(state >> 32);
    }
    uint32_t below(uint32_t n) { return next() % n; }
    float uniform() { return float(next() >> 8) * 0x1p-24f; }
    float gauss() {
        float sum = 0;
        for (int i = 0; i < 12; i++) sum += uniform();
        return sum - 6;
    }
};

// What weights and activations look like.
enum data_kind {
    DATA_PLAIN,      // random codes, scales around 2^-5
    DATA_EXTREME,    // codes and activations at their ends, mostly of one sign: sums are as large as they get
    DATA_DENORMAL,   // denormal half scales, tiny activations
    DATA_LARGE,      // scales near 65504, activations near 2^80
    DATA_CANCELLING, // every second block of activations is the negative of the one before
    DATA_KINDS,
    DATA_SMALL = DATA_KINDS // scales around 2^-8, so that sums of many weights stay near one
};

inline uint32_t bits_of(float x) {
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}
inline float float_of(uint32_t u) {
    float x;
    memcpy(&x, &u, 4);
    return x;
}
inline bool same(float a, float b) { return bits_of(a) == bits_of(b) || (a != a && b != b); }
inline std::string first_difference(const std::vector<float> &a, const std::vector<float> &b) {
    if (a.size() != b.size()) return "sizes differ";
    for (size_t i = 0; i < a.size(); i++)
        if (!same(a[i], b[i]))
            return "at " + std::to_string(i) + ": " + std::to_string(a[i]) + ", " + std::to_string(b[i]);
    return "";
}

inline uint16_t random_half(random_source *r, data_kind kind) {
    uint16_t sign = r->below(2) ? 0x8000 : 0;
    if (kind == DATA_DENORMAL) return uint16_t(sign | r->below(0x400));
    if (kind == DATA_LARGE) return uint16_t(sign | (0x7bff - r->below(0x400)));
    return uint16_t(sign | ((kind == DATA_SMALL ? 0x1c00 : 0x2800) + r->below(0x0800)));
}

// Rows of a format's blocks with random codes and finite scales.
inline std::vector<uint8_t> random_blocks(random_source *r, const block_format *f, size_t rows, size_t cols,
                                          data_kind kind) {
    std::vector<uint8_t> out(rows * format_bytes(f, cols));
    if (!f->quantised) {
        for (size_t i = 0; i < out.size(); i += f->block_bytes) {
            float x = kind == DATA_LARGE      ? r->gauss() * 1000
                      : kind == DATA_DENORMAL ? r->gauss() * 0x1p-130f
                                              : r->gauss();
            uint16_t h = f->id == FORMAT_BF16    ? f32_to_bf16(x)
                         : kind == DATA_DENORMAL ? random_half(r, kind)
                                                 : f32_to_f16(x);
            if (f->id == FORMAT_F32)
                memcpy(&out[i], &x, 4);
            else
                memcpy(&out[i], &h, 2);
        }
        return out;
    }
    // The codes of largest magnitude: -128, the first of values_iq4, and elsewhere all ones.
    const bool iq4 = f->id == FORMAT_IQ4_NL || f->id == FORMAT_IQ4_XS;
    const uint8_t end = f->id == FORMAT_Q8_0 ? 0x80 : iq4 ? 0 : 0xff;
    for (uint8_t &byte : out) byte = kind == DATA_EXTREME && r->below(8) ? end : uint8_t(r->next());
    for (size_t block = 0; block < out.size(); block += f->block_bytes) {
        const uint16_t d = random_half(r, kind), m = random_half(r, kind) & 0x7fff;
        f->set_scales(&out[block], f16_to_f32(d), f16_to_f32(m));
        if (f->id == FORMAT_Q6_K && kind == DATA_EXTREME) // scales of -128 and 127
            for (int i = 0; i < 16; i++) out[block + 192 + i] = r->below(8) ? 0x80 : 0x7f;
        if (f->id == FORMAT_MXFP4 && kind == DATA_DENORMAL) out[block] = uint8_t(r->below(4)); // denormal floats
        if (f->id == FORMAT_NVFP4 && kind != DATA_SMALL)                                       // any byte is a scale
            for (int i = 1; i < 4; i++) out[block + i] = kind == DATA_EXTREME ? 0xff : uint8_t(r->next());
    }
    return out;
}

inline std::vector<float> random_floats(random_source *r, size_t n, data_kind kind) {
    std::vector<float> out(n);
    for (size_t i = 0; i < n; i++) {
        float x = r->gauss();
        switch (kind) {
        case DATA_EXTREME: x = r->below(8) ? 1.f : -1.f; break;
        case DATA_DENORMAL: x *= 0x1p-98f; break;
        case DATA_LARGE: x *= 0x1p80f; break;
        case DATA_CANCELLING: x = i % 64 >= 32 ? -out[i - 32] : x; break;
        default: break;
        }
        out[i] = x;
    }
    return out;
}

} // namespace llm

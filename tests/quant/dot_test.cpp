// Dot products with a file's blocks: the error that activations of 8 bits cause, against that of another program's
// kernels. Exact ones are in float64 with weights and activations as they are.
#include "backend/ref/ref.h"
#include "json.h"
#include "quant/format.h"
#include "test.h"
#include <algorithm>
#include <cmath>
#include <random>

using namespace llm;

namespace {

constexpr uint32_t ROWS = 8, COLS = 1024;

struct matrix {
    const block_format *format;
    std::string blocks;
    std::vector<float> w; // exact
};
matrix read_matrix(const block_format *f) {
    const std::string stem = test_data() + "/quant/" + f->name;
    return {f, read_bytes(stem + ".bin"), read_floats(stem + ".f32")};
}

double exact_dot(const float *w, const float *x) {
    double sum = 0;
    for (uint32_t k = 0; k < COLS; k++) sum += (double)w[k] * x[k];
    return sum;
}
double size_of_dot(const float *w, const float *x) {
    double sum = 0;
    for (uint32_t k = 0; k < COLS; k++) sum += std::fabs((double)w[k] * x[k]);
    return sum;
}
float our_dot(const matrix &m, uint32_t row, const std::vector<float> &x) {
    std::vector<ref_act8> x8(COLS / 32);
    ref_quantise_row(x.data(), COLS, x8.data());
    return ref_dot_row(m.format, m.blocks.data() + row * format_bytes(m.format, COLS), COLS, x8.data(), x.data());
}

// The other program's activations for formats of 256 values: a scale per 256, the extreme being -127.
std::vector<float> rounded_per_256(const std::vector<float> &x) {
    std::vector<float> out(x.size());
    for (size_t first = 0; first < x.size(); first += 256) {
        float extreme = 0;
        for (size_t k = first; k < first + 256; k++)
            if (std::fabs(x[k]) > std::fabs(extreme)) extreme = x[k];
        const float inverse = -127 / extreme;
        for (size_t k = first; k < first + 256; k++)
            out[k] = (float)std::min(127L, std::lrint(inverse * x[k])) / inverse;
    }
    return out;
}

// Roots of the mean squared errors, as shares of the sum of |w x|.
struct errors {
    double ours = 0, theirs = 0;
    uint32_t n = 0;
    void add(double our, double their) {
        ours += our * our;
        theirs += their * their;
        n++;
    }
    double ratio() const { return std::sqrt(ours / theirs); }
};

errors errors_of_kernels(const matrix &m, const std::vector<float> &x, const rapidjson::Value &dot) {
    errors e;
    for (uint32_t row = 0; row < ROWS; row++) {
        const float *w = &m.w[row * COLS];
        const double exact = exact_dot(w, x.data()), size = size_of_dot(w, x.data());
        CHECK(std::fabs(exact - dot["exact"][row].GetDouble()) <= 1e-7 * size);
        if (size == 0) continue;
        e.add((our_dot(m, row, x) - exact) / size, (dot["reference_kernel"][row].GetDouble() - exact) / size);
    }
    return e;
}

// Over shuffled activations, the other program's kernel being what its rounding of the activations makes of it, which
// is checked with the unshuffled ones first.
errors errors_over_shuffles(const matrix &m, std::vector<float> x, const rapidjson::Value &dot) {
    std::vector<float> rounded = rounded_per_256(x);
    for (uint32_t row = 0; row < ROWS; row++)
        CHECK(std::fabs(exact_dot(&m.w[row * COLS], rounded.data()) - dot["reference_kernel"][row].GetDouble()) <=
              1e-5 * size_of_dot(&m.w[row * COLS], x.data()));
    errors e;
    std::mt19937 random(17);
    for (int round = 0; round < 50; round++) {
        for (size_t k = x.size() - 1; k > 0; k--) std::swap(x[k], x[random() % (k + 1)]);
        rounded = rounded_per_256(x);
        for (uint32_t row = 0; row < ROWS; row++) {
            const float *w = &m.w[row * COLS];
            const double exact = exact_dot(w, x.data()), size = size_of_dot(w, x.data());
            if (size > 0) e.add((our_dot(m, row, x) - exact) / size, (exact_dot(w, rounded.data()) - exact) / size);
        }
    }
    return e;
}

} // namespace

// Where the other program has a scale per 256, the ratio over eight dot products with one activation is luck (0.63 to
// 1.34); over many it is 0.40 to 0.47, what a scale per 32 is worth.
TEST_CASE("dot products are as exact as another program's", "[quant]") {
    if (!have_test_data("quant")) return;
    const rapidjson::Document expected = read_json(test_data() + "/quant/expected.json");
    const std::vector<float> x = read_floats(test_data() + "/quant/activation.f32");
    for (const block_format *f = format_table(nullptr); f->name; f++) {
        if (!format_supported(f) || f->id == FORMAT_F32) continue;
        const matrix m = read_matrix(f);
        const rapidjson::Value &dot = expected["types"][f->name]["dot"];
        const bool per_256 = std::string(dot["activation_type"].GetString()) == "q8_K";
        const errors e = per_256 ? errors_over_shuffles(m, x, dot) : errors_of_kernels(m, x, dot);
        INFO(f->name << ": " << e.ratio() << " times the other's error");
        CHECK(e.ratio() <= (per_256 ? 0.6 : 1.05));
    }
}

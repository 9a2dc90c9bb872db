#include "graph/rope.h"
#include "core/fmath.h"

namespace llm {

void rope_plain_frequencies(double base, uint32_t n_rot, std::vector<double> *frequency) {
    frequency->resize(n_rot / 2);
    for (uint32_t i = 0; i < n_rot / 2; i++) (*frequency)[i] = exp2_f64(-2.0 * i / n_rot * log2_f64(base));
}

void rope_angles(const rope_spec *rope, int32_t pos, float *out) {
    for (size_t i = 0; i < rope->frequency.size(); i++) {
        double sine, cosine;
        sincos_f64((double)pos * rope->frequency[i], &sine, &cosine);
        out[2 * i] = (float)(cosine * rope->magnitude);
        out[2 * i + 1] = (float)(sine * rope->magnitude);
    }
}

} // namespace llm

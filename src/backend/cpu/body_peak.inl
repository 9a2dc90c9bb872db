// The rate of the tier's integer dot product, and nothing else: what kernels are measured against.

namespace llm {
namespace {

uint64_t dots(uint64_t rounds) {
    constexpr int TOKENS = V::TOGETHER;
    static const uint8_t codes[4 * N] = {};
    act_block x[TOKENS] = {};
    Q q[8];
    I sum[TOKENS];
    for (int j = 0; j < 8; j++) q[j] = V::codes(codes);
    for (int t = 0; t < TOKENS; t++) sum[t] = V::izero();
    for (uint64_t i = 0; i < rounds; i++) {
        asm volatile("" : : "r"(x) : "memory"); // the activations might be new: no product is taken out of the loop
        V::template dot<15, 8, TOKENS>(sum, q, x->q);
    }
    int32_t kept[N];
    for (int t = 1; t < TOKENS; t++) sum[0] = V::iadd(sum[0], sum[t]);
    V::istore(kept, sum[0]);
    asm volatile("" : : "r"(kept) : "memory");
    return rounds * 8 * TOKENS * 4 * N;
}

} // namespace
} // namespace llm

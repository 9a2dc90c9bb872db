// Policies of the formats with tables.

namespace llm {
namespace {

// A table of values, OFFSET larger and so without signs.
struct shifted_table {
    alignas(16) uint8_t at[16];
};
constexpr shifted_table shifted(const int8_t (&values)[16], int offset) {
    shifted_table t = {};
    for (int i = 0; i < 16; i++) t.at[i] = uint8_t(values[i] + offset);
    return t;
}
constexpr shifted_table TABLE_IQ4 = shifted(values_iq4, V::SIGNED_OFFSET), TABLE_FP4 = shifted(values_fp4, 12);

INLINE void look_up_nibbles(Q *q, const uint8_t *p, const shifted_table &table) {
    nibbles(q, p);
    UNROLL(8)
    for (int j = 0; j < 8; j++) q[j] = V::lookup(table.at, q[j]);
}

struct codes_iq4_nl : format_defaults {
    static constexpr int BYTES = 288, OFFSET = V::SIGNED_OFFSET;
    static constexpr bool SIGNED = true;
    INLINE void load(Q *q, const uint8_t *unit, int, int part) {
        look_up_nibbles(q, unit + 32 + 4 * N * part, TABLE_IQ4);
    }
};
struct codes_iq4_xs : format_defaults {
    static constexpr int BYTES = 2208, BLOCKS = 8, OFFSET = V::SIGNED_OFFSET;
    static constexpr bool SIGNED = true;
    INLINE F scale(const uint8_t *unit, int b, int part) { // exact: 11 bits times 6
        return V::mul(half_floats(unit, part), bytes_s8(unit + 32 + 16 * b, part));
    }
    INLINE void load(Q *q, const uint8_t *unit, int b, int part) {
        look_up_nibbles(q, unit + 160 + 256 * b + 4 * N * part, TABLE_IQ4);
    }
};
struct codes_mxfp4 : format_defaults {
    static constexpr int BYTES = 272, MAX = 24, OFFSET = 12;
    // 2^(e - 127) is e in the place of the exponent, for e = 0 the denormal below; half of it is exact.
    INLINE F scale(const uint8_t *unit, int, int part) {
        I e = V::imax(V::shl<23>(V::load_u8(unit + N * part)), V::iall(0x00400000));
        return V::mul(V::all(0.5f), V::of_bits(e));
    }
    INLINE void load(Q *q, const uint8_t *unit, int, int part) {
        look_up_nibbles(q, unit + 16 + 4 * N * part, TABLE_FP4);
    }
};
struct codes_nvfp4 : format_defaults {
    static constexpr int BYTES = 576, BLOCKS = 2, MAX = 24, OFFSET = 12;
    static constexpr bool APART = true;
    // Files made without a scale per tensor have mostly denormal scales, so these must not become denormal floats:
    // x86 takes 150 cycles for each register of them.
    INLINE F scale_half(const uint8_t *unit, int b, int half, int part) {
        I x = V::load_u8(unit + 16 * (2 * b + half) + N * part);
        F normal = V::of_bits(V::iadd(V::shl<20>(x), V::iall(119 << 23))),
          small = V::mul(V::of_int(x), V::all(0x1p-10f));
        return V::if_less(V::of_int(x), V::all(8), small, normal);
    }
    INLINE void load(Q *q, const uint8_t *unit, int b, int part) {
        look_up_nibbles(q, unit + 64 + 256 * b + 4 * N * part, TABLE_FP4);
    }
};

} // namespace
} // namespace llm

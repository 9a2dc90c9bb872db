// Policies of the K formats: 256 values with scales of scales.

namespace llm {
namespace {

struct codes_q2_k : format_defaults {
    static constexpr int BYTES = 1344, BLOCKS = 8, MAX = 3, SCALES = 2;
    static constexpr minimum_term MINIMUM = MINIMA_SUBTRACTED;
    INLINE void load(Q *q, const uint8_t *unit, int b, int part) { two_bits(q, unit + 320 + 128 * b + 4 * N * part); }
    INLINE I both(const uint8_t *unit, int b, int half, int part) {
        return V::load_u8(unit + 64 + 16 * (2 * b + half) + N * part);
    }
    INLINE F scale16(const uint8_t *unit, int b, int half, int part) {
        return V::of_int(V::iand(both(unit, b, half, part), V::iall(15)));
    }
    INLINE F minimum16(const uint8_t *unit, int b, int half, int part) {
        return V::mul(V::all(0x1p-5f), V::of_int(V::sra<4>(both(unit, b, half, part))));
    }
};
struct codes_q3_k : format_defaults {
    static constexpr int BYTES = 1824, BLOCKS = 8, MAX = 7, OFFSET = 4, SCALES = 2;
    INLINE void load(Q *q, const uint8_t *unit, int b, int part) {
        two_bits(q, unit + 288 + 192 * b + 4 * N * part);
        add_one_bit<2>(q, unit + 288 + 192 * b + 128 + 4 * N * part);
    }
    INLINE F scale16(const uint8_t *unit, int b, int half, int part) {
        return bytes_s8(unit + 32 + 16 * (2 * b + half), part);
    }
};
struct k4_defaults : format_defaults {
    static constexpr int BLOCKS = 8;
    static constexpr minimum_term MINIMUM = MINIMUM_SUBTRACTED;
    // Both products are exact: 11 bits times 6.
    INLINE F scale(const uint8_t *unit, int b, int part) {
        return V::mul(half_floats(unit, part), bytes_u8(unit + 64 + 16 * b, part));
    }
    INLINE F minimum(const uint8_t *unit, int b, int part) {
        return V::mul(half_floats(unit + 32, part), bytes_u8(unit + 192 + 16 * b, part));
    }
};
struct codes_q4_k : k4_defaults {
    static constexpr int BYTES = 2368;
    INLINE void load(Q *q, const uint8_t *unit, int b, int part) { nibbles(q, unit + 320 + 256 * b + 4 * N * part); }
};
struct codes_q5_k : k4_defaults {
    static constexpr int BYTES = 2880, MAX = 31;
    INLINE void load(Q *q, const uint8_t *unit, int b, int part) {
        nibbles(q, unit + 320 + 320 * b + 4 * N * part);
        add_one_bit<4>(q, unit + 320 + 320 * b + 256 + 4 * N * part);
    }
};
struct codes_q6_k : format_defaults {
    static constexpr int BYTES = 3360, BLOCKS = 8, MAX = 63, OFFSET = 32, SCALES = 2;
    INLINE void load(Q *q, const uint8_t *unit, int b, int part) {
        nibbles(q, unit + 288 + 384 * b + 4 * N * part);
        add_two_bits(q, unit + 288 + 384 * b + 256 + 4 * N * part);
    }
    INLINE F scale16(const uint8_t *unit, int b, int i, int part) {
        return bytes_s8(unit + 32 + 16 * (2 * b + i), part);
    }
};

} // namespace
} // namespace llm

// Policies of the formats of 32 values with one scale.

namespace llm {
namespace {

struct codes_q4_0 : format_defaults {
    static constexpr int BYTES = 288, OFFSET = 8;
    INLINE void load(Q *q, const uint8_t *unit, int, int part) { nibbles(q, unit + 32 + 4 * N * part); }
};
struct codes_q4_1 : format_defaults {
    static constexpr int BYTES = 320;
    static constexpr minimum_term MINIMUM = MINIMUM_ADDED;
    INLINE void load(Q *q, const uint8_t *unit, int, int part) { nibbles(q, unit + 64 + 4 * N * part); }
};
struct codes_q5_0 : format_defaults {
    static constexpr int BYTES = 352, MAX = 31, OFFSET = 16;
    INLINE void load(Q *q, const uint8_t *unit, int, int part) {
        nibbles(q, unit + 32 + 4 * N * part);
        add_one_bit<4>(q, unit + 288 + 4 * N * part);
    }
};
struct codes_q5_1 : format_defaults {
    static constexpr int BYTES = 384, MAX = 31;
    static constexpr minimum_term MINIMUM = MINIMUM_ADDED;
    INLINE void load(Q *q, const uint8_t *unit, int, int part) {
        nibbles(q, unit + 64 + 4 * N * part);
        add_one_bit<4>(q, unit + 320 + 4 * N * part);
    }
};
struct codes_q8_0 : format_defaults {
    static constexpr int BYTES = 544, OFFSET = V::SIGNED_OFFSET;
    static constexpr bool SIGNED = true;
    INLINE void load(Q *q, const uint8_t *unit, int, int part) {
        UNROLL(8)
        for (int j = 0; j < 8; j++) q[j] = V::signed_codes(unit + 32 + 64 * j + 4 * N * part);
    }
};

} // namespace
} // namespace llm

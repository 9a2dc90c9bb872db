// Policies of the grid formats: indices are gathered from the grid, a lane being a row, and what is found, with a sign
// as bit 3 of every code, is looked up once more to become an integer.

namespace llm {
namespace {

// The next of several indices: its low byte from [..][16] bytes and BITS more from bit 8 of the lanes of `high` on,
// which moves on by STEP.
template <int BITS, int STEP> INLINE I next_index(const uint8_t *low, I *high) {
    I index = V::load_u8(low);
    if constexpr (BITS > 0) {
        index = V::iadd(index, V::iand(*high, V::iall(((1 << BITS) - 1) << 8)));
        *high = V::sra<STEP>(*high);
    }
    return index;
}
// Bit 31 of a lane as bit 3 of all codes of a point.
INLINE I shift_signs(I a) { return V::iand(V::sra<31>(a), V::iall((int)0x88888888)); }

// Codes of 32 values from four points of eight.
INLINE void two_groups(Q *q, Q point) {
    q[0] = V::low_nibbles(point);
    q[1] = V::high_nibbles(point);
}
// signs: bits i and 4 + i of a byte belong to point i.
template <int BITS, int POINT, size_t POINTS>
INLINE void signed_point(Q *q, const grid<POINTS> &g, const uint8_t *low, I *high, Q signs) {
    Q point = V::as_codes(V::gather(g.point, next_index<BITS, BITS>(low + 16 * POINT, high)));
    two_groups(q + 2 * POINT, V::add_bits<3 - POINT, 0x88>(signs, point));
}
template <int BITS, size_t POINTS>
INLINE void four_points(Q *q, const grid<POINTS> &g, const uint8_t *low, I high, const uint8_t *signs) {
    Q s = V::codes(signs);
    signed_point<BITS, 0>(q, g, low, &high, s);
    signed_point<BITS, 1>(q, g, low, &high, s);
    signed_point<BITS, 2>(q, g, low, &high, s);
    signed_point<BITS, 3>(q, g, low, &high, s);
}
// From eight points of four.
template <int BITS, size_t POINTS> INLINE void eight_points(Q *q, const grid<POINTS> &g, const uint8_t *low, I high) {
    UNROLL(8)
    for (int i = 0; i < 8; i++) q[i] = V::as_codes(V::gather(g.point, next_index<BITS, BITS>(low + 16 * i, &high)));
}

// Offsets are powers of two for the sake of start().
constexpr shifted_table TABLE_IQ2 = shifted(values_iq2, 64), TABLE_IQ3_XXS = shifted(values_iq3_xxs, 64),
                        TABLE_IQ3_S = shifted(values_iq3_s, 16), TABLE_IQ1 = shifted(values_iq1, 16);

INLINE void look_up(Q *q, const shifted_table &table) {
    UNROLL(8)
    for (int j = 0; j < 8; j++) q[j] = V::lookup(table.at, q[j]);
}
// signs: a one-bit block.
INLINE void signed_values(Q *q, const uint8_t *signs, const shifted_table &table) {
    add_one_bit<3>(q, signs);
    look_up(q, table);
}

INLINE I nibbles_of(const uint8_t *p, int which, int part) {
    I both = V::load_u8(p + N * part);
    return which ? V::sra<4>(both) : V::iand(both, V::iall(15));
}
// (2 s + 1) * unit, exact.
INLINE F factor(I s, float unit) { return V::fma(V::of_int(s), V::all(2 * unit), V::all(unit)); }

// s of 32 values in nibbles [4][16] behind d, two blocks in a byte.
template <class Format> struct nibble_per_32 : format_defaults {
    static constexpr int BLOCKS = 8;
    INLINE F scale(const uint8_t *unit, int b, int part) {
        return V::mul(half_floats(unit, part), factor(nibbles_of(unit + 32 + 16 * (b / 2), b % 2, part), Format::UNIT));
    }
};
// s of 16 values in nibbles [8][16] behind d, a block in a byte; the unit is an eighth.
struct nibbles_per_16 : format_defaults {
    static constexpr int BLOCKS = 8, SCALES = 2;
    INLINE F scale(const uint8_t *unit, int, int part) { return V::mul(half_floats(unit, part), V::all(0.125f)); }
    INLINE F scale16(const uint8_t *unit, int b, int half, int part) {
        return factor(nibbles_of(unit + 32 + 16 * b, half, part), 1);
    }
};

struct codes_iq2_xxs : nibble_per_32<codes_iq2_xxs> {
    static constexpr int BYTES = 1120, MAX = 107, OFFSET = 64;
    static constexpr float UNIT = 0.125f;
    INLINE void load(Q *q, const uint8_t *unit, int b, int part) {
        const uint8_t *p = unit + 96 + 128 * b;
        four_points<0>(q, grid_iq2_xxs, p + N * part, V::izero(), p + 64 + 4 * N * part);
        look_up(q, TABLE_IQ2);
    }
};
struct codes_iq2_xs : nibbles_per_16 {
    static constexpr int BYTES = 1248, MAX = 107, OFFSET = 64;
    INLINE void load(Q *q, const uint8_t *unit, int b, int part) {
        const uint8_t *p = unit + 224 + 128 * b;
        const I high = V::shl<8>(nibbles_of(unit + 160 + 16 * (b / 2), b % 2, part));
        four_points<1>(q, grid_iq2_xs, p + N * part, high, p + 64 + 4 * N * part);
        look_up(q, TABLE_IQ2);
    }
};
struct codes_iq2_s : nibbles_per_16 {
    static constexpr int BYTES = 1312, MAX = 107, OFFSET = 64;
    INLINE void load(Q *q, const uint8_t *unit, int b, int part) {
        const uint8_t *p = unit + 288 + 128 * b;
        const I high = V::shl<8>(V::load_u8(unit + 160 + 16 * b + N * part));
        four_points<2>(q, grid_iq2_s, p + N * part, high, p + 64 + 4 * N * part);
        look_up(q, TABLE_IQ2);
    }
};
struct codes_iq3_xxs : nibble_per_32<codes_iq3_xxs> {
    static constexpr int BYTES = 1632, MAX = 126, OFFSET = 64;
    static constexpr float UNIT = 0.25f;
    INLINE void load(Q *q, const uint8_t *unit, int b, int part) {
        const uint8_t *p = unit + 96 + 192 * b;
        eight_points<0>(q, grid_iq3_xxs, p + N * part, V::izero());
        signed_values(q, p + 128 + 4 * N * part, TABLE_IQ3_XXS);
    }
};
struct codes_iq3_s : nibble_per_32<codes_iq3_s> {
    static constexpr int BYTES = 1760, MAX = 31, OFFSET = 16;
    static constexpr float UNIT = 1;
    INLINE void load(Q *q, const uint8_t *unit, int b, int part) {
        const uint8_t *p = unit + 224 + 192 * b;
        eight_points<1>(q, grid_iq3_s, p + N * part, V::shl<8>(V::load_u8(unit + 96 + 16 * b + N * part)));
        signed_values(q, p + 128 + 4 * N * part, TABLE_IQ3_S);
    }
};

// Sixteen bits per row, in the upper halves of lanes.
INLINE I upper_halves(const uint8_t *p, int part) { return V::bits(V::load_bf16((const uint16_t *)p + N * part)); }

struct codes_iq1_s : format_defaults {
    static constexpr int BYTES = 800, BLOCKS = 8, MAX = 25, OFFSET = 16;
    INLINE F scale(const uint8_t *unit, int b, int part) {
        I s = V::iand(V::sra<28>(upper_halves(unit + 32 + 32 * b, part)), V::iall(7));
        return V::mul(half_floats(unit, part), factor(s, 0.125f));
    }
    INLINE void load(Q *q, const uint8_t *unit, int b, int part) {
        I word = upper_halves(unit + 32 + 32 * b, part), signs = shift_signs(word), high = V::sra<8>(word);
        const uint8_t *low = unit + 288 + 64 * b + N * part;
        UNROLL(4)
        for (int i = 0; i < 4; i++) {
            I point = V::gather(grid_iq1.point, next_index<3, 3>(low + 16 * i, &high));
            two_groups(q + 2 * i, V::as_codes(V::iadd(point, signs)));
        }
        look_up(q, TABLE_IQ1);
    }
};
struct codes_iq1_m : nibbles_per_16 {
    static constexpr int BYTES = 928, MAX = 25, OFFSET = 16;
    INLINE void load(Q *q, const uint8_t *unit, int b, int part) {
        I high = V::sra<8>(upper_halves(unit + 160 + 32 * b, part));
        const uint8_t *low = unit + 416 + 64 * b + N * part;
        UNROLL(4)
        for (int i = 0; i < 4; i++) {
            I signs = shift_signs(V::shl<20>(high)); // from bit 11
            I point = V::gather(grid_iq1.point, next_index<3, 4>(low + 16 * i, &high));
            two_groups(q + 2 * i, V::as_codes(V::iadd(point, signs)));
        }
        look_up(q, TABLE_IQ1);
    }
};

} // namespace
} // namespace llm

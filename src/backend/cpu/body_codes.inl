// What a policy of a block format is, and what policies share. They are in body_codes_*.inl, a family in each.

namespace llm {
namespace {

INLINE void nibbles(Q *q, const uint8_t *p) {
    UNROLL(4)
    for (int j = 0; j < 4; j++) {
        Q v = V::codes(p + 64 * j);
        q[j] = V::low_nibbles(v);
        q[j + 4] = V::high_nibbles(v);
    }
}
// A two-bit block.
INLINE void two_bits(Q *q, const uint8_t *p) {
    UNROLL(2)
    for (int half = 0; half < 2; half++) {
        Q h = V::codes(p + 64 * half);
        q[4 * half + 0] = V::bits_of<0, 3>(h);
        q[4 * half + 1] = V::bits_of<-2, 3>(h);
        q[4 * half + 2] = V::bits_of<-4, 3>(h);
        q[4 * half + 3] = V::bits_of<-6, 3>(h);
    }
}
// A one-bit block as bit BIT of the codes.
template <int BIT> INLINE void add_one_bit(Q *q, const uint8_t *p) {
    Q h = V::codes(p);
    q[0] = V::add_bits<BIT, 1 << BIT>(h, q[0]);
    q[1] = V::add_bits<BIT - 1, 1 << BIT>(h, q[1]);
    q[2] = V::add_bits<BIT - 2, 1 << BIT>(h, q[2]);
    q[3] = V::add_bits<BIT - 3, 1 << BIT>(h, q[3]);
    q[4] = V::add_bits<BIT - 4, 1 << BIT>(h, q[4]);
    q[5] = V::add_bits<BIT - 5, 1 << BIT>(h, q[5]);
    q[6] = V::add_bits<BIT - 6, 1 << BIT>(h, q[6]);
    q[7] = V::add_bits<BIT - 7, 1 << BIT>(h, q[7]);
}
// Another as bits 4 and 5.
INLINE void add_two_bits(Q *q, const uint8_t *p) {
    UNROLL(8)
    for (int half = 0; half < 2; half++) {
        Q h = V::codes(p + 64 * half);
        q[4 * half + 0] = V::add_bits<4, 48>(h, q[4 * half + 0]);
        q[4 * half + 1] = V::add_bits<2, 48>(h, q[4 * half + 1]);
        q[4 * half + 2] = V::add_bits<0, 48>(h, q[4 * half + 2]);
        q[4 * half + 3] = V::add_bits<-2, 48>(h, q[4 * half + 3]);
    }
}
INLINE F half_floats(const uint8_t *p, int part) { return V::load_f16((const uint16_t *)p + N * part); }
INLINE F bytes_u8(const uint8_t *p, int part) { return V::of_int(V::load_u8(p + N * part)); }
INLINE F bytes_s8(const uint8_t *p, int part) { return V::of_int(V::load_s8(p + N * part)); }

enum minimum_term {
    MINIMUM_NONE,
    MINIMUM_ADDED,      // + minimum() * (scaled sum of activations)
    MINIMUM_SUBTRACTED, // - minimum() * the same
    MINIMA_SUBTRACTED,  // - minimum() * 32 * (minimum16(0) * sum of the first 16 + minimum16(1) * sum of the last)
};

// What is special about a format, for part `part` of block `b` of a unit (layouts: panel.h):
//   load()     the codes of 32 values; value = scale * (code - OFFSET)
//   MAX        no code is larger; SIGNED: they come from V::signed_codes() instead, and OFFSET is V::SIGNED_OFFSET
//   scale()    of 32 values, a float
//   SCALES     2: two integers (scale16) per 32 as factors under the float
//   APART      two floats (scale_half), and so two steps of the float chain, per 32
struct format_defaults {
    static constexpr int BLOCKS = 1, MAX = 15, OFFSET = 0, SCALES = 1;
    static constexpr bool SIGNED = false, APART = false;
    static constexpr minimum_term MINIMUM = MINIMUM_NONE;
    INLINE F scale(const uint8_t *unit, int, int part) { return half_floats(unit, part); }
    INLINE F scale16(const uint8_t *, int, int, int) { return V::zero(); }
    INLINE F scale_half(const uint8_t *, int, int, int) { return V::zero(); }
    INLINE F minimum(const uint8_t *unit, int, int part) { return half_floats(unit + 32, part); }
    INLINE F minimum16(const uint8_t *, int, int, int) { return V::zero(); }
};

} // namespace
} // namespace llm

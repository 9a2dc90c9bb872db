// Policies of the formats of two bits and less with one scale.

namespace llm {
namespace {

template <int BYTES_, int BLOCKS_> struct codes_two_bits : format_defaults {
    static constexpr int BYTES = BYTES_, BLOCKS = BLOCKS_, MAX = 3, OFFSET = 1;
    INLINE void load(Q *q, const uint8_t *unit, int b, int part) { two_bits(q, unit + 32 + 128 * b + 4 * N * part); }
};
using codes_q2_0 = codes_two_bits<288, 2>;
using codes_tq2_0 = codes_two_bits<1056, 8>;

struct codes_q1_0 : format_defaults {
    static constexpr int BYTES = 288, BLOCKS = 4, MAX = 2, OFFSET = 1;
    INLINE void load(Q *q, const uint8_t *unit, int b, int part) {
        Q h = V::codes(unit + 32 + 64 * b + 4 * N * part);
        q[0] = V::bits_of<1, 2>(h);
        q[1] = V::bits_of<0, 2>(h);
        q[2] = V::bits_of<-1, 2>(h);
        q[3] = V::bits_of<-2, 2>(h);
        q[4] = V::bits_of<-3, 2>(h);
        q[5] = V::bits_of<-4, 2>(h);
        q[6] = V::bits_of<-5, 2>(h);
        q[7] = V::bits_of<-6, 2>(h);
    }
};

struct codes_tq1_0 : format_defaults {
    static constexpr int BYTES = 928, BLOCKS = 8, MAX = 2, OFFSET = 1;
    // BIT: of the byte of bits that belongs to this triple; goes where it makes a lookup give 0.
    template <int BIT> INLINE void triple(Q *q, Q nibble, Q bits) {
        Q open = V::lookup(trits_open, V::add_bits<7 - BIT, 128>(bits, nibble));
        Q all = V::add_bits<0, 255>(open, V::lookup(trits_of, nibble));
        q[0] = V::bits_of<0, 3>(all);
        q[1] = V::bits_of<-2, 3>(all);
        q[2] = V::bits_of<-4, 3>(all);
    }
    template <int B> INLINE void triples(Q *q, const uint8_t *p, Q bits) {
        Q both = V::codes(p);
        triple<2 * B>(q, V::low_nibbles(both), bits);
        triple<2 * B + 1>(q + 3, V::high_nibbles(both), bits);
    }
    // Shifts are part of the instruction, so the four places of a block in the byte of bits are four copies.
    INLINE void load(Q *q, const uint8_t *unit, int b, int part) {
        const uint8_t *p = unit + 32 + 64 * b + 4 * N * part;
        Q bits = V::codes(unit + 800 + 64 * (b / 4) + 4 * N * part);
        switch (b % 4) {
        case 0: triples<0>(q, p, bits); break;
        case 1: triples<1>(q, p, bits); break;
        case 2: triples<2>(q, p, bits); break;
        default: triples<3>(q, p, bits); break;
        }
        Q pairs = V::codes(unit + 544 + 64 * (b / 2) + 4 * N * part);
        Q pair = V::lookup(trits_of, b % 2 ? V::high_nibbles(pairs) : V::low_nibbles(pairs));
        q[6] = V::bits_of<0, 3>(pair);
        q[7] = V::bits_of<-2, 3>(pair);
    }
};

} // namespace
} // namespace llm

// The 256 letters in which byte-level vocabularies write bytes (GPT-2): printable Latin-1 stands for itself, the other
// bytes, in order, are the characters from U+0100 on.
#pragma once
#include <array>
#include <stddef.h>
#include <stdint.h>

namespace llm {

struct byte_letters {
    std::array<uint16_t, 256> letter_of{};
    std::array<int16_t, 0x144> byte_of{}; // -1: not a letter of a byte
};

constexpr bool is_its_own_letter(int byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr byte_letters make_byte_letters() {
    byte_letters table;
    for (auto &byte : table.byte_of) byte = -1;
    uint16_t next = 0x100;
    for (int byte = 0; byte < 256; byte++) {
        uint16_t letter = is_its_own_letter(byte) ? uint16_t(byte) : next++;
        table.letter_of[size_t(byte)] = letter;
        table.byte_of[letter] = int16_t(byte);
    }
    return table;
}
inline constexpr byte_letters letters = make_byte_letters();

} // namespace llm

#include "test.h"
#include "text/nfc.h"
#include "text/utf8.h"
#include <utf8proc.h>
#include <chrono>
#include <cstdlib>
#include <random>

using namespace llm;

static std::string nfc(const std::string &text) {
    std::vector<int32_t> codes;
    std::string out;
    return normalize_nfc(text, &codes, &out) ? out : text;
}

static std::string reference(const std::string &text) {
    utf8proc_uint8_t *result = nullptr;
    utf8proc_ssize_t n =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t *>(text.data()), utf8proc_ssize_t(text.size()), &result,
                     utf8proc_option_t(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    REQUIRE(n >= 0);
    std::string out(reinterpret_cast<char *>(result), size_t(n));
    free(result);
    return out;
}

TEST_CASE("NFC of every character, alone and between others, is utf8proc's", "[text]") {
    for (uint32_t code = 1; code < 0x110000; code++) {
        if (code >= 0xD800 && code < 0xE000) continue;
        std::string text;
        utf8_append(&text, code);
        text = text + "e" + text + "\u0301" + text + "\u1100" + text + "\uAC00" + text;
        if (nfc(text) != reference(text)) {
            INFO(std::hex << code);
            CHECK(nfc(text) == reference(text));
        }
    }
}

TEST_CASE("NFC of random mixtures of characters that compose is utf8proc's", "[text]") {
    const uint32_t pool[] = {'a',     'e',     'o',     ' ',     0xE9,    0x301,  0x302,  0x316,  0x323,  0x327,
                             0x345,   0x1100,  0x1161,  0x11A8,  0xAC00,  0xAC01, 0x1EA5, 0x212B, 0x3099, 0x304B,
                             0x9BE,   0x9C7,   0x9D7,   0xDD9,   0xDCF,   0xDCA,  0x2126, 0x1F71, 0x4E00, 0xF900,
                             0x1D15E, 0x1D165, 0x11131, 0x11127, 0x2F800, 0x344,  0x340,  0x2000};
    constexpr unsigned seed = 20260801;
    INFO("seed " << seed);
    std::mt19937 random(seed);
    for (int round = 0; round < 20000; round++) {
        std::string text;
        for (size_t n = random() % 12; n > 0; n--) utf8_append(&text, pool[random() % (sizeof pool / sizeof *pool)]);
        if (nfc(text) != reference(text)) CHECK(nfc(text) == reference(text));
    }
}

TEST_CASE("a long run of marks in the wrong order is normalised in time", "[text]") {
    std::string text = "a";
    for (int i = 0; i < 200000; i++) text += "\u0301";
    for (int i = 0; i < 200000; i++) text += "\u0316";
    auto begin = std::chrono::steady_clock::now();
    CHECK(nfc(text).size() == text.size() - 1); // one U+0301 joins the "a"
    CHECK(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < 2);
}

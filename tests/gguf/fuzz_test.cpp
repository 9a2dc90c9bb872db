// Random damage with fixed seeds: nothing may crash, hang or break what the reader promises of a file that opens.
#include "test.h"
#include "gguf/sample.h"
#include <random>

int fuzz_gguf(const uint8_t *data, size_t size);

static void run(const std::string &bytes) {
    // Exactly as large as the bytes: the address sanitizer then sees a read past the end.
    std::vector<uint8_t> exact(bytes.begin(), bytes.end());
    exact.shrink_to_fit();
    fuzz_gguf(exact.data(), exact.size());
}

TEST_CASE("every single bit flip of a file ends in success or a status", "[gguf]") {
    const std::string bytes = sample_file();
    for (size_t i = 0; i < bytes.size(); i++)
        for (int bit = 0; bit < 8; bit++) {
            std::string flipped = bytes;
            flipped[i] = (char)(flipped[i] ^ 1 << bit);
            run(flipped);
        }
}

static void overwrite(std::string *bytes, size_t at, uint64_t value, size_t n) {
    if (at + n <= bytes->size()) memcpy(&(*bytes)[at], &value, n);
}

// One of the ways in which fuzzers change bytes. `at` favours the header, where the structure is.
static void mutate(std::string *bytes, std::mt19937_64 &random) {
    static const uint64_t numbers[] = {0,
                                       1,
                                       2,
                                       7,
                                       8,
                                       9,
                                       12,
                                       13,
                                       31,
                                       32,
                                       255,
                                       65535,
                                       65536,
                                       0x7fffffff,
                                       0x80000000,
                                       0xffffffff,
                                       0x100000000,
                                       0x3fffffffffffffff,
                                       0x7fffffffffffffff,
                                       0x8000000000000000,
                                       0xfffffffffffffff8,
                                       0xffffffffffffffff};
    if (bytes->empty()) return;
    size_t at = random() % bytes->size();
    if (random() % 2) at = random() % (at + 1);
    size_t n = 1 + random() % 16;
    switch (random() % 7) {
    case 0: (*bytes)[at] = (char)random(); break;
    case 1: (*bytes)[at] = (char)((*bytes)[at] + (random() % 2 ? 1 : -1)); break;
    case 2: overwrite(bytes, at, numbers[random() % (sizeof numbers / sizeof *numbers)], 8); break;
    case 3: overwrite(bytes, at, numbers[random() % (sizeof numbers / sizeof *numbers)], 4); break;
    case 4: bytes->erase(at, n); break;
    case 5: bytes->insert(at, bytes->substr(random() % bytes->size(), n)); break;
    default:
        if (random() % 8 == 0) bytes->resize(at);
        break;
    }
}

TEST_CASE("random damage ends in success or a status", "[gguf]") {
    const uint64_t seed = 20240607;
    std::mt19937_64 random(seed);
    const std::string bytes = sample_file();
    INFO("seed " << seed);
    for (int round = 0; round < 300000; round++) {
        std::string changed = bytes;
        for (uint64_t n = 1 + random() % 4; n > 0; n--) mutate(&changed, random);
        run(changed);
    }
}

TEST_CASE("random bytes behind a good header end in a status", "[gguf]") {
    const uint64_t seed = 3;
    std::mt19937_64 random(seed);
    INFO("seed " << seed);
    for (int round = 0; round < 20000; round++) {
        raw_bytes b = raw_bytes().header(3, random() % 3, random() % 4);
        for (uint64_t n = random() % 40; n > 0; n--) {
            uint64_t small = random() % 14, width = random() % 3;
            if (width == 0) b.u32((uint32_t)small);
            if (width == 1) b.u64(small);
            if (width == 2) b.number((uint8_t)random());
        }
        run(b.bytes);
    }
}

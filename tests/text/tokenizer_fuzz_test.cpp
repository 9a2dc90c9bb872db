// Hostile vocabularies and texts with fixed seeds: nothing may crash, hang or break what tokenizer.h promises.
#include "test.h"
#include "text/tiny_vocabulary.h"
#include <chrono>
#include <cstdlib>
#include <random>

using namespace text_test;

int fuzz_tokenizer(const uint8_t *data, size_t size);

static double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Choices at random: those that count (1 to 5 bytes of two, few of them large) come often.
static std::string random_choices(std::mt19937_64 *random) {
    std::string bytes;
    size_t n = (*random)() % 3000;
    bytes.push_back(char((*random)() % 3));
    while (bytes.size() < n) bytes.push_back(char((*random)() % 3 ? (*random)() % 64 : (*random)()));
    return bytes;
}

static std::string damaged_file(std::mt19937_64 *random) {
    static const std::string files[] = {
        tiny_spm({{"\u2581", 1}, {"\u2581a", 1, -1}, {"<c>", 3}}),
        tiny_bpe({"a b", "\u0120 a"}, {{"<c>", 3}, {"<u>", 4}}),
        tiny_unigram({{"\u2581", 1, -1}, {"a", 1, -2}, {"<u>", 4}}, tiny_charsmap({{"A", "a"}, {"\t", " "}})),
        tiny_wordpiece({"\u2581a", "b", "\u2581,"}),
    };
    std::string file = files[(*random)() % std::size(files)];
    for (size_t n = (*random)() % 6; n > 0; n--) {
        size_t at = (*random)() % file.size();
        if ((*random)() % 4)
            file[at] = char(file[at] ^ 1 << (*random)() % 8);
        else
            file[at] = char((*random)());
    }
    std::string bytes("\3", 1);
    bytes.push_back(char(file.size() & 0xFF));
    bytes.push_back(char(file.size() >> 8 & 0xFF));
    return bytes + file + random_choices(random).substr(0, 200);
}

static void run(uint64_t seed) {
    std::mt19937_64 random(seed);
    std::string bytes = seed % 4 ? random_choices(&random) : damaged_file(&random);
    std::vector<uint8_t> exact(bytes.begin(), bytes.end()); // as large as the bytes: reads past the end are seen
    exact.shrink_to_fit();
    double begin = seconds();
    fuzz_tokenizer(exact.data(), exact.size());
    double took = seconds() - begin;
    INFO("seed " << seed << " took " << took << " s");
    if (took > 20) CHECK(took <= 20);
}

TEST_CASE("hostile vocabularies and texts end in ids or a status", "[text]") {
    for (uint64_t seed = 1; seed <= 3000; seed++) run(seed);
}

// Run by name, for LLM_FUZZ_SECONDS (600) from LLM_FUZZ_SEED (now) on. Says which seed it is at, so that a crash can be
// repeated.
TEST_CASE("hostile vocabularies and texts for ten minutes", "[.fuzz-tokenizer]") {
    const char *limit = getenv("LLM_FUZZ_SECONDS"), *first = getenv("LLM_FUZZ_SEED");
    uint64_t seed = first ? strtoull(first, nullptr, 10) : uint64_t(seconds() * 1e6), n = 0;
    double end = seconds() + (limit ? atof(limit) : 600);
    printf("seeds from %llu\n", (unsigned long long)seed);
    for (; seconds() < end; n++, seed++) {
        if (n % 1000 == 0) {
            printf("\r%llu", (unsigned long long)seed);
            fflush(stdout);
        }
        run(seed);
    }
    printf("\n%llu inputs\n", (unsigned long long)n);
}

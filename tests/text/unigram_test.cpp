#include "text/charsmap.h"
#include "text/conformance.h"
#include "text/tiny_vocabulary.h"
#include <cmath>
#include <limits>
#include <random>

using namespace llm;
using namespace text_test;

using ids = std::vector<int32_t>;

TEST_CASE("Unigram takes the segmentation with the best sum of scores", "[text]") {
    // Ids 3 4 5 6 7.
    tokenizer_ptr t = load_tokenizer(
        tiny_unigram({{"a", 1, -2}, {"b", 1, -2}, {"ab", 1, -3}, {"ba", 1, -1}, {"aba", 1, -3.5f}}, "", true, false));
    CHECK(encode(t.get(), "ab") == ids{5});
    CHECK(encode(t.get(), "aba") == ids{3, 6}); // -3, better than "aba" itself
    CHECK(encode(t.get(), "baba") == ids{6, 6});
    CHECK(encode(t.get(), "a", true) == ids{3, 1}); // EOS unless the file says otherwise
    // Unknown characters are one token together; a piece beside them is found all the same.
    CHECK(encode(t.get(), "xyaz") == ids{2, 3, 2});
    CHECK(encode(t.get(), "\xFF\xFE") == ids{2});
    CHECK(encode(t.get(), "") == ids{});
}

// The definition: all segmentations, their sums in double.
static double best_sum(const std::vector<tiny_token> &tokens, const std::string &text, double unknown) {
    std::vector<double> best(text.size() + 1, -1e300);
    best[0] = 0;
    for (size_t at = 0; at < text.size(); at++) {
        best[at + 1] = std::max(best[at + 1], best[at] + unknown);
        for (const tiny_token &token : tokens)
            if (text.compare(at, token.text.size(), token.text) == 0)
                best[at + token.text.size()] = std::max(best[at + token.text.size()], best[at] + token.score);
    }
    return best[text.size()];
}

TEST_CASE("no other segmentation has a better sum than Unigram's", "[text]") {
    constexpr unsigned seed = 11;
    INFO("seed " << seed);
    std::mt19937 random(seed);
    auto word = [&](size_t n) {
        std::string w;
        for (; n > 0; n--) w += char('a' + random() % 3);
        return w;
    };
    for (int round = 0; round < 200; round++) {
        std::vector<tiny_token> tokens{{"a", 1, -1.0f}, {"b", 1, -1.5f}, {"c", 1, -2.0f}};
        for (int i = 0; i < 12; i++) tokens.push_back({word(2 + random() % 3), 1, -0.125f * float(1 + random() % 40)});
        tokenizer_ptr t = load_tokenizer(tiny_unigram(tokens, "", true, false));
        std::string text = word(random() % 30);
        double sum = 0;
        std::string joined;
        for (int32_t id : encode(t.get(), text)) {
            joined += tokens[size_t(id - 3)].text;
            float best = -1e9f; // of equal texts the last one counts
            for (const tiny_token &token : tokens)
                if (token.text == tokens[size_t(id - 3)].text) best = token.score;
            sum += best;
        }
        CHECK(joined == text);
        std::vector<tiny_token> counted;
        for (size_t i = 0; i < tokens.size(); i++) {
            bool last = true;
            for (size_t j = i + 1; j < tokens.size(); j++) last &= tokens[j].text != tokens[i].text;
            if (last) counted.push_back(tokens[i]);
        }
        CHECK(sum == best_sum(counted, text, -100));
    }
}

TEST_CASE("Unigram normalises as its table says and keeps or removes spaces", "[text]") {
    std::string map = tiny_charsmap({{"A", "a"}, {"AA", "b"}, {"\t", " "}, {"\xC3\xA9", "e"}, {"x", ""}});
    std::vector<tiny_token> tokens{
        {"\u2581", 1, -2}, {"a", 1, -1}, {"b", 1, -1}, {"e", 1, -1}, {"\u2581\u2581", 1, -3}};
    tokenizer_ptr t = load_tokenizer(tiny_unigram(tokens, map));
    CHECK(encode(t.get(), "A\xC3\xA9") == ids{3, 4, 6});
    CHECK(encode(t.get(), "AAA") == ids{3, 5, 4}); // the longest prefix
    CHECK(encode(t.get(), "  a\t \tb \t") == ids{3, 4, 3, 5});
    CHECK(encode(t.get(), " \t ") == ids{});
    CHECK(encode(t.get(), "x") == ids{});
    CHECK(encode(t.get(), "axb") == ids{3, 4, 5});
    CHECK(decode(t.get(), encode(t.get(), " A b")) == "a b");
    tokenizer_ptr kept = load_tokenizer(tiny_unigram(tokens, map, false, false));
    CHECK(encode(kept.get(), " a  b ") == ids{3, 4, 7, 5, 3});
    CHECK(encode(kept.get(), " ") == ids{3});
}

TEST_CASE("Unigram falls back to bytes where the vocabulary has them", "[text]") {
    std::vector<tiny_token> tokens{{"a", 1, -1}};
    for (int byte = 0; byte < 256; byte++) {
        char text[8];
        snprintf(text, sizeof text, "<0x%02X>", unsigned(byte));
        tokens.push_back({text, 6});
    }
    tokenizer_ptr t = load_tokenizer(tiny_unigram(tokens, "", false, false));
    CHECK(encode(t.get(), "a\xC3\xA9z") == ids{3, 4 + 0xC3, 4 + 0xA9, 4 + 'z'});
    CHECK(decode(t.get(), encode(t.get(), "a\xC3\xA9z")) == "a\xC3\xA9z");
}

TEST_CASE("tables of normalisation that do not hold together are refused or do no harm", "[text]") {
    std::vector<tiny_token> tokens{{"a", 1, -1}};
    llm_error err{};
    for (const std::string &bytes : {std::string("abc"), std::string(4, '\xFF'), std::string(8, '\0'),
                                     std::string("\x04\0\0\0\0\0\0\0", 8), std::string("\x03\0\0\0abcd", 8)}) {
        load_tokenizer(tiny_unigram(tokens, bytes), nullptr, LLM_ERR_DAMAGED, &err);
        CHECK(std::string(err.message).find("precompiled_charsmap") != std::string::npos);
    }
    load_tokenizer(tiny_unigram(tokens, tiny_charsmap({{"a", std::string(300, 'a')}})), nullptr, LLM_ERR_DAMAGED, &err);
    CHECK(std::string(err.message).find("300 bytes") != std::string::npos);
    // Every unit leads back to itself, with any label: a circle; then one that points out of the array, and one whose
    // replacement lies outside.
    for (uint32_t offset : {0u, 1u << 10, 0x3FFFFFu << 10, 0x1FFu << 10 | 1u << 8, 1u << 9 | 1u << 30}) {
        std::string bytes("\0\4\0\0", 4);
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t unit = offset | i;
            bytes.append(reinterpret_cast<const char *>(&unit), 4);
        }
        tokenizer_ptr t = load_tokenizer(tiny_unigram(tokens, bytes + "x"));
        encode(t.get(), std::string(100000, 'a'));
        encode(t.get(), std::string(1000, '\0') + "a\xFF b");
    }
}

TEST_CASE("scores that are no numbers are refused", "[text]") {
    llm_error err{};
    for (float score : {NAN, INFINITY, -INFINITY, 1e30f}) {
        load_tokenizer(tiny_unigram({{"a", 1, -1}, {"b", 1, score}}), nullptr, LLM_ERR_DAMAGED, &err);
        CHECK(std::string(err.message).find("token 4") != std::string::npos);
    }
}

#include "text/conformance.h"
#include "text/tiny_vocabulary.h"

using namespace llm;
using namespace text_test;

using ids = std::vector<int32_t>;

static const std::vector<std::string> tokens{"\u2581un", "\u2581a", "aff",          "able",         "a",
                                             "\u2581,",  "\u2581e", "\u2581\u4E2D", "\u2581\u1112", "\u1161",
                                             "\u11AB",   "\u2581A", "\u2581i",      "\u2581\u00E9"};

TEST_CASE("WordPiece takes the longest token from the left, or the word is unknown", "[text]") {
    tokenizer_ptr t = load_tokenizer(tiny_wordpiece(tokens));
    CHECK(encode(t.get(), "unaffable") == ids{4, 6, 7});
    CHECK(encode(t.get(), "unaffix a") == ids{1, 5});
    CHECK(encode(t.get(), "aa", true) == ids{2, 5, 8, 3});
    CHECK(encode(t.get(), "", true) == ids{2, 3});
    CHECK(encode(t.get(), "[SEP]", false, true) == ids{3});
    CHECK(encode(t.get(), "[SEP]") == ids{1, 1, 1}); // brackets are words
    CHECK(encode(t.get(), std::string(100, 'a')).size() == 100);
    CHECK(encode(t.get(), std::string(101, 'a')) == ids{1});
    CHECK(encode(t.get(), "a\u2581a") == ids{1}); // the mark of beginnings is a character like others
}

TEST_CASE("WordPiece cleans the text as BERT does", "[text]") {
    tokenizer_ptr t = load_tokenizer(tiny_wordpiece(tokens));
    CHECK(encode(t.get(), "A,a") == ids{5, 9, 5});
    CHECK(encode(t.get(), "a\u3000\t\nA") == ids{5, 5});
    CHECK(encode(t.get(), "\u00C9e\u0301") == ids{1}); // "ee"
    CHECK(encode(t.get(), "\u00C9 e\u0301") == ids{10, 10});
    CHECK(encode(t.get(), "a\u4E2Da") == ids{5, 11, 5});
    CHECK(encode(t.get(), "\uD55C") == ids{12, 13, 14}); // a syllable is its letters
    CHECK(encode(t.get(), std::string("a\0\x0B\x7F\xFF\u200D\uE000", 11) + "a") == ids{5, 8});
    CHECK(encode(t.get(), "\u0130") == ids{16});
    tokenizer_ptr cased = load_tokenizer(tiny_wordpiece(tokens, false));
    CHECK(encode(cased.get(), "A a \u00E9") == ids{15, 5, 17});
}

#include "test.h"
#include "text/stop.h"
#include <algorithm>
#include <random>

using namespace llm;

struct outcome {
    std::string text;
    int32_t fired;
    bool operator==(const outcome &o) const { return text == o.text && fired == o.fired; }
};
static std::ostream &operator<<(std::ostream &out, const outcome &o) {
    return out << '"' << o.text << "\" " << o.fired;
}

static outcome run(const std::vector<std::string_view> &stops, const std::vector<std::string> &pieces) {
    stop_matcher m;
    stop_matcher_init(&m, stops.data(), stops.size());
    outcome o{"", -1};
    for (const std::string &piece : pieces) o.fired = stop_matcher_add(&m, piece, &o.text);
    stop_matcher_finish(&m, &o.text);
    return o;
}

// Byte by byte: the first end of any stop; of those that end there the longest, of equal ones the first.
static outcome by_definition(const std::vector<std::string_view> &stops, const std::string &text) {
    for (size_t end = 1; end <= text.size(); end++) {
        int32_t best = -1;
        for (size_t i = 0; i < stops.size(); i++) {
            bool ends_here = !stops[i].empty() && stops[i].size() <= end &&
                             std::string_view(text).substr(end - stops[i].size(), stops[i].size()) == stops[i];
            if (ends_here && (best < 0 || stops[i].size() > stops[size_t(best)].size())) best = int32_t(i);
        }
        if (best >= 0) return {text.substr(0, end - stops[size_t(best)].size()), best};
    }
    return {text, -1};
}

TEST_CASE("stop strings cut the text exactly before the match", "[text]") {
    CHECK(run({"STOP"}, {"abc ST", "OP def"}) == outcome{"abc ", 0});
    CHECK(run({"STOP"}, {"abc ST", "O", "X"}) == outcome{"abc STOX", -1});
    CHECK(run({"STOP"}, {"abc STO"}) == outcome{"abc STO", -1});
    CHECK(run({"x", "\n\n"}, {"a\n", "\nb"}) == outcome{"a", 1});
    CHECK(run({"abcd", "bc"}, {"abcd"}) == outcome{"a", 1}); // "bc" is complete first
    CHECK(run({"c", "abc", "bc"}, {"xabc"}) == outcome{"x", 1});
    CHECK(run({"aab"}, {"aaa", "ab"}) == outcome{"aa", 0});
    CHECK(run({"", "b"}, {"ab"}) == outcome{"a", 1});
    CHECK(run({}, {"ab", "c"}) == outcome{"abc", -1});
    CHECK(run({std::string_view("\0b", 2)}, {std::string("a\0", 2), "b"}) == outcome{"a", 0});
}

TEST_CASE("only what may still become a stop is held back", "[text]") {
    const std::string_view stops[] = {"</answer>", "END"};
    stop_matcher m;
    stop_matcher_init(&m, stops, 2);
    std::string out;
    CHECK(stop_matcher_add(&m, "a < b <", &out) == -1);
    CHECK(out == "a < b ");
    CHECK(stop_matcher_add(&m, "/a</", &out) == -1);
    CHECK(out == "a < b </a");
    CHECK(stop_matcher_add(&m, "ENDE", &out) == 1);
    CHECK(out == "a < b </a</");
    CHECK(stop_matcher_add(&m, "more", &out) == 1);
    stop_matcher_finish(&m, &out);
    CHECK(out == "a < b </a</");
    stop_matcher_reset(&m);
    out.clear();
    CHECK(stop_matcher_add(&m, "END", &out) == 1);
    CHECK(out.empty());
}

TEST_CASE("stops in any split of any text are those of the definition", "[text]") {
    constexpr unsigned seed = 13;
    INFO("seed " << seed);
    std::mt19937 random(seed);
    auto word = [&](size_t longest) {
        std::string w;
        for (size_t n = random() % (longest + 1); n > 0; n--) w.push_back(char('a' + random() % 3));
        return w;
    };
    for (int round = 0; round < 20000; round++) {
        std::vector<std::string> words;
        for (size_t n = random() % 4; n > 0; n--) words.push_back(word(5));
        std::vector<std::string_view> stops(words.begin(), words.end());
        std::string text = word(20);
        std::vector<std::string> pieces;
        for (size_t at = 0, n; at < text.size(); at += n) {
            n = std::min<size_t>(text.size() - at, random() % 4);
            pieces.push_back(text.substr(at, n));
        }
        outcome expected = by_definition(stops, text);
        if (!(run(stops, pieces) == expected)) CHECK(run(stops, pieces) == expected);
    }
}

TEST_CASE("a stop matcher does not allocate once its output has grown", "[text]") {
    const std::string_view stops[] = {"abcabcabd"};
    stop_matcher m;
    stop_matcher_init(&m, stops, 1);
    std::string out;
    out.reserve(64);
    const char *memory = out.data();
    size_t nodes = m.nodes.capacity();
    for (int i = 0; i < 1000; i++) {
        out.clear();
        stop_matcher_add(&m, "abcabcab", &out);
    }
    CHECK(out.data() == memory);
    CHECK(m.nodes.capacity() == nodes);
}

#include "text/conformance.h"
#include "text/tiny_vocabulary.h"
#include "text/utf8.h"
#include <algorithm>
#include <iterator>
#include <random>

using namespace llm;
using namespace text_test;

using ids = std::vector<int32_t>;

// Characters that pieces are made of, so that merges have something to begin with.
static std::vector<tiny_token> with_letters(const std::vector<tiny_token> &pieces) {
    std::vector<tiny_token> all;
    for (const char *letter : {"\u2581", "a", "b", "c"}) all.push_back({letter, 1, -100});
    all.insert(all.end(), pieces.begin(), pieces.end());
    return all;
}
enum { SPM = 259, SPACE = SPM, A, B, C, SPM_FIRST };

TEST_CASE("SentencePiece merges by score, then from the left", "[text]") {
    tokenizer_ptr t =
        load_tokenizer(tiny_spm(with_letters({{"ab", 1, -1}, {"bc", 1, -2}, {"aa", 1, -3}}), true, false));
    CHECK(encode(t.get(), "abc") == ids{SPM_FIRST, C});
    CHECK(encode(t.get(), "aaa") == ids{SPM_FIRST + 2, A});
    CHECK(encode(t.get(), "aab") == ids{A, SPM_FIRST}); // "ab" is better than the "aa" to its left
    tokenizer_ptr other = load_tokenizer(tiny_spm(with_letters({{"ab", 1, -2}, {"bc", 1, -1}}), true, false));
    CHECK(encode(other.get(), "abc") == ids{A, SPM_FIRST + 1});
}

TEST_CASE("SentencePiece puts one space before a text and takes it off again", "[text]") {
    tokenizer_ptr t = load_tokenizer(tiny_spm(with_letters({{"\u2581a", 1, -1}, {"x", 4}})));
    CHECK(encode(t.get(), "a") == ids{SPM_FIRST});
    CHECK(encode(t.get(), "a a") == ids{SPM_FIRST, SPM_FIRST});
    CHECK(encode(t.get(), "").empty());
    CHECK(encode(t.get(), "axa") == ids{SPM_FIRST, SPM_FIRST + 1, SPM_FIRST}); // after an added token too
    CHECK(encode(t.get(), "\u2581a") == ids{SPACE, SPM_FIRST});
    CHECK(encode(t.get(), "a", true) == ids{1, SPM_FIRST});
    for (const char *text : {"a", " a", "  a", "", "a a ", "b", " "}) {
        CHECK(decode(t.get(), encode(t.get(), text)) == text);
        CHECK(decode(t.get(), encode(t.get(), text, true)) == text);
    }
    CHECK(decode(t.get(), encode(t.get(), "a", true), true) == "<s> a");
    tokenize_options goes_on;
    goes_on.continues = true;
    ids more;
    CHECK(tokenize(t.get(), "a", &goes_on, &more, nullptr) == LLM_OK);
    CHECK(more == ids{A});
    tokenizer_ptr plain = load_tokenizer(tiny_spm(with_letters({}), true, false));
    CHECK(encode(plain.get(), "a") == ids{A});
    CHECK(decode(plain.get(), {SPACE, A}) == " a");
}

TEST_CASE("characters without a piece are bytes, else the unknown token, else nothing", "[text]") {
    tokenizer_ptr t = load_tokenizer(tiny_spm(with_letters({}), true, false));
    CHECK(encode(t.get(), "a\u00E9") == ids{A, 3 + 0xC3, 3 + 0xA9});
    CHECK(encode(t.get(), std::string_view("\0\xFF\xE2\x82", 4)) == ids{3, 3 + 0xFF, 3 + 0xE2, 3 + 0x82});
    tokenizer_ptr bare = load_tokenizer(tiny_spm(with_letters({}), false, false));
    CHECK(encode(bare.get(), "a\u00E9\u00E8b\u00E9") == ids{4, 0, 5, 0});
    CHECK(decode(bare.get(), {4, 0, 5}) == "ab");
    tokenizer_ptr bpe = load_tokenizer(tiny_bpe({}));
    CHECK(encode(bpe.get(), "\u00E9") == ids{0xC3, 0xA9});
}

TEST_CASE("byte-level merges go by rank, then from the left", "[text]") {
    tokenizer_ptr t = load_tokenizer(tiny_bpe({"a b", "b c", "ab c", "a a", "aa aa"}));
    CHECK(encode(t.get(), "abc") == ids{258});
    CHECK(encode(t.get(), "aabc") == ids{'a', 258});
    CHECK(encode(t.get(), "aaaaa") == ids{260, 'a'});
    CHECK(encode(t.get(), "bcb") == ids{257, 'b'});
    CHECK(encode(t.get(), "a b") == ids{'a', ' ', 'b'}); // never across words
}

// The definition, without any of the means to be fast: merge the best pair until there is none.
static ids merge_slowly(ids symbols, const std::vector<std::string> &merges, const tokenizer *t) {
    for (;;) {
        size_t best = symbols.size(), best_rank = merges.size();
        for (size_t i = 0; i + 1 < symbols.size(); i++)
            for (size_t rank = 0; rank < best_rank; rank++) {
                size_t space = merges[rank].find(' ', 1);
                if (tokenizer_find(t, merges[rank].substr(0, space)) == symbols[i] &&
                    tokenizer_find(t, merges[rank].substr(space + 1)) == symbols[i + 1]) {
                    best = i;
                    best_rank = rank;
                }
            }
        if (best == symbols.size()) return symbols;
        symbols[best] = 256 + int32_t(best_rank);
        symbols.erase(symbols.begin() + ptrdiff_t(best) + 1);
    }
}

TEST_CASE("merging short and long words is merging by definition", "[text]") {
    constexpr unsigned seed = 7;
    INFO("seed " << seed);
    std::mt19937 random(seed);
    for (int round = 0; round < 60; round++) {
        std::vector<std::string> parts{"a", "b", "c"}, merges;
        for (int i = 0; i < 12; i++) {
            std::string left = parts[random() % parts.size()], right = parts[random() % parts.size()];
            if (std::find(parts.begin(), parts.end(), left + right) != parts.end()) continue;
            parts.push_back(left + right);
            merges.push_back(left + " " + right);
        }
        tokenizer_ptr t = load_tokenizer(tiny_bpe(merges));
        for (size_t n : {1u, 2u, 5u, 31u, 32u, 33u, 34u, 100u}) {
            std::string word;
            ids letters;
            for (size_t i = 0; i < n; i++) {
                word.push_back(char('a' + random() % 3));
                letters.push_back(word.back());
            }
            CHECK(encode(t.get(), word) == merge_slowly(letters, merges, t.get()));
        }
    }
}

TEST_CASE("words seen before in a long text get the ids they get alone", "[text]") {
    std::vector<std::string> merges{"a b", "b a", "\u0120 a", "\u0120a b", "c c"};
    tokenizer_ptr t = load_tokenizer(tiny_bpe(merges));
    constexpr unsigned seed = 11;
    INFO("seed " << seed);
    std::mt19937 random(seed);
    std::string text;
    ids expected;
    for (int i = 0; i < 3000; i++) {
        std::string word = " ";
        for (size_t n = 1 + random() % 4; n > 0; n--) word.push_back(char('a' + random() % 3));
        ids alone = encode(t.get(), word);
        text += word;
        expected.insert(expected.end(), alone.begin(), alone.end());
    }
    CHECK(encode(t.get(), text) == expected);
}

TEST_CASE("text never becomes a control token unless asked; user-defined tokens always do", "[text]") {
    std::vector<tiny_token> added{{"<c>", 3}, {"<c>d", 3}, {"<u>", 4}, {"<u>c>", 4}, {"<|im_end|>", 4}};
    for (const std::string &file : {tiny_bpe({}, added), tiny_spm(added, true, false)}) {
        tokenizer_ptr t = load_tokenizer(file);
        int32_t first = tokenizer_find(t.get(), "<c>");
        CHECK(encode(t.get(), "<c>", false, true) == ids{first});
        CHECK(encode(t.get(), "<c>d<c>", false, true) == ids{first + 1, first}); // the longest first
        CHECK(encode(t.get(), "<u><u>c>") == ids{first + 2, first + 3});
        CHECK(encode(t.get(), "<u>c", false, true) == ids{first + 2, encode(t.get(), "c")[0]});
        // Stored as user-defined, but it ends turns: it counts as control.
        CHECK(tokenizer_is_control(t.get(), first + 4));
        CHECK(tokenizer_is_eog(t.get(), first + 4));
        for (const tiny_token &token : added)
            for (int32_t id : encode(t.get(), token.text + "x" + token.text)) CHECK(!tokenizer_is_control(t.get(), id));
        CHECK(tokenizer_piece(t.get(), first, false).empty());
        CHECK(tokenizer_piece(t.get(), first, true) == "<c>");
        CHECK(decode(t.get(), {first, first + 2, first + 4}) == "<u>");
        CHECK(tokenizer_piece(t.get(), -1, true).empty());
        CHECK(tokenizer_piece(t.get(), 1 << 30, true).empty());
        CHECK(!tokenizer_is_eog(t.get(), 1 << 30));
        CHECK(tokenizer_find(t.get(), "<nothing>") == -1);
    }
}

TEST_CASE("byte-level vocabularies give every byte string back", "[text]") {
    tokenizer_ptr t = load_tokenizer(tiny_bpe({"\u00E2 \u0124", "\u00C3 \u00A9"}, {}, "llama-bpe"));
    constexpr unsigned seed = 3;
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const std::string_view parts[] = {"a",
                                      " ",
                                      "\n",
                                      "\u00E9",
                                      "\u20AC",
                                      "\U0001F600",
                                      "\xE2\x82",
                                      "\xF0\x9F",
                                      "\xFF",
                                      "\xC0\x80",
                                      "\xED\xA0\x80",
                                      "\xF4\x90\x80\x80",
                                      std::string_view("\0", 1),
                                      "'s"};
    for (int round = 0; round < 2000; round++) {
        std::string text;
        for (size_t n = random() % 8; n > 0; n--) text += parts[random() % std::size(parts)];
        CHECK(decode(t.get(), encode(t.get(), text)) == text);
    }
    CHECK(encode(t.get(), "a\xFF\xFE b") == ids{'a', 0xFF, 0xFE, ' ', 'b'});
}

static std::string as_whole_characters(std::string_view bytes) {
    std::string text;
    for (const char *at = bytes.data(), *end = at + bytes.size(); at != end;) {
        utf8_char c = utf8_next(at, end);
        utf8_append(&text, c.code);
        at += c.n;
    }
    return text;
}

TEST_CASE("a stream gives whole characters, and joined it is the whole text", "[text]") {
    tokenizer_ptr bpe = load_tokenizer(tiny_bpe({"\u00E2 \u0124", "a b"}, {{"<c>", 3}, {"<u\u00E9>", 4}}));
    tokenizer_ptr spm = load_tokenizer(tiny_spm({{"\u2581", 1}, {"\u2581a", 1}, {"\u00E9", 1}}));
    constexpr unsigned seed = 5;
    INFO("seed " << seed);
    std::mt19937 random(seed);
    // Bytes that lead and follow come often, so that characters form, break and end early.
    const int32_t lively[] = {0xE2, 0x82, 0xAC, 0xF0, 0x9F, 0x98, 0x80, 0xC3, 0xA9, 0xED, 0xA0, 0xF4, 0x90, 0x8F, 'a'};
    for (int round = 0; round < 20000; round++) {
        const tokenizer *t = round % 2 ? bpe.get() : spm.get();
        int32_t first_byte = round % 2 ? 0 : 3, n_tokens = int32_t(tokenizer_n_tokens(t));
        ids sequence;
        for (size_t n = random() % 12; n > 0; n--)
            sequence.push_back(random() % 4 ? first_byte + lively[random() % std::size(lively)]
                                            : int32_t(random() % uint32_t(n_tokens + 3)) - 1);
        detok_stream stream;
        stream.vocab = t;
        stream.show_control = random() % 2;
        std::string text, piece;
        for (int32_t id : sequence) {
            piece.clear();
            detok_stream_add(&stream, id, &piece);
            REQUIRE(utf8_well_formed_prefix(piece) == piece.size());
            REQUIRE(stream.n_held < 4);
            text += piece;
        }
        detok_stream_finish(&stream, &text);
        if (text != as_whole_characters(decode(t, sequence, stream.show_control)))
            CHECK(text == as_whole_characters(decode(t, sequence, stream.show_control)));
    }
}

TEST_CASE("bytes that can never complete do not hold a stream up", "[text]") {
    tokenizer_ptr t = load_tokenizer(tiny_bpe({}));
    detok_stream stream;
    stream.vocab = t.get();
    std::string text;
    for (int32_t id : {0xE2, 0x82}) detok_stream_add(&stream, id, &text);
    CHECK(text.empty());
    detok_stream_add(&stream, 'x', &text);
    CHECK(text == "\uFFFDx");
    for (int i = 0; i < 5; i++) detok_stream_add(&stream, 0x80, &text);
    CHECK(text == "\uFFFDx\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD");
    detok_stream_add(&stream, 0xF0, &text);
    size_t before = text.size();
    detok_stream_finish(&stream, &text);
    CHECK(text.substr(before) == "\uFFFD");
    detok_stream_finish(&stream, &text);
    CHECK(text.size() == before + 3);
}

// ------------------------------------------------------------------ files that are wrong

static llm_status load_status(const metadata &m, std::string *message) {
    llm_error err{};
    gguf_file file;
    std::string bytes = gguf_of(m);
    REQUIRE(gguf_open_source(file_from_memory(bytes.data(), bytes.size()), &file, &err) == LLM_OK);
    tokenizer *t = nullptr;
    llm_status status = tokenizer_load(&file, nullptr, nullptr, &t, &err);
    gguf_close(&file);
    CHECK((t != nullptr) == (status == LLM_OK));
    tokenizer_free(t);
    *message = err.message;
    return status;
}

TEST_CASE("vocabularies that do not hold together are refused with the reason", "[text]") {
    const std::vector<std::string> three{"a", "b", "c"};
    auto spm = [](const char *model) {
        metadata m;
        set(&m, "tokenizer.ggml.model", model);
        return m;
    };
    std::string message;
    CHECK(load_status(metadata(), &message) == LLM_ERR_UNSUPPORTED);
    CHECK(load_status(spm("llama"), &message) == LLM_ERR_DAMAGED);
    CHECK(message.find("tokenizer.ggml.tokens") != std::string::npos);
    metadata m = spm("llama");
    set(&m, "tokenizer.ggml.tokens", std::vector<int32_t>{1, 2});
    CHECK(load_status(m, &message) == LLM_ERR_DAMAGED);
    m = spm("llama");
    set(&m, "tokenizer.ggml.tokens", three);
    CHECK(load_status(m, &message) == LLM_ERR_DAMAGED);
    CHECK(message.find("tokenizer.ggml.scores") != std::string::npos);
    set(&m, "tokenizer.ggml.scores", std::vector<float>{1, 2});
    CHECK(load_status(m, &message) == LLM_ERR_DAMAGED);
    m = spm("gpt2");
    set(&m, "tokenizer.ggml.tokens", three);
    CHECK(load_status(m, &message) == LLM_ERR_DAMAGED);
    CHECK(message.find("tokenizer.ggml.merges") != std::string::npos);
    set(&m, "tokenizer.ggml.merges", std::vector<std::string>{"a b", "", " ", "a", "x y", "a  b", "b c "});
    set(&m, "tokenizer.ggml.token_type", std::vector<int32_t>{-5, 99, 1});
    set(&m, "tokenizer.ggml.bos_token_id", uint32_t(77));
    set(&m, "tokenizer.ggml.eos_token_id", "two");
    CHECK(load_status(m, &message) == LLM_OK); // odd, but usable: what is wrong is ignored
    m = spm("llama");
    set(&m, "tokenizer.ggml.tokens", three);
    set(&m, "tokenizer.ggml.token_type", std::vector<int32_t>{1});
    CHECK(load_status(m, &message) == LLM_ERR_DAMAGED);
    CHECK(message.find("3 numbers") != std::string::npos);
}

TEST_CASE("empty, equal and odd tokens do no harm", "[text]") {
    tokenizer_ptr t =
        load_tokenizer(tiny_spm({{"", 4}, {"", 3}, {"", 1}, {"a", 1, 1}, {"a", 1, 2}, {"<0xZZ>", 6}, {"\xFF", 1}}));
    CHECK(encode(t.get(), "a\xFF", false, true).size() >= 2);
    CHECK(tokenizer_find(t.get(), "a") == SPM + 4);
    CHECK(tokenizer_special(t.get())->bos == 1);
}

TEST_CASE("white space beside a special token belongs to it where its own tokenizer strips it", "[text]") {
    std::vector<tiny_token> added{{"<mask>", 3}, {"<c>", 3}};
    tokenizer_ptr roberta = load_tokenizer(tiny_bpe({}, added, "roberta-bpe"));
    CHECK(encode(roberta.get(), "a \u3000\n<mask> b", false, true) == ids{'a', 256, ' ', 'b'});
    CHECK(encode(roberta.get(), "a <c> b", false, true) == ids{'a', ' ', 257, ' ', 'b'});
    CHECK(encode(roberta.get(), " <mask>\xE3\x80<mask>", false, true) == ids{256, 0xE3, 0x80, 256});
    CHECK(encode(roberta.get(), "a <mask>") == encode(load_tokenizer(tiny_bpe({}, added)).get(), "a <mask>"));
    tokenizer_ptr gpt2 = load_tokenizer(tiny_bpe({}, added, "gpt-2"));
    CHECK(encode(gpt2.get(), "a <mask> b", false, true) == ids{'a', ' ', 256, ' ', 'b'});
}

TEST_CASE("merging never makes a control token", "[text]") {
    tokenizer_ptr t = load_tokenizer(tiny_bpe({"a b", "ab c"}, {{"ab", 3}, {"abc", 4}, {"<|im_end|>", 4}}));
    for (int32_t id : encode(t.get(), "abc ab aab")) CHECK(!tokenizer_is_control(t.get(), id));
    CHECK(encode(t.get(), "ab", false, true) == ids{258});
}

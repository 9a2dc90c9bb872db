// What holds for every vocabulary of the conformance data, whatever the text.
#include "text/conformance.h"
#include "text/nfc.h"
#include "text/utf8.h"
#include <random>

using namespace llm;
using namespace text_test;

// Unknown text is the unknown token in some vocabularies: that is no forgery.
static bool has_control(const tokenizer *t, const std::vector<int32_t> &ids) {
    for (int32_t id : ids)
        if (tokenizer_is_control(t, id) && id != tokenizer_special(t)->unk) return true;
    return false;
}

TEST_CASE("content that spells the control tokens of a vocabulary yields no control id", "[text]") {
    if (!have_test_data("vocab")) return;
    for (const std::string &name : vocabulary_names()) {
        tokenizer_ptr t = load_vocabulary(name);
        std::string all;
        size_t n = 0, found = 0;
        for (int32_t id = 0; id < int32_t(tokenizer_n_tokens(t.get())); id++) {
            if (!tokenizer_is_control(t.get(), id)) continue;
            std::string text(tokenizer_piece(t.get(), id, true));
            INFO(name << " " << id << " " << text);
            if (has_control(t.get(), encode(t.get(), text)) || has_control(t.get(), encode(t.get(), "x" + text + " y")))
                CHECK(false);
            std::vector<int32_t> parsed = encode(t.get(), text, false, true);
            found += !parsed.empty() && parsed.back() == id;
            all += text + (n++ % 2 ? " " : "");
        }
        INFO(name);
        CHECK(n > 0);
        CHECK(found == n);
        CHECK(!has_control(t.get(), encode(t.get(), all)));
        CHECK(!has_control(t.get(), encode(t.get(), all + all)));
    }
}

static std::string random_text(std::mt19937 *random, size_t n_parts) {
    static const char *const parts[] = {"a",      "b ",       " ",      "  ",     "\n",         "1",    "23",
                                        "\u00E9", "e\u0301",  "\u4E2D", "\uD55C", "\U0001F600", "\xFF", "\xE4\xB8",
                                        "\u2581", "<",        "</s>",   "[SEP]",  "'s",         "The",  "\u0E01\u0E34",
                                        "\t",     "\xC0\x80", "hello",  "_",      "{\"a\":"};
    std::string text;
    for (; n_parts > 0; n_parts--)
        if ((*random)() % 16)
            text += parts[(*random)() % std::size(parts)];
        else
            text += char((*random)());
    return text;
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

static std::string streamed(const tokenizer *t, const std::vector<int32_t> &ids, bool show_control) {
    detok_stream stream;
    stream.vocab = t;
    stream.show_control = show_control;
    std::string text;
    for (int32_t id : ids) detok_stream_add(&stream, id, &text);
    detok_stream_finish(&stream, &text);
    return text;
}

TEST_CASE("streamed pieces joined are the detokenised text, with every vocabulary", "[text]") {
    if (!have_test_data("vocab")) return;
    constexpr unsigned seed = 21;
    INFO("seed " << seed);
    std::mt19937 random(seed);
    for (const std::string &name : vocabulary_names()) {
        tokenizer_ptr t = load_vocabulary(name);
        INFO(name);
        for (int round = 0; round < 300; round++) {
            std::vector<int32_t> ids = encode(t.get(), random_text(&random, random() % 40));
            if (round % 2) // any ids
                for (int32_t &id : ids) id = int32_t(random() % tokenizer_n_tokens(t.get()));
            bool show = round % 3 == 0;
            CHECK(streamed(t.get(), ids, show) == as_whole_characters(decode(t.get(), ids, show)));
        }
    }
}

// Bytes that the vocabulary has no token for: falcon lacks some controls, all lack bytes that UTF-8 never has.
static std::string expressible(const tokenizer *t, const std::string &text) {
    std::string kept;
    for (char byte : text)
        if (!encode(t, std::string(1, byte)).empty()) kept += byte;
    return kept;
}

TEST_CASE("published byte-level vocabularies give every byte back that they have a token for", "[text]") {
    if (!have_test_data("vocab")) return;
    constexpr unsigned seed = 22;
    INFO("seed " << seed);
    std::mt19937 random(seed);
    for (const std::string &name : vocabulary_names()) {
        bool other = name.find("spm") != std::string::npos || name.find("ugm") != std::string::npos;
        for (const char *kind : {"phi-3", "baichuan", "mistral-v1", "gemma3", "gemma3-as-gemma4", "bert-bge"})
            other |= name == kind;
        if (other) continue;
        bool nfc = name == "qwen3" || name == "mpt" || name == "gpt-neox";
        tokenizer_ptr t = load_vocabulary(name);
        for (int round = 0; round < 200; round++) {
            std::string text = random_text(&random, random() % 60);
            for (size_t at; nfc && (at = text.find("\u0301")) != std::string::npos;)
                text.erase(at, 2); // it would compose
            INFO(name << " " << to_hex(text));
            std::string decoded = decode(t.get(), encode(t.get(), text));
            CHECK((decoded == text || decoded == expressible(t.get(), text)));
        }
    }
}

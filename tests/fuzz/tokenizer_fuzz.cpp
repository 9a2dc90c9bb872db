// Any bytes as a vocabulary and a text. The first byte says how: as a GGUF file, or as choices that make the metadata
// of one, so that most inputs load. Driven by the tests with fixed seeds; with -DLLM_FUZZER it is an entry for
// libFuzzer.
#include "text/tiny_vocabulary.h"
#include "text/tokenizer.h"
#include "text/pretokenizer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

using namespace llm;
using namespace text_test;

namespace {
struct source { // 0 when it is used up
    const uint8_t *at, *end;
    uint8_t byte() { return at < end ? *at++ : 0; }
    uint32_t number(uint32_t below) { return below ? (byte() | uint32_t(byte()) << 8) % below : 0; }
    std::string bytes(size_t n) {
        n = n < size_t(end - at) ? n : size_t(end - at);
        std::string s(reinterpret_cast<const char *>(at), n);
        at += n;
        return s;
    }
};
} // namespace

// Short texts over few letters, so that they meet in merges, tries and inputs.
static std::string some_text(source *s) {
    static const char *const words[] = {
        "a",      "b",    "ab",     " ",          "\u2581",     "\u2581a", "\u0120",   "\u0120a",      "\n",  "<0x0A>",
        "<0xFF>", "</s>", "<s>",    "<|im_end|>", "\u00E9",     "e\u0301", "\u4E2D",   "\uD55C",       "##a", "[UNK]",
        "1",      "\xFF", "\u00C3", "\u0130",     "\U0001F600", "'s",      "aaaaaaaa", "\u0301\u0316", ""};
    constexpr uint32_t n_words = sizeof words / sizeof *words;
    std::string text;
    for (uint32_t n = s->number(4) + 1; n > 0; n--) {
        uint32_t which = s->number(n_words + 1);
        text += which < n_words ? words[which] : s->bytes(s->number(6));
    }
    return text;
}

static std::string some_charsmap(source *s) {
    if (s->byte() & 1) return s->bytes(s->number(600));
    uint32_t n_units = 256 << s->number(3);
    std::string map(4, '\0');
    uint32_t n_bytes = s->byte() & 7 ? n_units * 4 : s->number(5000);
    memcpy(&map[0], &n_bytes, 4);
    uint32_t shape[4];
    for (uint32_t &part : shape) part = s->number(65536) | uint32_t(s->byte()) << 24 | uint32_t(s->byte()) << 16;
    for (uint32_t i = 0; i < n_units; i++) { // labels that match, offsets that lead near and far
        uint32_t unit = (i & 0xFF) | ((shape[i % 4] ^ i) << 10 & ~(1u << 31)) | (shape[i % 3] >> (i % 7) & 1) << 8;
        map.append(reinterpret_cast<const char *>(&unit), 4);
    }
    return map + s->bytes(s->number(64)) + std::string("x\0y", s->number(4));
}

static float some_score(source *s) {
    uint32_t bits = s->number(65536) << 16;
    float score;
    memcpy(&score, &bits, 4);
    return s->byte() & 15 ? -float(s->byte()) / 8 : score;
}

static void set_odd_ids(metadata *m, source *s) {
    for (const char *key : {"bos", "eos", "unknown", "padding", "seperator", "eot", "cls"})
        if (s->byte() & 1)
            set(m, std::string("tokenizer.ggml.") + key + "_token_id",
                uint32_t(s->byte() & 1 ? s->byte() : ~0u - s->byte()));
    for (const char *key : {"add_bos_token", "add_eos_token", "add_sep_token", "add_space_prefix",
                            "remove_extra_whitespaces", "normalizer.lowercase", "normalizer.strip_accents"})
        if (s->byte() & 1) set(m, std::string("tokenizer.ggml.") + key, bool(s->byte() & 1));
}

static std::string some_vocabulary(source *s) {
    static const char *const models[] = {"llama", "gpt2", "gemma4", "t5", "bert"};
    metadata m;
    std::string model = models[s->number(5)];
    set(&m, "general.architecture", s->byte() & 1 ? "llama" : s->byte() & 1 ? "phi3" : "qwen2");
    set(&m, "tokenizer.ggml.model", model);
    size_t n_rows = 0;
    while (pre_at(n_rows)) n_rows++;
    set(&m, "tokenizer.ggml.pre", model == "gemma4" ? "gemma4" : pre_at(s->number(uint32_t(n_rows)))->name);
    std::vector<std::string> texts, merges;
    std::vector<int32_t> types;
    std::vector<float> scores;
    for (uint32_t n = s->number(80) + 1; n > 0; n--) {
        texts.push_back(some_text(s));
        types.push_back(s->byte() & 3 ? 1 : int32_t(s->byte()) % 9 - 1);
        scores.push_back(some_score(s));
    }
    for (uint32_t n = s->number(60); n > 0; n--)
        merges.push_back(s->byte() & 7
                             ? texts[s->number(uint32_t(texts.size()))] + " " + texts[s->number(uint32_t(texts.size()))]
                             : some_text(s));
    if (!(s->byte() & 15)) types.resize(s->number(100));
    if (!(s->byte() & 15)) scores.resize(s->number(100));
    set(&m, "tokenizer.ggml.tokens", texts);
    set(&m, "tokenizer.ggml.token_type", types);
    set(&m, "tokenizer.ggml.scores", scores);
    set(&m, "tokenizer.ggml.merges", merges);
    if (s->byte() & 1) set_bytes(&m, "tokenizer.ggml.precompiled_charsmap", some_charsmap(s));
    set_odd_ids(&m, s);
    return gguf_of(m);
}

static std::string some_input(source *s) {
    std::string text;
    for (uint32_t n = s->number(30); n > 0; n--) text += some_text(s);
    if (s->byte() & 1) text += s->bytes(size_t(s->end - s->at));
    if (uint32_t times = s->byte() & 7 ? 1 : s->number(500); times > 1) { // long runs
        std::string unit = text.substr(0, 40);
        while (--times > 0) text += unit;
    }
    return text;
}

static void require(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

// What tokenizer.h promises of any vocabulary and text.
static void check_text(const tokenizer *t, std::string_view text, int flags) {
    tokenize_options options;
    options.add_special = flags & 1;
    options.parse_special = flags & 2;
    options.continues = flags & 4;
    std::vector<int32_t> ids;
    llm_error err = {};
    if (tokenize(t, text, &options, &ids, &err) != LLM_OK) {
        require(err.message[0] && ids.empty(), "a failure says what failed and changes nothing");
        return;
    }
    for (int32_t id : ids) {
        require(id >= 0 && size_t(id) < tokenizer_n_tokens(t), "ids are in range");
        bool unasked = !options.add_special && !options.parse_special && id != tokenizer_special(t)->unk;
        require(!unasked || !tokenizer_is_control(t, id), "text never becomes a control token");
    }
    std::string whole, joined, shown;
    detokenize(t, ids.data(), ids.size(), false, &whole);
    detokenize(t, ids.data(), ids.size(), true, &shown);
    detok_stream stream;
    stream.vocab = t;
    for (int32_t id : ids) detok_stream_add(&stream, id, &joined);
    detok_stream_finish(&stream, &joined);
    require(joined.size() <= 3 * whole.size() && joined.empty() == whole.empty(), "streamed is detokenised");
}

int fuzz_tokenizer(const uint8_t *data, size_t size) {
    source s{data, data + size};
    bool is_file = s.byte() % 4 == 3;
    std::string bytes = is_file ? s.bytes(s.number(65536)) : some_vocabulary(&s);
    gguf_file file;
    llm_error err = {};
    tokenizer *t = nullptr;
    if (gguf_open_source(file_from_memory(bytes.data(), bytes.size()), &file, &err) == LLM_OK) {
        llm_status status = tokenizer_load(&file, "gpt-2", nullptr, &t, &err);
        require(status == LLM_OK || (err.code == status && err.message[0] && !t), "a failure says what failed");
    }
    gguf_close(&file);
    if (!t) return 0;
    std::string text = some_input(&s);
    for (int flags = 0; flags < 8; flags++) check_text(t, text, flags);
    tokenizer_free(t);
    return 0;
}

#if defined(LLM_FUZZER)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_tokenizer(data, size); }
#endif

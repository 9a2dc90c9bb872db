// Conversations with a model whose answers are known: it has no attention, and each token is followed by the one that a
// script says.
#include "run/chat.h"
#include "run/library.h"
#include "temporary.h"
#include "text/byte_letters.h"

using namespace llm_test;
using namespace llm;

namespace {

// Added tokens; 0 to 255 are the bytes.
enum { IM_START = 256, IM_END, THINK_BEGIN, THINK_END, N_VOCAB };

std::string byte_letter(int byte) {
    uint16_t u = letters.letter_of[size_t(byte)];
    if (u < 0x80) return std::string(1, char(u));
    return {char(0xC0 | u >> 6), char(0x80 | (u & 63))};
}

void write_vocabulary(gguf_writer *w, const std::string &chat_template) {
    std::vector<std::string> texts;
    for (int b = 0; b < 256; b++) texts.push_back(byte_letter(b));
    for (const char *added : {"<|im_start|>", "<|im_end|>", "<think>", "</think>"}) texts.push_back(added);
    std::vector<int32_t> types(N_VOCAB, 1);
    types[IM_START] = types[IM_END] = 3;
    types[THINK_BEGIN] = types[THINK_END] = 4;
    gguf_writer_set_string(w, "tokenizer.ggml.model", "gpt2");
    gguf_writer_set_string(w, "tokenizer.ggml.pre", "qwen2");
    gguf_writer_set_strings(w, "tokenizer.ggml.tokens", texts);
    gguf_writer_set_i32s(w, "tokenizer.ggml.token_type", types);
    gguf_writer_set_strings(w, "tokenizer.ggml.merges", {});
    gguf_writer_set_u32(w, "tokenizer.ggml.eos_token_id", IM_END);
    gguf_writer_set_string(w, "tokenizer.chat_template", chat_template);
}

// Rows of the embedding are unit vectors, row b of the output is that of the token which b follows; all else is zero.
std::string scripted_model(const temporary_folder &folder, const std::vector<int32_t> &script,
                           const char *chat_template) {
    const uint64_t vocab[] = {N_VOCAB, N_VOCAB}, square[] = {N_VOCAB, N_VOCAB}, norm[] = {N_VOCAB},
                   head[] = {N_VOCAB, 4};
    std::vector<float> unit(N_VOCAB * N_VOCAB, 0.f), next(unit), zero(unit), ones(N_VOCAB, 1.f);
    for (size_t i = 0; i < N_VOCAB; i++) unit[i * N_VOCAB + i] = 1;
    for (size_t i = 0; i + 1 < script.size(); i++) next[size_t(script[i + 1]) * N_VOCAB + size_t(script[i])] = 1;
    gguf_writer *w = nullptr;
    REQUIRE(gguf_writer_open((folder / "scripted.gguf").c_str(), &w, nullptr) == LLM_OK);
    gguf_writer_set_string(w, "general.architecture", "llama");
    for (auto number : {std::make_pair("block_count", 1),
                        {"context_length", 512},
                        {"embedding_length", (int)N_VOCAB},
                        {"feed_forward_length", 4},
                        {"attention.head_count", 1},
                        {"attention.key_length", 4},
                        {"attention.value_length", 4}})
        gguf_writer_set_u32(w, std::string("llama.") + number.first, (uint32_t)number.second);
    gguf_writer_set_f32(w, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    write_vocabulary(w, chat_template);
    struct tensor {
        const char *name;
        uint32_t n_dims;
        const uint64_t *shape;
        const std::vector<float> *values;
    };
    const uint64_t down[] = {4, N_VOCAB};
    const tensor tensors[] = {{"token_embd.weight", 2, vocab, &unit},       {"output.weight", 2, square, &next},
                              {"output_norm.weight", 1, norm, &ones},       {"blk.0.attn_norm.weight", 1, norm, &ones},
                              {"blk.0.ffn_norm.weight", 1, norm, &ones},    {"blk.0.attn_q.weight", 2, head, &zero},
                              {"blk.0.attn_k.weight", 2, head, &zero},      {"blk.0.attn_v.weight", 2, head, &zero},
                              {"blk.0.attn_output.weight", 2, down, &zero}, {"blk.0.ffn_gate.weight", 2, head, &zero},
                              {"blk.0.ffn_up.weight", 2, head, &zero},      {"blk.0.ffn_down.weight", 2, down, &zero}};
    for (const tensor &t : tensors) gguf_writer_add_tensor(w, t.name, FORMAT_F32, t.n_dims, t.shape);
    REQUIRE(gguf_writer_begin_data(w, nullptr) == LLM_OK);
    for (const tensor &t : tensors) {
        uint64_t n = t.n_dims == 1 ? t.shape[0] : t.shape[0] * t.shape[1];
        REQUIRE(gguf_writer_write(w, t.values->data(), n * sizeof(float), nullptr) == LLM_OK);
    }
    REQUIRE(gguf_writer_finish(w, nullptr) == LLM_OK);
    return folder / "scripted.gguf";
}

struct conversation {
    model *m = nullptr;
    chat *c = nullptr;
    conversation(const std::string &path) {
        gguf_file file;
        llm_error err = {};
        expect_ok(gguf_open(path.c_str(), &file, &err), err);
        model_load_options load;
        expect_ok(model_load(&file, &load, &m, &err), err);
        chat_options options;
        options.context.n_ctx = 256;
        expect_ok(chat_create(m, &options, &c, &err), err);
    }
    ~conversation() {
        chat_free(c);
        model_release(m);
    }
    llm_result send(const char *text) {
        llm_result result = {};
        llm_error err = {};
        expect_ok(chat_send(c, text, nullptr, nullptr, &result, &err), err);
        return result;
    }
    ids rendered(const std::vector<chat_message> &messages, bool prompt) {
        std::vector<llm_token> out;
        llm_error err = {};
        expect_ok(chat_encode(m->vocab, &c->format, messages.data(), messages.size(), 0, prompt, &out, &err), err);
        return out;
    }
};

const char plain[] = "<|im_start|><|im_end|>";
const char dropping[] = "<|im_start|><|im_end|>{% set content = content.split('</think>')[-1].lstrip('\\n') %}";
const std::vector<int32_t> thoughtful = {'\n', THINK_BEGIN, 'x', THINK_END, 'b', IM_END};
const char answer[] = "<think>x</think>b";

} // namespace

TEST_CASE("the model reads earlier answers without their reasoning where its template leaves it out", "[chat]") {
    temporary_folder folder;
    conversation talk(scripted_model(folder, thoughtful, dropping));
    for (int turn = 0; turn < 3; turn++) {
        std::vector<chat_message> messages;
        for (int i = 0; i < turn; i++) {
            messages.push_back({"user", "hi"});
            messages.push_back({"assistant", "b"});
        }
        messages.push_back({"user", "hi"});
        ids prompt = talk.rendered(messages, true);
        llm_result result = talk.send("hi");
        INFO("turn " << turn);
        CHECK(talk.c->messages.back().content == answer);
        CHECK(result.n_prompt == prompt.size());
        CHECK(result.n_generated == 5);
        CHECK(result.n_used == prompt.size());
        messages.push_back({"assistant", "b"});
        CHECK(talk.c->ids == talk.rendered(messages, false));
        // What the sequence holds is the beginning of that: the prompt up to where the answer began.
        CHECK(talk.c->c->kv.sequences[0].n == prompt.size());
    }
}

TEST_CASE("where the template keeps reasoning nothing is read twice", "[chat]") {
    temporary_folder folder;
    conversation talk(scripted_model(folder, thoughtful, plain));
    talk.send("hi");
    uint32_t n = talk.c->c->kv.sequences[0].n;
    CHECK(talk.send("hi").n_cached == n);
    CHECK(talk.c->messages.back().content == answer);
}

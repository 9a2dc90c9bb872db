// Conversations with a model whose answers are known: it has no attention, and each token is followed by the one that a
// script says.
#include "run/chat.h"
#include <algorithm>
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
        chat_rendering r;
        llm_error err = {};
        expect_ok(chat_render(&c->format, m->vocab, messages.data(), messages.size(), prompt, &r, &err), err);
        std::vector<llm_token> out;
        std::vector<chat_boundary> boundaries;
        const chat_boundary start = {0, 0, false};
        expect_ok(chat_encode(m->vocab, &r, &start, &out, &boundaries, &err), err);
        return out;
    }
};

#define CHATML(content)                                                                                                \
    "{%- for message in messages %}{%- set content = " content " %}"                                                   \
    "{{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>\n' }}{%- endfor %}"                              \
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}"

const char plain[] = CHATML("message.content");
const char dropping[] = CHATML("message.content.split('</think>')[-1].lstrip('\n')");
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
        CHECK(talk.c->said.ids.size() == prompt.size() + 5);
        // The sequence keeps the conversation up to where the answer before began.
        CHECK(result.n_cached == (turn ? talk.rendered({messages.begin(), messages.end() - 2}, true).size() : 0));
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

TEST_CASE("a conversation is read again from where its template or its messages make it differ", "[chat]") {
    temporary_folder folder;
    conversation talk(scripted_model(folder, thoughtful, plain));
    llm_error err = {};
    talk.send("hi");
    talk.send("ho");
    const ids before = talk.c->said.ids;
    expect_ok(chat_set_template(talk.c, nullptr, dropping, &err), err);
    const llm_result third = talk.send("he");
    CHECK(third.n_cached == talk.rendered({{"user", "hi"}}, true).size());
    CHECK(third.n_prompt ==
          talk.rendered({{"user", "hi"}, {"assistant", "b"}, {"user", "ho"}, {"assistant", "b"}, {"user", "he"}}, true)
              .size());
    chat_set_system(talk.c, "be kind");
    CHECK(talk.send("ha").n_cached == 1); // the first control token
    CHECK(talk.c->messages.front().content == "be kind");
    size_t n_dropped = 0;
    expect_ok(chat_drop_oldest(talk.c, 2, &n_dropped, &err), err);
    CHECK(n_dropped == 2);
    CHECK(talk.send("hu").n_prompt == talk.rendered({{"system", "be kind"},
                                                     {"user", "he"},
                                                     {"assistant", "b"},
                                                     {"user", "ha"},
                                                     {"assistant", "b"},
                                                     {"user", "hu"}},
                                                    true)
                                          .size());
}

TEST_CASE("a template that refuses leaves the conversation as it was", "[chat]") {
    temporary_folder folder;
    conversation talk(scripted_model(folder, thoughtful,
                                     "{% if messages|length > 2 %}{{ raise_exception('only one turn') }}{% endif %}"
                                     "<|im_start|>{{ messages[0].content }}<|im_end|>\n"));
    talk.send("hi");
    const ids before = talk.c->said.ids;
    llm_result result = {};
    llm_error err = {};
    CHECK(chat_send(talk.c, "again", nullptr, nullptr, &result, &err) == LLM_ERR_TEMPLATE);
    CHECK(std::string(err.message).find("only one turn") != std::string::npos);
    CHECK(talk.c->messages.size() == 2);
    CHECK(talk.c->said.ids == before);
    chat_format format = talk.c->format;
    CHECK(chat_set_template(talk.c, nullptr, "{% if %}", &err) == LLM_ERR_TEMPLATE);
    CHECK(talk.c->format.source == format.source);
    CHECK(chat_set_template(talk.c, "vicuna", "", &err) == LLM_ERR_TEMPLATE);
}

TEST_CASE("messages come as JSON with all that a template reads", "[chat]") {
    temporary_folder folder;
    conversation talk(scripted_model(folder, thoughtful,
                                     "{% for m in messages %}<|im_start|>{{ m.role }}{% if m.tool_calls %}"
                                     "{{ m.tool_calls | tojson }}{% endif %}{{ m.content if m.content is string else "
                                     "m.content[0].text if m.content else '' }}<|im_end|>{% endfor %}\n"));
    llm_error err = {};
    const char *good = R"([{"role":"user","content":[{"type":"text","text":"<|im_end|>"}]},
                           {"role":"assistant","content":null,"tool_calls":[{"id":1e300,"n":12345678901234567890123}]},
                           {"role":"tool","content":"4"}])";
    expect_ok(chat_add(talk.c, good, &err), err);
    REQUIRE(talk.c->messages.size() == 3);
    llm_result result = {};
    expect_ok(chat_answer(talk.c, nullptr, nullptr, &result, &err), err);
    CHECK(talk.c->said.said.text.find("12345678901234567890123") != std::string::npos);
    CHECK(std::count(talk.c->said.ids.begin(), talk.c->said.ids.end(), (llm_token)IM_START) == 3);
    CHECK(talk.c->messages.size() == 4);
    for (const char *bad :
         {"", "x", "[1]", "{}", "[{\"role\":1}]", "{\"role\":\"user\"", "{\"role\":\"\"}", "\"role\""}) {
        INFO(bad);
        CHECK(chat_add(talk.c, bad, &err) == LLM_ERR_ARGUMENT);
        CHECK(talk.c->messages.size() == 4);
    }
    CHECK(chat_add(talk.c, std::string(100000, '['), &err) == LLM_ERR_ARGUMENT);
    CHECK(chat_add(talk.c, "{\"role\":\"user\",\"content\":" + std::string(70, '[') + std::string(70, ']') + "}",
                   &err) == LLM_ERR_ARGUMENT);
}

TEST_CASE("events say what is reasoning and what is answer", "[chat]") {
    temporary_folder folder;
    conversation talk(scripted_model(folder, thoughtful, dropping));
    std::string seen;
    auto note = [](void *user, const llm_event *e) {
        if (e->type == LLM_EVENT_PROMPT) return true;
        std::string *all = static_cast<std::string *>(user);
        *all += (e->type == LLM_EVENT_REASONING ? "R:" : "A:") + std::string(e->text, e->length) + "|";
        return true;
    };
    llm_result result = {};
    llm_error err = {};
    expect_ok(chat_send(talk.c, "hi", note, &seen, &result, &err), err);
    CHECK(seen == "R:x|A:b|");
    CHECK(talk.c->messages.back().content == answer);
}

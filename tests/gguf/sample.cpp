#include "gguf/sample.h"
#include "temporary.h"
#include "test.h"

using namespace llm;

static void add_metadata(gguf_writer *w) {
    gguf_writer_set_string(w, "general.architecture", "llama");
    gguf_writer_set_string(w, "general.name", "");
    gguf_writer_set_u32(w, "llama.block_count", 2);
    gguf_writer_set_u64(w, "llama.context_length", (uint64_t)1 << 40);
    gguf_writer_set_f32(w, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    gguf_writer_set_bool(w, "tokenizer.ggml.add_bos_token", true);
    gguf_writer_set_strings(w, "tokenizer.ggml.tokens", {"<s>", "", "a", "\xe2\x96\x81the", std::string("\0x", 2)});
    gguf_writer_set_f32s(w, "tokenizer.ggml.scores", {0, -1, -2.5f, -3, -4});
    gguf_writer_set_i32s(w, "tokenizer.ggml.token_type", {3, 1, 1, 1, 6});
    gguf_writer_set_strings(w, "general.tags", {});
    gguf_value nested; // an array of two arrays: u8 {1, 2}, string {"x"}
    nested.is_array = true;
    nested.type = GGUF_ARRAY;
    nested.count = 2;
    nested.data = raw_bytes().u32(GGUF_U8).u64(2).number<uint16_t>(0x0201).u32(GGUF_STRING).u64(1).text("x").bytes;
    gguf_writer_set_value(w, "custom.nested", nested);
    gguf_value odd;
    odd.type = GGUF_I16;
    odd.data = std::string("\xfe\xff", 2);
    gguf_writer_set_value(w, "custom.minus_two", odd);
}

std::string sample_file() {
    temporary_folder folder;
    gguf_writer *w = nullptr;
    llm_error err = {};
    REQUIRE(gguf_writer_open((folder / "sample.gguf").c_str(), &w, &err) == LLM_OK);
    add_metadata(w);
    const uint64_t embd[] = {32, 5}, norm[] = {33}, ffn[] = {256, 2, 1, 1}, gate[] = {1};
    gguf_writer_add_tensor(w, "token_embd.weight", FORMAT_Q4_0, 2, embd);
    gguf_writer_add_tensor(w, "output_norm.weight", FORMAT_F32, 1, norm);
    gguf_writer_add_tensor(w, "blk.0.ffn_up.weight", FORMAT_Q4_K, 4, ffn);
    gguf_writer_add_tensor(w, "blk.0.gate", FORMAT_F16, 0, gate);
    const size_t bytes = 5 * 18 + 33 * 4 + 2 * 144 + 2;
    std::string data(bytes, 0);
    for (size_t i = 0; i < bytes; i++) data[i] = (char)(i * 7 + 1);
    REQUIRE(gguf_writer_begin_data(w, &err) == LLM_OK);
    REQUIRE(gguf_writer_write(w, data.data(), bytes, &err) == LLM_OK);
    REQUIRE(gguf_writer_finish(w, &err) == LLM_OK);
    return read_bytes(folder / "sample.gguf");
}

// Files whose weights are no numbers: every format that can hold such a thing ends in an error that says where.
#include "gguf/gguf.h"
#include "quant/format.h"
#include "run/library.h"
#include "temporary.h"
#include <cmath>

using namespace llm_test;

namespace {

// The first block of a tensor gets an infinite scale.
void make_infinite(const std::string &path, const std::string &bad, const llm::block_format *format,
                   const char *tensor) {
    llm::gguf_file file;
    llm_error err = {};
    expect_ok(llm::gguf_open(path.c_str(), &file, &err), err);
    std::string bytes = read_bytes(path);
    format->set_scales(&bytes[llm::gguf_find_tensor(&file, tensor)->offset], INFINITY, 0);
    llm::gguf_close(&file);
    write_bytes(bad, bytes);
}

llm_status decode_on(const std::string &path, const char *tier, llm_error *err) {
    model_handle model = load_model(path, tier);
    context_handle context = make_context(model.get(), context_options(8));
    const llm_token tokens[] = {0, 5};
    const llm_seq seq[] = {0, 0};
    llm_batch b = {};
    b.n_tokens = 2;
    b.tokens = tokens;
    b.seq = seq;
    return llm_decode(context.get(), &b, err);
}

} // namespace

TEST_CASE("an infinite scale in a file is an error with the step's name, in every format", "[run]") {
    temporary_folder folder;
    for (const llm::block_format *f = llm::format_table(nullptr); f->name; f++) {
        // NVFP4 has no scale that is not a number.
        if (!f->set_scales || f->id == llm::FORMAT_NVFP4) continue;
        const std::string path = folder / f->name, bad = path + ".bad";
        llm_error err = {};
        expect_ok(llm_synth("tiny-256", f->name, 1, path.c_str(), nullptr, nullptr, &err), err);
        for (const char *tensor : {"blk.0.ffn_up.weight", "token_embd.weight"}) {
            make_infinite(path, bad, f, tensor);
            for (size_t i = 0; llm_cpu_tier(i); i++) {
                CAPTURE(f->name, tensor, llm_cpu_tier(i));
                err = {};
                CHECK(decode_on(bad, llm_cpu_tier(i), &err) == LLM_ERR_NUMERIC);
                CHECK(std::string(err.message).find("infinite or not a number at step") != std::string::npos);
            }
        }
    }
}

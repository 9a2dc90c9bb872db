// Any bytes as a GGUF file. Driven by the tests with fixed seeds; with -DLLM_FUZZER it is an entry for libFuzzer
// (clang++ -fsanitize=fuzzer,address,undefined), which allows one entry in a program.
#include "gguf/gguf.h"
#include <stdlib.h>

using namespace llm;

static void touch_metadata(const gguf_file *file) {
    for (const auto &[key, value] : file->metadata) {
        if (!gguf_find(file, key)) abort();
        gguf_u64_or(file, key, 0);
        gguf_f64_or(file, key, 0);
        gguf_bool_or(file, key, false);
        gguf_string_or(file, key, "");
        double number;
        for (uint64_t i : {(uint64_t)0, value.count / 2, value.count - 1, value.count})
            gguf_array_f64(&value, i, &number);
        size_t bytes = 0;
        for (std::string_view text : value.strings)
            for (char c : text) bytes += (unsigned char)c != 0;
        if (bytes > value.text.size()) abort();
    }
}

// What the reader promises of tensors.
static void touch_tensors(const gguf_file *file) {
    for (const gguf_tensor &t : file->tensors) {
        const block_format *format = format_by_id(t.format);
        uint64_t values = t.shape[0] * t.shape[1] * t.shape[2] * t.shape[3];
        char first, last;
        if (gguf_find_tensor(file, t.name) != &t || !format || values == 0) abort();
        if (format_bytes(format, values) != t.bytes) abort();
        if (file_read(&file->parts[t.file], t.offset, &first, 1, nullptr) != LLM_OK) abort();
        if (file_read(&file->parts[t.file], t.offset + t.bytes - 1, &last, 1, nullptr) != LLM_OK) abort();
    }
}

int fuzz_gguf(const uint8_t *data, size_t size) {
    gguf_file file;
    llm_error err = {};
    llm_status status = gguf_open_source(file_from_memory(data, size), &file, &err);
    if (status == LLM_OK) {
        touch_metadata(&file);
        touch_tensors(&file);
    } else if (err.code != status || err.message[0] == 0) {
        abort();
    }
    gguf_close(&file);
    return 0;
}

#if defined(LLM_FUZZER)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_gguf(data, size); }
#endif

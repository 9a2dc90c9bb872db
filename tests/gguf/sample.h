// A small GGUF with every kind of value, and opening bytes from an allocation of exactly their size, so that the
// address sanitizer sees a read past the end.
#pragma once
#include "gguf/gguf.h"
#include <memory>
#include <string>
#include <string.h>

// About 3 KB; written by the writer, with F32, Q4_0 and Q4_K tensors (data: a counter).
std::string sample_file();

struct opened {
    std::unique_ptr<char[]> bytes;
    llm::gguf_file file;
    llm_error err = {};
    llm_status status;

    explicit opened(const std::string &content) : bytes(new char[content.size()]) {
        memcpy(bytes.get(), content.data(), content.size());
        status = llm::gguf_open_source(llm::file_from_memory(bytes.get(), content.size()), &file, &err);
    }
    ~opened() { llm::gguf_close(&file); }
    std::string message() const { return err.message; }
};

// Pieces of a hand-made file.
struct raw_bytes {
    std::string bytes;
    template <class T> raw_bytes &number(T value) {
        bytes.append((const char *)&value, sizeof value);
        return *this;
    }
    raw_bytes &u32(uint32_t v) { return number(v); }
    raw_bytes &u64(uint64_t v) { return number(v); }
    raw_bytes &text(const std::string &s) {
        u64(s.size());
        bytes += s;
        return *this;
    }
    raw_bytes &header(uint32_t version, uint64_t n_tensors, uint64_t n_keys) {
        bytes += "GGUF";
        return u32(version).u64(n_tensors).u64(n_keys);
    }
    raw_bytes &key_u32(const std::string &key, uint32_t v) { return text(key).u32(llm::GGUF_U32).u32(v); }
    raw_bytes &tensor(const std::string &name, const std::vector<uint64_t> &shape, uint32_t format, uint64_t offset) {
        text(name).u32((uint32_t)shape.size());
        for (uint64_t n : shape) u64(n);
        return u32(format).u64(offset);
    }
    raw_bytes &pad(size_t alignment = 32) {
        bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
        return *this;
    }
    raw_bytes &zeros(size_t n) {
        bytes.append(n, 0);
        return *this;
    }
};

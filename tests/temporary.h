// Files of a test: a folder of its own, removed at the end.
#pragma once
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdlib.h>
#include <string>

struct temporary_folder {
    std::string path;
    temporary_folder() {
        char name[] = "/tmp/llm-test-XXXXXX";
        path = mkdtemp(name);
    }
    ~temporary_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    temporary_folder(const temporary_folder &) = delete;
    std::string operator/(const std::string &name) const { return path + "/" + name; }
};

inline void write_bytes(const std::string &path, const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string read_bytes(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
}

// A GGUF file like another one but for some keys and tensors.
#pragma once
#include "gguf/gguf.h"
#include <functional>
#include <string>

namespace llm_test {

struct gguf_edit {
    std::string without;                               // key or tensor that is left out
    std::function<void(llm::gguf_writer *w)> metadata; // sets keys, those of the original included
    std::string resized;                               // vector that becomes one number longer
};
void write_edited(const std::string &from, const std::string &to, const gguf_edit &edit);

// An array of truth values: what no other writer function makes.
void set_bools(llm::gguf_writer *w, const std::string &key, const std::string &zeros_and_ones);

} // namespace llm_test

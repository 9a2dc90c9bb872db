#include "model/family.h"

namespace llm {

extern const family family_gpt2, family_llama, family_qwen2;

static const family *const families[] = {&family_llama, &family_qwen2, &family_gpt2, nullptr};

const family *family_at(size_t index) { return index < sizeof families / sizeof *families ? families[index] : nullptr; }

const family *family_find(std::string_view architecture) {
    for (size_t i = 0; family_at(i); i++)
        if (architecture == family_at(i)->architecture) return family_at(i);
    return nullptr;
}

} // namespace llm

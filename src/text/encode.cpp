#include "text/encode.h"
#include "text/hash.h"

namespace llm {

void encode_scratch_prepare(encode_scratch *s, size_t text_size) {
    constexpr size_t worth_it = 2048, n_seen = 4096;
    if (text_size >= worth_it) s->seen.resize(n_seen);
}

bool encode_seen_word(std::string_view word, encode_scratch *s, std::vector<int32_t> *ids, seen_word **slot) {
    *slot = nullptr;
    if (s->seen.empty()) return false;
    *slot = &s->seen[hash_text(word) >> 32 & (s->seen.size() - 1)];
    const seen_word &seen = **slot;
    if (seen.generation != s->generation || std::string_view(seen.text, seen.n) != word) return false;
    for (uint32_t i = 0; i < seen.n_ids; i++) {
        int32_t id = (*ids)[seen.first_id + i];
        ids->push_back(id);
    }
    return true;
}

void encode_remember_word(std::string_view word, size_t first_id, const std::vector<int32_t> &ids, encode_scratch *s,
                          seen_word *slot) {
    if (slot)
        *slot = {word.data(), uint32_t(word.size()), uint32_t(first_id), uint32_t(ids.size() - first_id),
                 s->generation};
}

std::string_view with_space_marks(std::string_view text, bool prefix, std::string *out) {
    out->clear();
    if (prefix) out->append(space_mark);
    for (char c : text)
        if (c == ' ')
            out->append(space_mark);
        else
            out->push_back(c);
    return *out;
}

} // namespace llm

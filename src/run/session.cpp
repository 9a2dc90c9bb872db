// A saved conversation is a GGUF container without tensors: the reader for hostile files and the atomic writer are there
// already. The checksum is over everything that loading uses.
#include "run/chat.h"
#include <memory>

namespace llm {

namespace {

constexpr uint64_t SESSION_VERSION = 1;

uint64_t fnv1a(uint64_t hash, const void *data, size_t n) {
    for (size_t i = 0; i < n; i++) hash = (hash ^ ((const uint8_t *)data)[i]) * 1099511628211ull;
    return hash;
}
uint64_t fnv1a_text(uint64_t hash, std::string_view text) {
    uint64_t n = text.size();
    return fnv1a(fnv1a(hash, &n, sizeof n), text.data(), text.size());
}

uint64_t checksum(const std::vector<chat_turn> &messages, const std::vector<llm_token> &ids, bool answer_open) {
    uint64_t hash = 1469598103934665603ull;
    for (const chat_turn &turn : messages) hash = fnv1a_text(fnv1a_text(hash, turn.role), turn.content);
    hash = fnv1a(hash, ids.data(), ids.size() * sizeof(llm_token));
    return fnv1a(hash, &answer_open, 1);
}

// What a conversation's ids and bits depend on, as (key, value) pairs that must be equal when it is loaded.
struct dependency {
    const char *key;
    uint64_t value;
    const char *what;
};
std::vector<dependency> dependencies(const chat *c) {
    const kv_shape &kv = c->c->kv.shape;
    return {{"session.arithmetic", LLM_ARITH_VERSION, "arithmetic version"},
            {"session.model_hash", c->c->m->hash, "model"},
            {"session.kv_type_k", kv.type_k, "KV type"},
            {"session.kv_type_v", kv.type_v, "KV type"}};
}

llm_status write_session(const chat *c, gguf_writer *w, llm_error *err) {
    std::vector<std::string> roles, contents;
    for (const chat_turn &turn : c->messages) {
        roles.push_back(turn.role);
        contents.push_back(turn.content);
    }
    gguf_writer_set_string(w, "general.type", "session");
    gguf_writer_set_u64(w, "session.version", SESSION_VERSION);
    for (const dependency &d : dependencies(c)) gguf_writer_set_u64(w, d.key, d.value);
    gguf_writer_set_string(w, "session.template", c->c->m->chat_template);
    gguf_writer_set_strings(w, "session.roles", roles);
    gguf_writer_set_strings(w, "session.contents", contents);
    gguf_writer_set_i32s(w, "session.ids", c->ids);
    gguf_writer_set_bool(w, "session.answer_open", c->answer_open);
    gguf_writer_set_u64(w, "session.checksum", checksum(c->messages, c->ids, c->answer_open));
    return gguf_writer_begin_data(w, err);
}

llm_status check_dependencies(const chat *c, const gguf_file *file, const char *path, llm_error *err) {
    if (gguf_string_or(file, "general.type", "") != "session")
        return fail(err, LLM_ERR_DAMAGED, "'%s' is not a saved conversation", path);
    uint64_t version;
    LLM_TRY(gguf_get_u64(file, "session.version", &version, err));
    if (version > SESSION_VERSION)
        return fail(err, LLM_ERR_TOO_NEW, "'%s' has session version %llu; this build knows up to %llu", path,
                    (unsigned long long)version, (unsigned long long)SESSION_VERSION);
    for (const dependency &d : dependencies(c)) {
        uint64_t value;
        LLM_TRY(gguf_get_u64(file, d.key, &value, err));
        if (value != d.value)
            return fail(err, LLM_ERR_MISMATCH, "'%s' was saved with another %s (%llx; here %llx)", path, d.what,
                        (unsigned long long)value, (unsigned long long)d.value);
    }
    return LLM_OK;
}

llm_status read_messages(const gguf_file *file, const char *path, std::vector<chat_turn> *out, llm_error *err) {
    const gguf_value *roles = gguf_find(file, "session.roles"), *contents = gguf_find(file, "session.contents");
    if (!roles || !contents || roles->strings.size() != contents->strings.size())
        return fail(err, LLM_ERR_DAMAGED, "'%s': messages are missing or incomplete", path);
    for (size_t i = 0; i < roles->strings.size(); i++)
        out->push_back({std::string(roles->strings[i]), std::string(contents->strings[i])});
    return LLM_OK;
}

llm_status read_ids(const chat *c, const gguf_file *file, const char *path, std::vector<llm_token> *out,
                    llm_error *err) {
    const gguf_value *ids = gguf_find(file, "session.ids");
    if (!ids || !ids->is_array) return fail(err, LLM_ERR_DAMAGED, "'%s': token ids are missing", path);
    for (uint64_t i = 0; i < ids->count; i++) {
        double id;
        if (!gguf_array_f64(ids, i, &id) || id < 0 || id >= (double)c->c->m->h.n_vocab)
            return fail(err, LLM_ERR_DAMAGED, "'%s': token %llu is not of this vocabulary", path, (unsigned long long)i);
        out->push_back((llm_token)id);
    }
    return LLM_OK;
}

llm_status read_session(chat *c, const gguf_file *file, const char *path, llm_error *err) {
    std::vector<chat_turn> messages;
    std::vector<llm_token> ids;
    LLM_TRY(check_dependencies(c, file, path, err));
    LLM_TRY(read_messages(file, path, &messages, err));
    LLM_TRY(read_ids(c, file, path, &ids, err));
    bool answer_open = gguf_bool_or(file, "session.answer_open", false);
    uint64_t expected;
    LLM_TRY(gguf_get_u64(file, "session.checksum", &expected, err));
    if (expected != checksum(messages, ids, answer_open))
        return fail(err, LLM_ERR_DAMAGED, "'%s': the checksum does not fit; the file is damaged", path);
    if (ids.size() > c->c->n_ctx)
        return fail(err, LLM_ERR_CONTEXT_FULL, "'%s' holds %zu tokens; the context has %u places", path, ids.size(),
                    c->c->n_ctx);
    chat_reset(c);
    c->messages = std::move(messages);
    c->ids = std::move(ids);
    c->answer_open = answer_open && !c->ids.empty();
    return LLM_OK;
}

} // namespace

llm_status chat_save(const chat *c, const char *path, llm_error *err) {
    gguf_writer *w = nullptr;
    LLM_TRY(gguf_writer_open(path, &w, err));
    std::unique_ptr<gguf_writer, void (*)(gguf_writer *)> unfinished(w, gguf_writer_abandon);
    LLM_TRY(write_session(c, w, err));
    return gguf_writer_finish(unfinished.release(), err);
}

llm_status chat_load(chat *c, const char *path, llm_error *err) {
    gguf_file file;
    llm_status status = gguf_open(path, &file, err);
    if (status == LLM_ERR_NOT_GGUF) return fail(err, LLM_ERR_DAMAGED, "'%s' is not a saved conversation", path);
    std::unique_ptr<gguf_file, void (*)(gguf_file *)> close(&file, gguf_close);
    LLM_TRY(status);
    return read_session(c, &file, path, err);
}

} // namespace llm

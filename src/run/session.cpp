// A saved conversation is a GGUF container without tensors: the reader for hostile files and the atomic writer are
// there already. The checksum is over everything that loading uses.
#include "run/chat.h"
#include <memory>

namespace llm {

namespace {

constexpr uint64_t SESSION_VERSION = 2; // 1 had no text of what the ids stand for

uint64_t fnv1a(uint64_t hash, const void *data, size_t n) {
    for (size_t i = 0; i < n; i++) hash = (hash ^ ((const uint8_t *)data)[i]) * 1099511628211ull;
    return hash;
}
uint64_t fnv1a_text(uint64_t hash, std::string_view text) {
    uint64_t n = text.size();
    return fnv1a(fnv1a(hash, &n, sizeof n), text.data(), text.size());
}

uint64_t fnv1a_list(uint64_t hash, const std::vector<int32_t> &list) {
    uint64_t n = list.size();
    return fnv1a(fnv1a(hash, &n, sizeof n), list.data(), list.size() * sizeof(int32_t));
}

// A transcript as arrays of numbers: three for each control token and boundary.
struct flat_transcript {
    std::vector<int32_t> controls, boundaries;
};
flat_transcript flatten(const chat_transcript *said) {
    flat_transcript flat;
    for (const chat_control &c : said->said.controls)
        for (int32_t x : {(int32_t)c.at, (int32_t)c.n, c.id}) flat.controls.push_back(x);
    for (const chat_boundary &b : said->boundaries)
        for (int32_t x : {(int32_t)b.at, (int32_t)b.n_ids, (int32_t)b.joined}) flat.boundaries.push_back(x);
    return flat;
}

// Every number must lie within the text and the ids, ascending, whatever the file says.
bool unflatten(const flat_transcript &flat, chat_transcript *said) {
    const size_t n_text = said->said.text.size(), n_ids = said->ids.size();
    if (flat.controls.size() % 3 || flat.boundaries.size() % 3) return false;
    size_t at = 0, ids = 0;
    for (size_t i = 0; i < flat.controls.size(); i += 3) {
        const int32_t *c = &flat.controls[i];
        if (c[0] < 0 || c[1] < 0 || (size_t)c[0] < at || (size_t)c[0] + (size_t)c[1] > n_text) return false;
        at = (size_t)c[0] + (size_t)c[1];
        said->said.controls.push_back({(size_t)c[0], (size_t)c[1], c[2]});
    }
    at = 0;
    for (size_t i = 0; i < flat.boundaries.size(); i += 3) {
        const int32_t *b = &flat.boundaries[i];
        if (b[0] < 0 || b[1] < 0 || (size_t)b[0] < at || (size_t)b[1] < ids) return false;
        at = (size_t)b[0];
        ids = (size_t)b[1];
        if (at > n_text || ids > n_ids) return false;
        said->boundaries.push_back({at, ids, b[2] != 0});
    }
    return true;
}

uint64_t checksum(const std::vector<chat_turn> &messages, const chat_transcript *said) {
    uint64_t hash = 1469598103934665603ull;
    for (const chat_turn &turn : messages)
        hash = fnv1a_text(fnv1a_text(fnv1a_text(hash, turn.role), turn.content), turn.json);
    const flat_transcript flat = flatten(said);
    hash = fnv1a_text(fnv1a_list(hash, said->ids), said->said.text);
    return fnv1a_list(fnv1a_list(hash, flat.controls), flat.boundaries);
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
    std::vector<std::string> roles, contents, jsons;
    for (const chat_turn &turn : c->messages) {
        roles.push_back(turn.role);
        contents.push_back(turn.content);
        jsons.push_back(turn.json);
    }
    const flat_transcript flat = flatten(&c->said);
    gguf_writer_set_string(w, "general.type", "session");
    gguf_writer_set_u64(w, "session.version", SESSION_VERSION);
    for (const dependency &d : dependencies(c)) gguf_writer_set_u64(w, d.key, d.value);
    gguf_writer_set_string(w, "session.template", c->format.source);
    gguf_writer_set_strings(w, "session.roles", roles);
    gguf_writer_set_strings(w, "session.contents", contents);
    gguf_writer_set_strings(w, "session.messages", jsons);
    gguf_writer_set_i32s(w, "session.ids", c->said.ids);
    gguf_writer_set_string(w, "session.text", c->said.said.text);
    gguf_writer_set_i32s(w, "session.controls", flat.controls);
    gguf_writer_set_i32s(w, "session.boundaries", flat.boundaries);
    gguf_writer_set_u64(w, "session.checksum", checksum(c->messages, &c->said));
    return gguf_writer_begin_data(w, err);
}

llm_status check_dependencies(const chat *c, const gguf_file *file, const char *path, llm_error *err) {
    if (gguf_string_or(file, "general.type", "") != "session")
        return fail(err, LLM_ERR_DAMAGED, "'%s' is not a saved conversation", path);
    uint64_t version;
    LLM_TRY(gguf_get_u64(file, "session.version", &version, err));
    if (version < SESSION_VERSION)
        return fail(err, LLM_ERR_MISMATCH,
                    "'%s' was saved by an older build (session version %llu; this build reads %llu)", path,
                    (unsigned long long)version, (unsigned long long)SESSION_VERSION);
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
    const gguf_value *roles = gguf_find(file, "session.roles"), *contents = gguf_find(file, "session.contents"),
                     *jsons = gguf_find(file, "session.messages");
    if (!roles || !contents || !jsons || roles->strings.size() != contents->strings.size() ||
        roles->strings.size() != jsons->strings.size())
        return fail(err, LLM_ERR_DAMAGED, "'%s': messages are missing or incomplete", path);
    for (size_t i = 0; i < roles->strings.size(); i++)
        out->push_back(
            {std::string(roles->strings[i]), std::string(contents->strings[i]), std::string(jsons->strings[i])});
    return LLM_OK;
}

llm_status read_numbers(const gguf_file *file, const char *key, const char *path, std::vector<int32_t> *out,
                        llm_error *err) {
    const gguf_value *list = gguf_find(file, key);
    if (!list || !list->is_array) return fail(err, LLM_ERR_DAMAGED, "'%s': %s is missing", path, key);
    for (uint64_t i = 0; i < list->count; i++) {
        double x;
        if (!gguf_array_f64(list, i, &x) || !(x >= INT32_MIN && x <= INT32_MAX))
            return fail(err, LLM_ERR_DAMAGED, "'%s': element %llu of %s is no number of 32 bits", path,
                        (unsigned long long)i, key);
        out->push_back((int32_t)x);
    }
    return LLM_OK;
}

llm_status read_transcript(const chat *c, const gguf_file *file, const char *path, chat_transcript *out,
                           llm_error *err) {
    flat_transcript flat;
    LLM_TRY(read_numbers(file, "session.ids", path, &out->ids, err));
    LLM_TRY(read_numbers(file, "session.controls", path, &flat.controls, err));
    LLM_TRY(read_numbers(file, "session.boundaries", path, &flat.boundaries, err));
    for (size_t i = 0; i < out->ids.size(); i++)
        if (out->ids[i] < 0 || (uint32_t)out->ids[i] >= c->c->m->h.n_vocab)
            return fail(err, LLM_ERR_DAMAGED, "'%s': token %zu is not of this vocabulary", path, i);
    out->said.text = std::string(gguf_string_or(file, "session.text", ""));
    if (!unflatten(flat, out))
        return fail(err, LLM_ERR_DAMAGED, "'%s': its text and its tokens do not belong together", path);
    return LLM_OK;
}

llm_status read_session(chat *c, const gguf_file *file, const char *path, llm_error *err) {
    std::vector<chat_turn> messages;
    chat_transcript said;
    LLM_TRY(check_dependencies(c, file, path, err));
    LLM_TRY(read_messages(file, path, &messages, err));
    LLM_TRY(read_transcript(c, file, path, &said, err));
    uint64_t expected;
    LLM_TRY(gguf_get_u64(file, "session.checksum", &expected, err));
    if (expected != checksum(messages, &said))
        return fail(err, LLM_ERR_DAMAGED, "'%s': the checksum does not fit; the file is damaged", path);
    if (said.ids.size() > c->c->n_ctx)
        return fail(err, LLM_ERR_CONTEXT_FULL, "'%s' holds %zu tokens; the context has %u places", path,
                    said.ids.size(), c->c->n_ctx);
    chat_reset(c);
    c->messages = std::move(messages);
    c->said = std::move(said);
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

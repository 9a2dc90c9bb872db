// Writing GGUF version 3.
#include "gguf/parse.h"
#include <algorithm>
#include <memory>
#include <new>
#include <string.h>

namespace llm {

struct gguf_writer {
    file_output out;
    std::vector<std::pair<std::string, std::string>> metadata; // key; type and value as in the file
    std::vector<gguf_tensor> tensors;                          // offsets count from the data section
    llm_error refused = {};                                    // the first set_ or add_ that made no sense
    uint64_t alignment = 32;
    bool data_begun = false;
    size_t current = 0; // tensor whose bytes come next
    uint64_t current_written = 0;
};

template <class T> static void put(std::string *to, T value) { to->append((const char *)&value, sizeof value); }

static void put_string(std::string *to, std::string_view text) {
    put(to, (uint64_t)text.size());
    to->append(text.data(), text.size());
}

llm_status gguf_writer_open(const char *path, gguf_writer **out, llm_error *err) {
    file_output output;
    LLM_TRY(file_create(path, &output, err));
    gguf_writer *w = new (std::nothrow) gguf_writer;
    if (!w) {
        file_discard(&output);
        return fail(err, LLM_ERR_NOMEM, "no memory to write '%s'", path);
    }
    w->out = std::move(output);
    *out = w;
    return LLM_OK;
}

static void refuse(gguf_writer *w, const char *what, std::string_view name, const char *why) {
    if (w->refused.code == LLM_OK)
        fail(&w->refused, LLM_ERR_ARGUMENT, "'%s' cannot be written: %s %s %s", w->out.path.c_str(), what,
             quoted(name).c_str(), why);
}

// The stored bytes of `key`, empty but for the type.
static std::string *begin_value(gguf_writer *w, std::string_view key, gguf_type type) {
    if (w->data_begun) refuse(w, "key", key, "came after the data was begun");
    if (key.empty() || key.size() > 65535) refuse(w, "key", key, "has no name of 1 to 65535 bytes");
    auto entry = std::find_if(w->metadata.begin(), w->metadata.end(), [&](const auto &e) { return e.first == key; });
    if (entry == w->metadata.end()) entry = w->metadata.insert(entry, {std::string(key), ""});
    entry->second.clear();
    put(&entry->second, (uint32_t)type);
    return &entry->second;
}

static std::string *begin_array(gguf_writer *w, std::string_view key, gguf_type type, uint64_t count) {
    std::string *to = begin_value(w, key, GGUF_ARRAY);
    put(to, (uint32_t)type);
    put(to, count);
    return to;
}

void gguf_writer_set_u32(gguf_writer *w, std::string_view key, uint32_t value) {
    put(begin_value(w, key, GGUF_U32), value);
}
void gguf_writer_set_u64(gguf_writer *w, std::string_view key, uint64_t value) {
    put(begin_value(w, key, GGUF_U64), value);
}
void gguf_writer_set_f32(gguf_writer *w, std::string_view key, float value) {
    put(begin_value(w, key, GGUF_F32), value);
}
void gguf_writer_set_bool(gguf_writer *w, std::string_view key, bool value) {
    put(begin_value(w, key, GGUF_BOOL), (uint8_t)value);
}
void gguf_writer_set_string(gguf_writer *w, std::string_view key, std::string_view value) {
    put_string(begin_value(w, key, GGUF_STRING), value);
}

void gguf_writer_set_value(gguf_writer *w, std::string_view key, const gguf_value &value) {
    std::string *to = value.is_array ? begin_array(w, key, value.type, value.count) : begin_value(w, key, value.type);
    if (!value.is_array && value.type == GGUF_STRING) return put_string(to, value.data);
    to->append(value.data);
    for (std::string_view text : value.strings) put_string(to, text);
}

void gguf_writer_set_strings(gguf_writer *w, std::string_view key, const std::vector<std::string> &values) {
    std::string *to = begin_array(w, key, GGUF_STRING, values.size());
    for (const std::string &text : values) put_string(to, text);
}
void gguf_writer_set_i32s(gguf_writer *w, std::string_view key, const std::vector<int32_t> &values) {
    begin_array(w, key, GGUF_I32, values.size())->append((const char *)values.data(), values.size() * 4);
}
void gguf_writer_set_f32s(gguf_writer *w, std::string_view key, const std::vector<float> &values) {
    begin_array(w, key, GGUF_F32, values.size())->append((const char *)values.data(), values.size() * 4);
}

static void add_tensor(gguf_writer *w, std::string_view name, format_id format, uint32_t n_dims, const uint64_t *shape,
                       uint64_t packed_bytes) {
    gguf_tensor t = {std::string(name), n_dims, {1, 1, 1, 1}, format, 0, 0, 0};
    std::string wrong;
    const block_format *f = format_by_id(format);
    if (w->data_begun) return refuse(w, "tensor", name, "came after the data was begun");
    if (name.empty() || name.size() > 65535) return refuse(w, "tensor", name, "has no name of 1 to 65535 bytes");
    if (n_dims > 4) return refuse(w, "tensor", name, "has more than 4 dimensions");
    if (!f) return refuse(w, "tensor", name, "has an unknown format");
    std::copy(shape, shape + n_dims, t.shape);
    if (!tensor_bytes(f, t.shape, &t.bytes, &wrong)) return refuse(w, "tensor", name, wrong.c_str());
    t.packed = packed_bytes > 0;
    if (t.packed) t.bytes = packed_bytes;
    w->tensors.push_back(std::move(t));
}

void gguf_writer_add_tensor(gguf_writer *w, std::string_view name, format_id format, uint32_t n_dims,
                            const uint64_t *shape) {
    add_tensor(w, name, format, n_dims, shape, 0);
}

void gguf_writer_add_packed(gguf_writer *w, std::string_view name, format_id format, uint32_t n_dims,
                            const uint64_t *shape, uint64_t bytes) {
    if (bytes == 0) return refuse(w, "tensor", name, "has no bytes");
    add_tensor(w, name, format, n_dims, shape, bytes);
}

// A packed file says how many bytes each tensor takes.
static void describe_packed(gguf_writer *w) {
    bool any = false;
    for (const gguf_tensor &t : w->tensors) any |= t.packed;
    if (!any) return;
    gguf_writer_set_u32(w, GGUF_PACKED_VERSION_KEY, GGUF_PACKED_VERSION);
    std::string *bytes = begin_array(w, GGUF_PACKED_BYTES_KEY, GGUF_U64, w->tensors.size());
    for (const gguf_tensor &t : w->tensors) put(bytes, t.bytes);
}

static void read_alignment(gguf_writer *w) {
    for (const auto &[key, bytes] : w->metadata) {
        if (key != "general.alignment") continue;
        uint32_t type_and_value[2] = {GGUF_ARRAY, 0};
        if (bytes.size() == sizeof type_and_value) memcpy(type_and_value, bytes.data(), sizeof type_and_value);
        uint32_t a = type_and_value[1];
        if (type_and_value[0] != GGUF_U32 || a == 0 || (a & (a - 1)))
            refuse(w, "key", key, "is not a power of two of type u32");
        w->alignment = a;
    }
}

static void refuse_repeated_names(gguf_writer *w) {
    std::vector<std::string_view> names;
    for (const gguf_tensor &t : w->tensors) names.push_back(t.name);
    std::sort(names.begin(), names.end());
    auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) refuse(w, "tensor", *twice, "was added twice");
}

static uint64_t padding(const gguf_writer *w, uint64_t bytes) { return (0 - bytes) & (w->alignment - 1); }

static llm_status write_padding(gguf_writer *w, uint64_t bytes, llm_error *err) {
    static const char zeros[4096] = {};
    while (bytes > 0) {
        size_t n = bytes < sizeof zeros ? bytes : sizeof zeros;
        LLM_TRY(file_write(&w->out, zeros, n, err));
        bytes -= n;
    }
    return LLM_OK;
}

static std::string header(gguf_writer *w) {
    std::string bytes = "GGUF";
    put(&bytes, (uint32_t)3);
    put(&bytes, (uint64_t)w->tensors.size());
    put(&bytes, (uint64_t)w->metadata.size());
    for (const auto &[key, value] : w->metadata) {
        put_string(&bytes, key);
        bytes += value;
    }
    uint64_t offset = 0;
    for (gguf_tensor &t : w->tensors) {
        put_string(&bytes, t.name);
        put(&bytes, t.n_dims);
        for (uint32_t i = 0; i < t.n_dims; i++) put(&bytes, t.shape[i]);
        put(&bytes, (uint32_t)t.format + (t.packed ? GGUF_PACKED : 0));
        put(&bytes, offset);
        t.offset = offset;
        offset += t.bytes + padding(w, t.bytes);
    }
    return bytes;
}

static llm_status wrong_amount(gguf_writer *w, const char *what, llm_error *err) {
    const gguf_tensor *t = w->current < w->tensors.size() ? &w->tensors[w->current] : nullptr;
    file_discard(&w->out);
    return fail(err, LLM_ERR_ARGUMENT,
                "'%s' cannot be written: %s (%zu of %zu tensors complete; %llu of %llu bytes of %s)",
                w->out.path.c_str(), what, w->current, w->tensors.size(), (unsigned long long)w->current_written,
                (unsigned long long)(t ? t->bytes : 0), t ? quoted(t->name).c_str() : "the next");
}

static llm_status report_refused(gguf_writer *w, llm_error *err) {
    if (w->refused.code == LLM_OK) return LLM_OK;
    file_discard(&w->out);
    if (err) *err = w->refused;
    return w->refused.code;
}

llm_status gguf_writer_begin_data(gguf_writer *w, llm_error *err) {
    if (w->data_begun) return wrong_amount(w, "the header came twice", err);
    read_alignment(w);
    refuse_repeated_names(w);
    describe_packed(w);
    LLM_TRY(report_refused(w, err));
    w->data_begun = true;
    std::string bytes = header(w);
    LLM_TRY(file_write(&w->out, bytes.data(), bytes.size(), err));
    // Without tensors nothing follows that would have to be aligned.
    return w->tensors.empty() ? LLM_OK : write_padding(w, padding(w, bytes.size()), err);
}

uint64_t gguf_writer_file_bytes(const gguf_writer *w) {
    uint64_t bytes = w->out.written;
    for (const gguf_tensor &t : w->tensors) bytes += t.bytes + padding(w, t.bytes);
    return bytes;
}

llm_status gguf_writer_write(gguf_writer *w, const void *data, size_t bytes, llm_error *err) {
    if (!w->data_begun) return wrong_amount(w, "data came before the header", err);
    const char *from = (const char *)data;
    while (bytes > 0) {
        if (w->current == w->tensors.size()) return wrong_amount(w, "more data came than was declared", err);
        const gguf_tensor *t = &w->tensors[w->current];
        uint64_t missing = t->bytes - w->current_written;
        size_t n = bytes < missing ? bytes : (size_t)missing;
        LLM_TRY(file_write(&w->out, from, n, err));
        from += n;
        bytes -= n;
        w->current_written += n;
        if (n < missing) break;
        LLM_TRY(write_padding(w, padding(w, t->bytes), err));
        w->current++;
        w->current_written = 0;
    }
    return LLM_OK;
}

static llm_status complete(gguf_writer *w, llm_error *err) {
    LLM_TRY(report_refused(w, err));
    if (!w->data_begun) return wrong_amount(w, "the header is missing", err);
    if (w->current < w->tensors.size()) return wrong_amount(w, "less data came than was declared", err);
    return file_commit(&w->out, err);
}

llm_status gguf_writer_finish(gguf_writer *w, llm_error *err) {
    std::unique_ptr<gguf_writer, void (*)(gguf_writer *)> freed(w, gguf_writer_abandon); // bad_alloc may come
    return complete(w, err);
}

void gguf_writer_abandon(gguf_writer *w) {
    if (!w) return;
    file_discard(&w->out);
    delete w;
}

} // namespace llm

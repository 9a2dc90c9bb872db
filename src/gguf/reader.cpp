// Header, metadata and tensor entries of one file.
#include "gguf/parse.h"
#include <string.h>

namespace llm {

#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define BUILD "libllm " STRING(LLM_VERSION_MAJOR) "." STRING(LLM_VERSION_MINOR)

static const uint64_t LONGEST_NAME = 65535; // of keys and tensors; the format allows keys of this length
// Far above real files, and low enough that a hostile header cannot take much more memory than its own size.
static const uint64_t MOST_KEYS = 1 << 16, MOST_TENSORS = 1 << 20;
static const int DEEPEST_ARRAY = 8;
static const size_t WINDOW = 256 * 1024;

namespace {
// Reads forward through a source. The window holds the bytes [start, start + n) of it; for memory that is everything.
struct cursor {
    const file_source *source;
    uint64_t at = 0;
    std::string where; // what is being read, for messages
    const uint8_t *window = nullptr;
    uint64_t start = 0, n = 0;
    std::vector<uint8_t> buffer;
};
}

static uint64_t remaining(const cursor *c) { return c->source->size - c->at; }

static llm_status damaged(const cursor *c, llm_error *err, const char *what) {
    return fail(err, LLM_ERR_DAMAGED, "%s is damaged: %s %s", c->source->name.c_str(), c->where.c_str(), what);
}

static llm_status ends_inside(const cursor *c, llm_error *err) {
    return fail(err, LLM_ERR_DAMAGED, "%s is damaged: it ends at byte %llu, inside %s", c->source->name.c_str(),
                (unsigned long long)c->source->size, c->where.c_str());
}

static llm_status refill(cursor *c, llm_error *err) {
    if (c->source->memory) {
        c->window = c->source->memory;
        c->n = c->source->size;
        return LLM_OK;
    }
    uint64_t n = remaining(c) < WINDOW ? remaining(c) : WINDOW;
    if (c->buffer.size() < n) c->buffer.resize(n);
    LLM_TRY(file_read(c->source, c->at, c->buffer.data(), n, err));
    c->window = c->buffer.data();
    c->start = c->at;
    c->n = n;
    return LLM_OK;
}

// Points *out to the next `bytes` (at most WINDOW) and steps over them.
static llm_status take(cursor *c, size_t bytes, const uint8_t **out, llm_error *err) {
    if (c->start + c->n - c->at < bytes) {
        if (remaining(c) < bytes) return ends_inside(c, err);
        LLM_TRY(refill(c, err));
    }
    *out = c->window + (c->at - c->start);
    c->at += bytes;
    return LLM_OK;
}

static llm_status take_u32(cursor *c, uint32_t *out, llm_error *err) {
    const uint8_t *bytes;
    LLM_TRY(take(c, sizeof *out, &bytes, err));
    memcpy(out, bytes, sizeof *out);
    return LLM_OK;
}

static llm_status take_u64(cursor *c, uint64_t *out, llm_error *err) {
    const uint8_t *bytes;
    LLM_TRY(take(c, sizeof *out, &bytes, err));
    memcpy(out, bytes, sizeof *out);
    return LLM_OK;
}

// Appends the next `bytes`, of any number, to a string or vector of characters.
template <class bytes_out> static llm_status append(cursor *c, uint64_t bytes, bytes_out *out, llm_error *err) {
    if (remaining(c) < bytes) return ends_inside(c, err);
    while (bytes > 0) {
        size_t n = bytes < WINDOW ? bytes : WINDOW;
        const uint8_t *from;
        LLM_TRY(take(c, n, &from, err));
        out->insert(out->end(), (const char *)from, (const char *)from + n);
        bytes -= n;
    }
    return LLM_OK;
}

static llm_status take_string(cursor *c, std::string *out, llm_error *err) {
    uint64_t length;
    LLM_TRY(take_u64(c, &length, err));
    if (remaining(c) < length) return ends_inside(c, err);
    out->clear();
    out->reserve(length);
    return append(c, length, out, err);
}

static llm_status take_name(cursor *c, std::string *out, llm_error *err) {
    uint64_t length;
    LLM_TRY(take_u64(c, &length, err));
    if (length > LONGEST_NAME) return damaged(c, err, "has a name longer than 65535 bytes");
    out->clear();
    return append(c, length, out, err);
}

// All strings lie one after the other in value->text; lengths are kept apart until the text has stopped moving.
static llm_status take_strings(cursor *c, gguf_value *value, llm_error *err) {
    std::vector<uint64_t> lengths;
    lengths.reserve(value->count);
    for (uint64_t i = 0; i < value->count; i++) {
        uint64_t length;
        LLM_TRY(take_u64(c, &length, err));
        LLM_TRY(append(c, length, &value->text, err));
        lengths.push_back(length);
    }
    value->strings.reserve(value->count);
    const char *text = value->text.data();
    for (uint64_t length : lengths) {
        value->strings.push_back(std::string_view(text, length));
        text += length;
    }
    return LLM_OK;
}

// The fewest bytes that an element takes in the file.
static uint32_t least_bytes(gguf_type type) {
    return type == GGUF_STRING ? 8 : type == GGUF_ARRAY ? 12 : gguf_type_bytes(type);
}

static llm_status take_type(cursor *c, gguf_type *out, llm_error *err) {
    uint32_t type;
    LLM_TRY(take_u32(c, &type, err));
    if (type > GGUF_F64)
        return damaged(c, err, ("has value type " + std::to_string(type) + ", expected 0 to 12").c_str());
    *out = (gguf_type)type;
    return LLM_OK;
}

static llm_status take_array_head(cursor *c, gguf_type *type, uint64_t *count, llm_error *err) {
    LLM_TRY(take_type(c, type, err));
    LLM_TRY(take_u64(c, count, err));
    if (*count <= remaining(c) / least_bytes(*type)) return LLM_OK;
    return fail(err, LLM_ERR_DAMAGED, "%s is damaged: it ends at byte %llu, too early for the %llu elements of %s",
                c->source->name.c_str(), (unsigned long long)c->source->size, (unsigned long long)*count,
                c->where.c_str());
}

// Appends the elements of an array as they lie in the file.
static llm_status take_opaque(cursor *c, gguf_type type, uint64_t count, int depth, std::string *out, llm_error *err) {
    if (gguf_type_bytes(type)) return append(c, count * gguf_type_bytes(type), out, err);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t length = 0;
        gguf_type inner = type;
        if (type == GGUF_ARRAY) {
            if (depth == DEEPEST_ARRAY) return damaged(c, err, "has arrays in arrays too deep");
            LLM_TRY(take_array_head(c, &inner, &length, err));
            out->append((const char *)&inner, sizeof(uint32_t));
        } else {
            LLM_TRY(take_u64(c, &length, err));
        }
        out->append((const char *)&length, sizeof length);
        LLM_TRY(type == GGUF_ARRAY ? take_opaque(c, inner, length, depth + 1, out, err) : append(c, length, out, err));
    }
    return LLM_OK;
}

static llm_status take_value(cursor *c, gguf_value *value, llm_error *err) {
    LLM_TRY(take_type(c, &value->type, err));
    if (value->type == GGUF_STRING) return take_string(c, &value->data, err);
    if (value->type != GGUF_ARRAY) return append(c, gguf_type_bytes(value->type), &value->data, err);
    value->is_array = true;
    LLM_TRY(take_array_head(c, &value->type, &value->count, err));
    if (value->type == GGUF_STRING) return take_strings(c, value, err);
    if (gguf_type_bytes(value->type)) value->data.reserve(value->count * gguf_type_bytes(value->type));
    return take_opaque(c, value->type, value->count, 0, &value->data, err);
}

// Oddities of a value that do not hinder reading on.
static void check_value(gguf_file *file, const std::string &key, const gguf_value *value) {
    if (value->is_array && value->type == GGUF_ARRAY)
        file->warnings.push_back("key " + quoted(key) + " holds arrays of arrays, which are not interpreted");
    if (value->type != GGUF_BOOL) return;
    for (char c : value->data)
        if (c != 0 && c != 1) {
            file->warnings.push_back("key " + quoted(key) + " holds the truth value " +
                                     std::to_string((unsigned char)c) + ", expected 0 or 1");
            return;
        }
}

static llm_status read_metadata(cursor *c, uint64_t count, gguf_file *file, llm_error *err) {
    for (uint64_t i = 0; i < count; i++) {
        std::pair<std::string, gguf_value> entry;
        c->where = "metadata entry " + std::to_string(i);
        LLM_TRY(take_name(c, &entry.first, err));
        c->where = "key " + quoted(entry.first);
        LLM_TRY(take_value(c, &entry.second, err));
        check_value(file, entry.first, &entry.second);
        file->metadata.push_back(std::move(entry));
    }
    index_metadata(file);
    return LLM_OK;
}

static llm_status read_alignment(gguf_file *file, llm_error *err) {
    if (!gguf_find(file, "general.alignment")) return LLM_OK;
    uint64_t alignment;
    LLM_TRY(gguf_get_u64(file, "general.alignment", &alignment, err));
    if (alignment == 0 || (alignment & (alignment - 1)) || alignment > (1u << 31))
        return fail(err, LLM_ERR_DAMAGED, "%s is damaged: general.alignment is %llu, expected a power of two",
                    file->parts[0].name.c_str(), (unsigned long long)alignment);
    file->alignment = (uint32_t)alignment;
    return LLM_OK;
}

// The sizes that a packed file lists, one a tensor; NULL for a file that is not packed.
static llm_status find_packed_bytes(const gguf_file *file, uint64_t n_tensors, const gguf_value **out, llm_error *err) {
    const char *name = file->parts[0].name.c_str();
    *out = nullptr;
    if (!gguf_find(file, GGUF_PACKED_VERSION_KEY)) return LLM_OK;
    uint64_t version;
    LLM_TRY(gguf_get_u64(file, GGUF_PACKED_VERSION_KEY, &version, err));
    if (version > GGUF_PACKED_VERSION)
        return fail(err, LLM_ERR_TOO_NEW, "%s is packed in layout %llu; this build (" BUILD ") reads %u: pack it again",
                    name, (unsigned long long)version, GGUF_PACKED_VERSION);
    if (version < GGUF_PACKED_VERSION)
        return fail(err, LLM_ERR_UNSUPPORTED, "%s is packed in layout %llu, expected %u: pack it again", name,
                    (unsigned long long)version, GGUF_PACKED_VERSION);
    const gguf_value *bytes = gguf_find(file, GGUF_PACKED_BYTES_KEY);
    if (!bytes || !bytes->is_array || bytes->type != GGUF_U64 || bytes->count != n_tensors)
        return fail(err, LLM_ERR_DAMAGED, "%s is damaged: key %s is no array of %llu sizes (u64), one a tensor", name,
                    GGUF_PACKED_BYTES_KEY, (unsigned long long)n_tensors);
    *out = bytes;
    return LLM_OK;
}

// The size of a tensor whose entry says that it is packed, or that it is not, in a file that is packed or not.
static llm_status check_packed_bytes(const cursor *c, const gguf_value *sizes, size_t i, gguf_tensor *t,
                                     llm_error *err) {
    if (!sizes && !t->packed) return LLM_OK;
    if (!sizes) return damaged(c, err, "is packed, but the file does not say in which layout");
    uint64_t bytes;
    memcpy(&bytes, sizes->data.data() + i * sizeof bytes, sizeof bytes);
    if (!t->packed && bytes != t->bytes)
        return damaged(c, err,
                       ("takes " + std::to_string(t->bytes) + " bytes, expected " + std::to_string(bytes) + " (" +
                        GGUF_PACKED_BYTES_KEY + ")")
                           .c_str());
    if (bytes == 0) return damaged(c, err, "is packed into 0 bytes");
    t->bytes = bytes;
    return LLM_OK;
}

static llm_status measure_tensor(const cursor *c, gguf_tensor *t, llm_error *err) {
    const block_format *format = format_by_id(t->format);
    if (!format)
        return fail(err, LLM_ERR_UNSUPPORTED, "%s: %s has format number %u, which this build (" BUILD ") does not know",
                    c->source->name.c_str(), c->where.c_str(), (unsigned)t->format);
    std::string wrong;
    return tensor_bytes(format, t->shape, &t->bytes, &wrong) ? LLM_OK : damaged(c, err, wrong.c_str());
}

// The offset in the entry counts from the start of the data section, which is not known yet.
static llm_status read_tensor(cursor *c, gguf_tensor *t, llm_error *err) {
    LLM_TRY(take_name(c, &t->name, err));
    c->where = "tensor " + quoted(t->name);
    LLM_TRY(take_u32(c, &t->n_dims, err));
    if (t->n_dims > 4)
        return damaged(c, err, ("has " + std::to_string(t->n_dims) + " dimensions, expected at most 4").c_str());
    for (uint32_t i = 0; i < 4; i++) {
        t->shape[i] = 1;
        if (i < t->n_dims) LLM_TRY(take_u64(c, &t->shape[i], err));
    }
    uint32_t format;
    LLM_TRY(take_u32(c, &format, err));
    LLM_TRY(take_u64(c, &t->offset, err));
    t->packed = format >= GGUF_PACKED && format_by_id(format - GGUF_PACKED);
    t->format = (format_id)(t->packed ? format - GGUF_PACKED : format);
    t->file = 0;
    return measure_tensor(c, t, err);
}

static llm_status read_tensors(cursor *c, uint64_t count, gguf_file *file, llm_error *err) {
    const gguf_value *packed_bytes;
    LLM_TRY(find_packed_bytes(file, count, &packed_bytes, err));
    for (uint64_t i = 0; i < count; i++) {
        gguf_tensor t;
        c->where = "tensor entry " + std::to_string(i);
        LLM_TRY(read_tensor(c, &t, err));
        LLM_TRY(check_packed_bytes(c, packed_bytes, i, &t, err));
        if (t.offset % file->alignment != 0)
            return fail(err, LLM_ERR_DAMAGED, "%s is damaged: %s is at offset %llu, expected a multiple of %u",
                        c->source->name.c_str(), c->where.c_str(), (unsigned long long)t.offset, file->alignment);
        file->tensors.push_back(std::move(t));
    }
    return LLM_OK;
}

// Makes offsets absolute. A file that was not downloaded to the end fails here.
static llm_status place_tensors(const cursor *c, gguf_file *file, llm_error *err) {
    const uint64_t size = c->source->size, mask = file->alignment - 1, data = (c->at + mask) & ~mask;
    size_t n_outside = 0;
    const gguf_tensor *first = nullptr;
    for (gguf_tensor &t : file->tensors) {
        bool inside = data <= size && t.offset <= size - data && t.bytes <= size - data - t.offset;
        if (inside) {
            t.offset += data;
        } else {
            n_outside++;
            if (!first) first = &t;
        }
    }
    if (!first) return LLM_OK;
    return fail(
        err, LLM_ERR_DAMAGED,
        "%s is damaged: it ends at byte %llu, but %zu of %zu tensors lie beyond: first %s, %llu bytes at %llu + "
        "%llu",
        c->source->name.c_str(), (unsigned long long)size, n_outside, file->tensors.size(), quoted(first->name).c_str(),
        (unsigned long long)first->bytes, (unsigned long long)data, (unsigned long long)first->offset);
}

static llm_status check_version(const cursor *c, uint32_t version, llm_error *err) {
    const char *name = c->source->name.c_str();
    if (version == 2 || version == 3) return LLM_OK;
    if (version == 1)
        return fail(err, LLM_ERR_UNSUPPORTED, "%s has GGUF version 1, which few files had in 2023; expected 2 or 3",
                    name);
    if (__builtin_bswap32(version) <= 3)
        return fail(err, LLM_ERR_UNSUPPORTED, "%s is a big-endian GGUF file; expected a little-endian one", name);
    if (version > 3 && version < 65536)
        return fail(err, LLM_ERR_TOO_NEW, "%s has GGUF version %u; this build (" BUILD ") reads 2 and 3", name,
                    version);
    return fail(err, LLM_ERR_DAMAGED, "%s is damaged: its GGUF version is %u, expected 2 or 3", name, version);
}

static llm_status check_count(const cursor *c, const char *what, uint64_t count, uint64_t each, uint64_t most,
                              llm_error *err) {
    if (count > remaining(c) / each)
        return fail(err, LLM_ERR_DAMAGED,
                    "%s is damaged: it ends at byte %llu, too early for the %llu %s of its header",
                    c->source->name.c_str(), (unsigned long long)c->source->size, (unsigned long long)count, what);
    if (count > most)
        return fail(err, LLM_ERR_UNSUPPORTED, "%s has %llu %s, expected at most %llu", c->source->name.c_str(),
                    (unsigned long long)count, what, (unsigned long long)most);
    return LLM_OK;
}

llm_status read_part(gguf_file *file, llm_error *err) {
    const file_source *source = &file->parts[0];
    cursor c;
    c.source = source;
    c.where = "the header";
    const uint8_t *magic = nullptr;
    if (source->size >= 4) LLM_TRY(take(&c, 4, &magic, err));
    if (!magic || memcmp(magic, "GGUF", 4) != 0)
        return fail(err, LLM_ERR_NOT_GGUF, "%s is not a GGUF file: %s", source->name.c_str(),
                    describe_other_file(source).c_str());
    uint64_t n_tensors, n_keys;
    LLM_TRY(take_u32(&c, &file->version, err));
    LLM_TRY(check_version(&c, file->version, err));
    LLM_TRY(take_u64(&c, &n_tensors, err));
    LLM_TRY(take_u64(&c, &n_keys, err));
    LLM_TRY(check_count(&c, "tensors", n_tensors, 24, MOST_TENSORS, err)); // 24, 13: the shortest possible entries
    LLM_TRY(check_count(&c, "metadata entries", n_keys, 13, MOST_KEYS, err));
    LLM_TRY(read_metadata(&c, n_keys, file, err));
    LLM_TRY(read_alignment(file, err));
    LLM_TRY(read_tensors(&c, n_tensors, file, err));
    return place_tensors(&c, file, err);
}

} // namespace llm

// Looking things up in an open file.
#include "gguf/parse.h"
#include <algorithm>
#include <math.h>
#include <string.h>

namespace llm {

namespace {
struct type_row {
    const char *name;
    uint32_t bytes; // of one number
};
}
static const type_row TYPES[] = {
    {"u8", 1},   {"i8", 1},       {"u16", 2},      {"i16", 2}, {"u32", 4}, {"i32", 4}, {"f32", 4},
    {"bool", 1}, {"a string", 0}, {"an array", 0}, {"u64", 8}, {"i64", 8}, {"f64", 8},
};

uint32_t gguf_type_bytes(gguf_type type) { return TYPES[type].bytes; }
const char *gguf_type_name(gguf_type type) { return TYPES[type].name; }

std::string quoted(std::string_view name) {
    const size_t longest = 80;
    std::string text = "'";
    for (char c : name.substr(0, longest)) text += c >= 32 && c < 127 ? c : '?';
    return text + (name.size() > longest ? "...'" : "'");
}

const gguf_value *gguf_find(const gguf_file *file, std::string_view key) {
    auto less = [file](uint32_t i, std::string_view k) { return file->metadata[i].first < k; };
    auto at = std::lower_bound(file->metadata_by_key.begin(), file->metadata_by_key.end(), key, less);
    if (at == file->metadata_by_key.end() || file->metadata[*at].first != key) return nullptr;
    return &file->metadata[*at].second;
}

const gguf_tensor *gguf_find_tensor(const gguf_file *file, std::string_view name) {
    auto less = [file](uint32_t i, std::string_view n) { return file->tensors[i].name < n; };
    auto at = std::lower_bound(file->tensors_by_name.begin(), file->tensors_by_name.end(), name, less);
    if (at == file->tensors_by_name.end() || file->tensors[*at].name != name) return nullptr;
    return &file->tensors[*at];
}

namespace {
// A number of any type: an integer as sign and magnitude, else a float.
struct number {
    bool is_integer, negative;
    uint64_t magnitude;
    double real;
};
}

template <class T> static T load(const char *bytes) {
    T value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static number integer(int64_t v) { return {true, v < 0, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, 0}; }

static bool number_at(const gguf_value *value, uint64_t i, number *out) {
    uint32_t bytes = gguf_type_bytes(value->type);
    if (bytes == 0 || value->type == GGUF_BOOL || i >= value->data.size() / bytes) return false;
    const char *at = value->data.data() + i * bytes;
    switch (value->type) {
    case GGUF_U8: *out = integer(load<uint8_t>(at)); break;
    case GGUF_I8: *out = integer(load<int8_t>(at)); break;
    case GGUF_U16: *out = integer(load<uint16_t>(at)); break;
    case GGUF_I16: *out = integer(load<int16_t>(at)); break;
    case GGUF_U32: *out = integer(load<uint32_t>(at)); break;
    case GGUF_I32: *out = integer(load<int32_t>(at)); break;
    case GGUF_I64: *out = integer(load<int64_t>(at)); break;
    case GGUF_U64: *out = {true, false, load<uint64_t>(at), 0}; break;
    case GGUF_F32: *out = {false, false, 0, load<float>(at)}; break;
    default: *out = {false, false, 0, load<double>(at)}; break;
    }
    return true;
}

static bool exact_u64(number v, uint64_t *out) {
    if (v.is_integer) {
        *out = v.magnitude;
        return !v.negative;
    }
    if (!(v.real >= 0 && v.real < 18446744073709551616.0)) return false;
    *out = (uint64_t)v.real;
    return (double)*out == v.real;
}

static bool exact_f64(number v, double *out) {
    *out = v.is_integer ? (double)v.magnitude : v.real;
    if (!v.is_integer) return true;
    // 2^64 is the one double that a rounded magnitude can reach and that does not convert back.
    bool exact = *out < 18446744073709551616.0 && (uint64_t)*out == v.magnitude;
    if (v.negative) *out = -*out;
    return exact;
}

bool gguf_array_f64(const gguf_value *value, uint64_t i, double *out) {
    number v;
    return value && number_at(value, i, &v) && exact_f64(v, out);
}

static bool scalar(const gguf_value *value, number *out) {
    return value && !value->is_array && number_at(value, 0, out);
}

static std::string describe(const gguf_value *value) {
    if (!value) return "is missing";
    std::string type = gguf_type_name(value->type);
    if (value->is_array) return "is an array of " + std::to_string(value->count) + " values (" + type + ")";
    number v;
    if (!number_at(value, 0, &v)) return "is " + type;
    std::string text = v.is_integer ? std::to_string(v.magnitude) : std::to_string(v.real);
    return "is " + std::string(v.is_integer && v.negative ? "-" : "") + text + " (" + type + ")";
}

static llm_status malformed(const gguf_file *file, std::string_view key, const char *expected, llm_error *err) {
    return fail(err, LLM_ERR_DAMAGED, "%s is damaged: key %s %s, expected %s",
                file->parts.empty() ? "file" : file->parts[0].name.c_str(), quoted(key).c_str(),
                describe(gguf_find(file, key)).c_str(), expected);
}

llm_status gguf_get_u64(const gguf_file *file, std::string_view key, uint64_t *out, llm_error *err) {
    number v;
    uint64_t result;
    if (!scalar(gguf_find(file, key), &v) || !exact_u64(v, &result))
        return malformed(file, key, "a whole number that is not negative", err);
    *out = result;
    return LLM_OK;
}

llm_status gguf_get_f64(const gguf_file *file, std::string_view key, double *out, llm_error *err) {
    number v;
    double result;
    if (!scalar(gguf_find(file, key), &v) || !exact_f64(v, &result)) return malformed(file, key, "a number", err);
    *out = result;
    return LLM_OK;
}

llm_status gguf_get_string(const gguf_file *file, std::string_view key, std::string_view *out, llm_error *err) {
    const gguf_value *value = gguf_find(file, key);
    if (!value || value->is_array || value->type != GGUF_STRING) return malformed(file, key, "a string", err);
    *out = value->data;
    return LLM_OK;
}

uint64_t gguf_u64_or(const gguf_file *file, std::string_view key, uint64_t fallback) {
    gguf_get_u64(file, key, &fallback, nullptr);
    return fallback;
}

double gguf_f64_or(const gguf_file *file, std::string_view key, double fallback) {
    gguf_get_f64(file, key, &fallback, nullptr);
    return fallback;
}

std::string_view gguf_string_or(const gguf_file *file, std::string_view key, std::string_view fallback) {
    gguf_get_string(file, key, &fallback, nullptr);
    return fallback;
}

bool gguf_bool_or(const gguf_file *file, std::string_view key, bool fallback) {
    const gguf_value *value = gguf_find(file, key);
    if (!value || value->is_array) return fallback;
    if (value->type == GGUF_BOOL) return value->data[0] != 0;
    number v;
    uint64_t truth;
    return number_at(value, 0, &v) && exact_u64(v, &truth) && truth <= 1 ? truth != 0 : fallback;
}

void index_metadata(gguf_file *file) {
    std::vector<uint32_t> &order = file->metadata_by_key;
    order.resize(file->metadata.size());
    for (uint32_t i = 0; i < order.size(); i++) order[i] = i;
    std::sort(order.begin(), order.end(), [file](uint32_t a, uint32_t b) {
        int c = file->metadata[a].first.compare(file->metadata[b].first);
        return c != 0 ? c < 0 : a < b; // lower_bound then finds the first of equal keys
    });
    for (size_t i = 1; i < order.size(); i++)
        if (file->metadata[order[i - 1]].first == file->metadata[order[i]].first)
            file->warnings.push_back("key " + quoted(file->metadata[order[i]].first) +
                                     " is there more than once; the first one counts");
}

static llm_status overlap(const gguf_file *file, const gguf_tensor *a, const gguf_tensor *b, llm_error *err) {
    return fail(err, LLM_ERR_DAMAGED, "%s is damaged: tensors %s and %s share bytes at %llu",
                file->parts[b->file].name.c_str(), quoted(a->name).c_str(), quoted(b->name).c_str(),
                (unsigned long long)b->offset);
}

llm_status index_tensors(gguf_file *file, llm_error *err) {
    const std::vector<gguf_tensor> &tensors = file->tensors;
    std::vector<uint32_t> order(tensors.size());
    for (uint32_t i = 0; i < order.size(); i++) order[i] = i;
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        return tensors[a].file != tensors[b].file ? tensors[a].file < tensors[b].file
                                                  : tensors[a].offset < tensors[b].offset;
    });
    for (size_t i = 1; i < order.size(); i++) {
        const gguf_tensor *a = &tensors[order[i - 1]], *b = &tensors[order[i]];
        if (a->file == b->file && b->offset - a->offset < a->bytes) return overlap(file, a, b, err);
    }
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return tensors[a].name < tensors[b].name; });
    for (size_t i = 1; i < order.size(); i++)
        if (tensors[order[i - 1]].name == tensors[order[i]].name)
            return fail(err, LLM_ERR_DAMAGED, "%s is damaged: tensor %s is there more than once",
                        file->parts[tensors[order[i]].file].name.c_str(), quoted(tensors[order[i]].name).c_str());
    file->tensors_by_name = std::move(order);
    return LLM_OK;
}

} // namespace llm

// GGUF v2 and v3: a reader that survives any bytes, and a writer. Format: the GGUF document of the ggml project.
//
// Reading never trusts a number: every count and offset is checked against the bytes that are there before anything is
// allocated or touched. A file that passes has every tensor's data inside the file, no two tensors share a name or a
// byte, and every tensor has a known format (maybe not a supported one) and at least one value. Nested arrays are kept
// as opaque bytes.
#pragma once
#include "core/file.h"
#include "core/status.h"
#include "quant/format.h"
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace llm {

// clang-format off
enum gguf_type : uint32_t {
    GGUF_U8, GGUF_I8, GGUF_U16, GGUF_I16, GGUF_U32, GGUF_I32, GGUF_F32, GGUF_BOOL, GGUF_STRING, GGUF_ARRAY,
    GGUF_U64, GGUF_I64, GGUF_F64,
};
// clang-format on

struct gguf_value {
    gguf_type type = GGUF_U8; // of the value, or of the elements when is_array
    bool is_array = false;
    uint64_t count = 1; // elements; 1 for a scalar
    std::string data;   // numbers: little-endian, packed as in the file; one string: its bytes; an array of
                        // arrays: the elements as in the file
    std::vector<std::string_view> strings; // of a string array: views into `text`
    std::vector<char> text;

    // A copy's views would point into the original. Moving keeps them valid.
    gguf_value() = default;
    gguf_value(gguf_value &&) = default;
    gguf_value &operator=(gguf_value &&) = default;
};

struct gguf_tensor {
    std::string name;
    uint32_t n_dims;
    uint64_t shape[4]; // GGUF order: shape[0] is the row length; unused dimensions are 1
    format_id format;  // format_by_id() knows it
    uint64_t bytes;
    uint32_t file;   // index into gguf_file::parts
    uint64_t offset; // absolute, in that part
    bool packed = false; // the data are panels of 16 rows, not the format's blocks
};

// Packed files hold matrices in the panel layout that the vector kernels read, so that they can be mapped and used in
// place (backend/packed.h). A packed tensor's type number is GGUF_PACKED plus its format's: programs that do not know the
// layout then refuse the file by that number. Name and shape stay those of the numbers. Only a backend knows how many
// bytes panels take, so the file says it: an array with an entry for every tensor, packed or not, in the order of
// their headers. GGUF_PACKED_VERSION is raised by every change of a panel's layout.
constexpr uint32_t GGUF_PACKED = 0x10000, GGUF_PACKED_VERSION = 1;
constexpr char GGUF_PACKED_VERSION_KEY[] = "libllm.packed.version"; // u32
constexpr char GGUF_PACKED_BYTES_KEY[] = "libllm.packed.bytes";     // u64 []

struct gguf_file {
    uint32_t version = 0;
    uint32_t alignment = 32;
    std::vector<std::pair<std::string, gguf_value>> metadata; // of the first part, in file order
    std::vector<gguf_tensor> tensors;                         // of all parts
    std::vector<file_source> parts;                           // owned; closed by gguf_close
    std::vector<std::string> warnings;
    std::vector<uint32_t> metadata_by_key, tensors_by_name; // sorted, for gguf_find and gguf_find_tensor
};

// Opens `path` (UTF-8), any part of a split model: the others are found beside it, and all that are missing are named.
llm_status gguf_open(const char *path, gguf_file *out, llm_error *err);
// The same from an open descriptor or memory (both already wrapped); the source is taken over on success and failure.
llm_status gguf_open_source(file_source source, gguf_file *out, llm_error *err);
void gguf_close(gguf_file *file);

const gguf_value *gguf_find(const gguf_file *file, std::string_view key);
const gguf_tensor *gguf_find_tensor(const gguf_file *file, std::string_view name);

// Typed access. Numbers convert between integer and float kinds when exact; otherwise, or when the key is an array,
// the key counts as malformed: *_or return the fallback. get_* fail with LLM_ERR_DAMAGED and a sentence naming file,
// key, expected and found. A truth value is no number; the integers 0 and 1 are truth values.
llm_status gguf_get_u64(const gguf_file *file, std::string_view key, uint64_t *out, llm_error *err);
llm_status gguf_get_f64(const gguf_file *file, std::string_view key, double *out, llm_error *err);
llm_status gguf_get_string(const gguf_file *file, std::string_view key, std::string_view *out, llm_error *err);
uint64_t gguf_u64_or(const gguf_file *file, std::string_view key, uint64_t fallback);
double gguf_f64_or(const gguf_file *file, std::string_view key, double fallback);
bool gguf_bool_or(const gguf_file *file, std::string_view key, bool fallback);
std::string_view gguf_string_or(const gguf_file *file, std::string_view key, std::string_view fallback);
// Element i of a numeric array (or a scalar, for i == 0); false when absent, out of range or not a number.
bool gguf_array_f64(const gguf_value *value, uint64_t i, double *out);

// Writer of version 3. Collects metadata and tensor headers, then streams tensor data in order; writes to `path`.tmp,
// syncs, renames. On any failure the temporary file is removed; what went wrong in a set_ or add_ call is reported by
// gguf_writer_begin_data. Setting a key again replaces its value. "general.alignment" (u32) changes the alignment.
struct gguf_writer;
llm_status gguf_writer_open(const char *path, gguf_writer **out, llm_error *err);
void gguf_writer_set_u32(gguf_writer *w, std::string_view key, uint32_t value);
void gguf_writer_set_u64(gguf_writer *w, std::string_view key, uint64_t value);
void gguf_writer_set_f32(gguf_writer *w, std::string_view key, float value);
void gguf_writer_set_bool(gguf_writer *w, std::string_view key, bool value);
void gguf_writer_set_string(gguf_writer *w, std::string_view key, std::string_view value);
void gguf_writer_set_value(gguf_writer *w, std::string_view key, const gguf_value &value); // copied as it is
void gguf_writer_set_strings(gguf_writer *w, std::string_view key, const std::vector<std::string> &values);
void gguf_writer_set_i32s(gguf_writer *w, std::string_view key, const std::vector<int32_t> &values);
void gguf_writer_set_f32s(gguf_writer *w, std::string_view key, const std::vector<float> &values);
// Declares the next tensor; its `bytes`, `file`, `offset` are computed.
void gguf_writer_add_tensor(gguf_writer *w, std::string_view name, format_id format, uint32_t n_dims,
                            const uint64_t *shape);
// The same for a tensor in the panel layout, which takes `bytes`. The writer adds the two keys of packed files.
void gguf_writer_add_packed(gguf_writer *w, std::string_view name, format_id format, uint32_t n_dims,
                            const uint64_t *shape, uint64_t bytes);
// The bytes of the file once it is finished; after gguf_writer_begin_data.
uint64_t gguf_writer_file_bytes(const gguf_writer *w);
// After the last declaration: header out. Then the bytes of all tensors, in order, in pieces of any size.
llm_status gguf_writer_begin_data(gguf_writer *w, llm_error *err);
llm_status gguf_writer_write(gguf_writer *w, const void *data, size_t bytes, llm_error *err);
// Checks that every declared byte came, syncs, renames into place; frees `w` in every case.
llm_status gguf_writer_finish(gguf_writer *w, llm_error *err);
void gguf_writer_abandon(gguf_writer *w); // removes the temporary file

} // namespace llm

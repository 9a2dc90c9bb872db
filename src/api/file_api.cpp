#include "api/object.h"
#include "gguf/gguf.h"
#include <memory>
#include <stdio.h>
#include <string.h>

struct llm_file {
    llm::gguf_file file;
    std::vector<std::string> values;  // printable, beside file.metadata
    std::vector<std::string> formats; // beside file.tensors
};

namespace llm {

namespace {

constexpr size_t SHOWN_ELEMENTS = 8;

std::string number_text(const gguf_value *v, uint64_t i) {
    double number = 0;
    if (v->type == GGUF_BOOL) return v->data[(size_t)i] ? "true" : "false";
    if (!gguf_array_f64(v, i, &number)) return "?";
    char text[40];
    // Wide integers are printed as such: a double would round them.
    uint64_t wide = 0;
    if (v->type == GGUF_U64 || v->type == GGUF_I64) {
        memcpy(&wide, v->data.data() + 8 * i, 8);
        snprintf(text, sizeof text, v->type == GGUF_U64 ? "%llu" : "%lld", (unsigned long long)wide);
    } else {
        snprintf(text, sizeof text, "%.9g", number);
    }
    return text;
}

std::string element_text(const gguf_value *v, uint64_t i) {
    if (v->type == GGUF_STRING) return "\"" + std::string(v->strings[(size_t)i]) + "\"";
    if (v->type == GGUF_ARRAY) return "[...]";
    return number_text(v, i);
}

std::string value_text(const gguf_value *v) {
    if (!v->is_array) return v->type == GGUF_STRING ? v->data : number_text(v, 0);
    std::string text = "[";
    for (uint64_t i = 0; i < v->count && i < SHOWN_ELEMENTS; i++) text += (i ? ", " : "") + element_text(v, i);
    if (v->count > SHOWN_ELEMENTS) text += ", ... " + std::to_string(v->count) + " in all";
    return text + "]";
}

} // namespace

} // namespace llm

using namespace llm;

llm_status llm_file_open(const char *path, llm_file **out, llm_error *err) {
    return api_run(err, [&] {
        if (!path || !out) return fail(err, LLM_ERR_ARGUMENT, "path or out is NULL");
        std::unique_ptr<llm_file> made(new llm_file);
        LLM_TRY(gguf_open(path, &made->file, err));
        for (const auto &entry : made->file.metadata) made->values.push_back(value_text(&entry.second));
        for (const gguf_tensor &t : made->file.tensors)
            made->formats.push_back(std::string(format_by_id(t.format)->name) + (t.packed ? " packed" : ""));
        for (file_source &part : made->file.parts) file_close(&part);
        *out = made.release();
        return LLM_OK;
    });
}

void llm_file_free(llm_file *file) {
    if (!file) return;
    gguf_close(&file->file);
    delete file;
}

uint32_t llm_file_version(const llm_file *file) { return file ? file->file.version : 0; }
size_t llm_file_n_metadata(const llm_file *file) { return file ? file->file.metadata.size() : 0; }
size_t llm_file_n_tensors(const llm_file *file) { return file ? file->file.tensors.size() : 0; }

llm_status llm_file_metadata(const llm_file *file, size_t i, const char **key, const char **value, llm_error *err) {
    return api_run(err, [&] {
        size_t n = llm_file_n_metadata(file);
        if (i >= n) return fail(err, LLM_ERR_ARGUMENT, "entry %zu does not exist; the file has %zu", i, n);
        if (key) *key = file->file.metadata[i].first.c_str();
        if (value) *value = file->values[i].c_str();
        return LLM_OK;
    });
}

llm_status llm_file_tensor_at(const llm_file *file, size_t i, llm_file_tensor *out, llm_error *err) {
    return api_run(err, [&] {
        size_t n = llm_file_n_tensors(file);
        if (i >= n || !out) return fail(err, LLM_ERR_ARGUMENT, "tensor %zu does not exist; the file has %zu", i, n);
        const gguf_tensor &t = file->file.tensors[i];
        *out = {t.name.c_str(), file->formats[i].c_str(), t.n_dims, {}, t.bytes};
        memcpy(out->shape, t.shape, sizeof out->shape);
        return LLM_OK;
    });
}

const char *llm_file_warning(const llm_file *file, size_t i) {
    return file && i < file->file.warnings.size() ? file->file.warnings[i].c_str() : nullptr;
}

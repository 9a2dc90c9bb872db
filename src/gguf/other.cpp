// What else people take for a model: recognised by its first bytes, to say it in the error.
#include "gguf/parse.h"
#include <stdio.h>
#include <string.h>

namespace llm {

namespace {
struct signature {
    const char *bytes;
    const char *what;
};
}

// clang-format off
static const signature SIGNATURES[] = {
    {"<!DOCTYPE", "an HTML page (was the download page saved in place of the file?)"},
    {"<!doctype", "an HTML page (was the download page saved in place of the file?)"},
    {"<html",     "an HTML page (was the download page saved in place of the file?)"},
    {"<HTML",     "an HTML page (was the download page saved in place of the file?)"},
    {"<?xml",     "an XML document"},
    {"version https://git-lfs", "a Git LFS pointer: the file itself was not fetched"},
    {"PK\003\004", "a ZIP archive (PyTorch checkpoints are such)"},
    {"\200\002",   "a Python pickle (an old PyTorch checkpoint)"},
    {"\037\213",   "a gzip file: unpack it first"},
    {"\050\265\057\375", "a Zstandard file: unpack it first"},
    {"\3757zXZ",   "an XZ file: unpack it first"},
    {"BZh",        "a bzip2 file: unpack it first"},
    {"7z\274\257", "a 7-Zip archive"},
    {"lmgg", "an old GGML file (2023, before GGUF)"},
    {"fmgg", "an old GGML file (ggmf, 2023, before GGUF)"},
    {"tjgg", "an old GGML file (ggjt, 2023, before GGUF)"},
    {"algg", "an old GGML adapter (ggla, 2023, before GGUF)"},
    {"FUGG", "a GGUF file with its bytes swapped"},
    {"\223NUMPY",  "a NumPy array"},
    {"\211HDF",    "an HDF5 file"},
    {"\211PNG",    "a PNG picture"},
    {"\377\330\377", "a JPEG picture"},
    {"%PDF",       "a PDF document"},
    {"\177ELF",    "a program"},
};
// clang-format on

static bool looks_like_safetensors(const file_source *source, const uint8_t *head, size_t n) {
    uint64_t length;
    if (n < 10 || head[8] != '{') return false;
    memcpy(&length, head, sizeof length);
    return length <= source->size - 8;
}

static bool looks_like_text(const uint8_t *head, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (head[i] < 9 || (head[i] > 13 && head[i] < 32) || head[i] > 126) return false;
    return n > 0;
}

static bool all_zero(const uint8_t *head, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (head[i] != 0) return false;
    return true;
}

std::string describe_other_file(const file_source *source) {
    if (source->size == 0) return "it is empty";
    uint8_t head[64];
    size_t n = source->size < sizeof head ? (size_t)source->size : sizeof head;
    if (file_read(source, 0, head, n, nullptr) != LLM_OK) return "it cannot be read";
    for (const signature &s : SIGNATURES)
        if (strlen(s.bytes) <= n && memcmp(s.bytes, head, strlen(s.bytes)) == 0)
            return std::string("it looks like ") + s.what;
    if (looks_like_safetensors(source, head, n))
        return "it looks like a safetensors file; `llm convert` makes GGUF of it";
    if (head[0] == '{' || head[0] == '[') return "it looks like JSON text";
    if (looks_like_text(head, n)) return "it looks like text";
    if (n >= 4 && all_zero(head, n)) return "it begins with zeros (was the download completed?)";
    if (n < 4) return "it has only " + std::to_string(n) + " bytes";
    char bytes[64];
    snprintf(bytes, sizeof bytes, "it begins with bytes %02x %02x %02x %02x, expected \"GGUF\"", head[0], head[1],
             head[2], head[3]);
    return bytes;
}

} // namespace llm

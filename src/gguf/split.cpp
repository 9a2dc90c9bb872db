// Opening a model that may be split into several files. Parts are named PREFIX-00001-of-00003.gguf; each has the keys
// split.no (from 0) and split.count, and its own tensors; the first one has all other metadata.
#include "gguf/parse.h"
#include <stdio.h>
#include <string.h>

namespace llm {

namespace {
// Closes what is open unless it was moved out: an allocation may fail anywhere.
struct unfinished_file {
    gguf_file file;
    ~unfinished_file() { gguf_close(&file); }
};

struct split_name {
    std::string prefix; // folder and name up to the number
    uint32_t number, count;
};
}

void gguf_close(gguf_file *file) {
    for (file_source &part : file->parts) file_close(&part);
    *file = gguf_file();
}

static bool five_digits(const char *text, uint32_t *out) {
    *out = 0;
    for (int i = 0; i < 5; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        *out = *out * 10 + (uint32_t)(text[i] - '0');
    }
    return true;
}

static bool parse_split_name(const std::string &path, split_name *out) {
    const size_t tail = strlen("-00001-of-00003.gguf");
    if (path.size() < tail) return false;
    const char *t = path.c_str() + path.size() - tail;
    if (t[0] != '-' || memcmp(t + 6, "-of-", 4) != 0 || strcmp(t + 15, ".gguf") != 0) return false;
    out->prefix = path.substr(0, path.size() - tail);
    return five_digits(t + 1, &out->number) && five_digits(t + 10, &out->count) && out->number >= 1;
}

static std::string part_path(const split_name *name, uint32_t number) {
    char tail[40];
    snprintf(tail, sizeof tail, "-%05u-of-%05u.gguf", number, name->count);
    return name->prefix + tail;
}

static std::string file_name(const std::string &path) { return path.substr(path.rfind('/') + 1); }

// "2, 4-7" for a sorted list.
static std::string ranges(const std::vector<uint32_t> &numbers) {
    std::string text;
    for (size_t i = 0; i < numbers.size();) {
        size_t end = i + 1;
        while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) end++;
        text += (i ? ", " : "") + std::to_string(numbers[i]);
        if (end - i > 1) text += "-" + std::to_string(numbers[end - 1]);
        i = end;
    }
    return text;
}

static llm_status missing_parts(const split_name *name, const std::vector<uint32_t> &missing, llm_error *err) {
    const size_t room = 300; // of the 500 bytes that an error has: then numbers in place of names
    std::string names;
    for (uint32_t number : missing) {
        names += (names.empty() ? "" : ", ") + file_name(part_path(name, number));
        if (names.size() > room) break;
    }
    if (names.size() > room) names = "those with number " + ranges(missing);
    return fail(err, LLM_ERR_IO, "%zu of %u parts of the model are missing beside '%s': %s", missing.size(),
                name->count, part_path(name, name->number).c_str(), names.c_str());
}

static llm_status open_part(file_source *source, gguf_file *file, llm_error *err) {
    file->parts.reserve(1);
    file->parts.push_back(std::move(*source));
    *source = file_source();
    return read_part(file, err);
}

// split.no and split.count of a part; 0 of 1 for a file that is not split.
static llm_status split_place(const gguf_file *file, uint64_t *no, uint64_t *count, llm_error *err) {
    *no = 0;
    *count = 1;
    if (gguf_find(file, "split.count")) LLM_TRY(gguf_get_u64(file, "split.count", count, err));
    if (*count <= 1) return LLM_OK;
    return gguf_get_u64(file, "split.no", no, err);
}

static llm_status check_place(const gguf_file *file, const split_name *name, uint32_t number, llm_error *err) {
    uint64_t no, count;
    LLM_TRY(split_place(file, &no, &count, err));
    if (count == name->count && no == number - 1) return LLM_OK;
    return fail(err, LLM_ERR_DAMAGED, "%s should be part %u of %u by its name, but says that it is part %llu of %llu",
                file->parts[0].name.c_str(), number, name->count, (unsigned long long)no + 1,
                (unsigned long long)count);
}

// Appends tensors (and warnings) of the next part.
static void join(gguf_file *whole, gguf_file *part) {
    whole->parts.reserve(whole->parts.size() + 1);
    for (gguf_tensor &t : part->tensors) {
        t.file = (uint32_t)whole->parts.size();
        whole->tensors.push_back(std::move(t));
    }
    for (std::string &w : part->warnings) whole->warnings.push_back(std::move(w));
    whole->parts.push_back(std::move(part->parts[0]));
    part->parts.clear();
}

static llm_status find_parts(const split_name *name, llm_error *err) {
    std::vector<uint32_t> missing;
    for (uint32_t number = 1; number <= name->count; number++)
        if (!file_exists(part_path(name, number).c_str())) missing.push_back(number);
    return missing.empty() ? LLM_OK : missing_parts(name, missing, err);
}

// `opened` is part name->number; the result replaces it.
static llm_status open_others(const split_name *name, gguf_file *opened, llm_error *err) {
    LLM_TRY(check_place(opened, name, name->number, err));
    LLM_TRY(find_parts(name, err));
    unfinished_file whole;
    for (uint32_t number = 1; number <= name->count; number++) {
        unfinished_file part;
        if (number == name->number) {
            std::swap(part.file, *opened);
        } else {
            file_source source;
            LLM_TRY(file_open(part_path(name, number).c_str(), &source, err));
            LLM_TRY(open_part(&source, &part.file, err));
            LLM_TRY(check_place(&part.file, name, number, err));
        }
        if (number == 1)
            std::swap(whole.file, part.file);
        else
            join(&whole.file, &part.file);
    }
    std::swap(*opened, whole.file);
    return LLM_OK;
}

static llm_status check_tensor_count(const gguf_file *file, llm_error *err) {
    if (!gguf_find(file, "split.tensors.count")) return LLM_OK;
    uint64_t count;
    LLM_TRY(gguf_get_u64(file, "split.tensors.count", &count, err));
    if (count == file->tensors.size()) return LLM_OK;
    return fail(err, LLM_ERR_DAMAGED, "%s is damaged: all parts have %zu tensors, expected %llu (split.tensors.count)",
                file->parts[0].name.c_str(), file->tensors.size(), (unsigned long long)count);
}

// Everything after the first bytes are at hand; `path` is NULL when there is none to find other parts by.
static llm_status open_all(file_source *source, const char *path, gguf_file *out, llm_error *err) {
    unfinished_file f;
    LLM_TRY(open_part(source, &f.file, err));
    uint64_t no, count;
    LLM_TRY(split_place(&f.file, &no, &count, err));
    if (count > 1) {
        split_name name;
        if (!path || !parse_split_name(path, &name))
            return fail(err, LLM_ERR_UNSUPPORTED,
                        "%s is part %llu of %llu of a model; the others are found only beside a file whose name ends "
                        "like -00001-of-00002.gguf",
                        f.file.parts[0].name.c_str(), (unsigned long long)no + 1, (unsigned long long)count);
        LLM_TRY(open_others(&name, &f.file, err));
        LLM_TRY(check_tensor_count(&f.file, err));
    }
    LLM_TRY(index_tensors(&f.file, err));
    std::swap(*out, f.file);
    return LLM_OK;
}

namespace {
struct source_guard { // the source is ours on every way out
    file_source source;
    ~source_guard() { file_close(&source); }
};
}

llm_status gguf_open_source(file_source source, gguf_file *out, llm_error *err) {
    source_guard guard = {std::move(source)};
    return open_all(&guard.source, nullptr, out, err);
}

llm_status gguf_open(const char *path, gguf_file *out, llm_error *err) {
    source_guard guard;
    LLM_TRY(file_open(path, &guard.source, err));
    return open_all(&guard.source, path, out, err);
}

} // namespace llm

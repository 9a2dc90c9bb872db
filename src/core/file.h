// Where bytes of a model come from: a file, a range of an open descriptor, or memory of the caller. And where they go:
// a file that appears under its name only when it is complete.
#pragma once
#include "core/status.h"
#include <string>

namespace llm {

struct file_source {
    int fd = -1; // >= 0: read by pread at base + offset
    bool owns_fd = false;
    uint64_t base = 0;               // offset of the source's first byte in the descriptor
    uint64_t size = 0;               // bytes of the source
    const uint8_t *memory = nullptr; // used instead of fd when not NULL; belongs to the caller
    std::string name;                // for messages, quoted: 'a/b.gguf', "descriptor 5", "memory buffer"
};

// A directory, a device, a missing or an unreadable file each give their own sentence (LLM_ERR_IO). An empty file
// opens; what that means is for the caller to say.
llm_status file_open(const char *path, file_source *out, llm_error *err);
// Takes a range of `fd` without owning it; length 0 means up to the end.
llm_status file_from_descriptor(int fd, uint64_t offset, uint64_t length, file_source *out, llm_error *err);
file_source file_from_memory(const void *data, size_t size);
// Reads exactly `bytes` at `offset` or fails (LLM_ERR_IO: short file or the system's text). Thread-safe.
llm_status file_read(const file_source *source, uint64_t offset, void *out, size_t bytes, llm_error *err);
// Tells the system that the range will not be read again (drops page cache behind a load); best effort.
void file_forget(const file_source *source, uint64_t offset, uint64_t bytes);
void file_close(file_source *source);

// All bytes of a source as memory: read-only, shared with others that map the file, given back to the system when it
// is short. Outlives the source. Bytes that the file loses later end the process when they are touched.
struct file_map {
    const uint8_t *data = nullptr; // the source's first byte
    void *base = nullptr;          // what the system was asked for: whole pages
    size_t bytes = 0;
};
// false where it cannot be had (memory sources, no room for addresses): read instead.
bool file_map_all(const file_source *source, file_map *out);
void file_unmap(file_map *map);

// Whether `path` is the very file that the source reads, by whatever name.
bool file_is_same(const file_source *source, const char *path);
// Bytes that may still be written beside `path`; UINT64_MAX: unknown.
uint64_t file_free_bytes(const char *path);
// Whether something, readable or not, has this path.
bool file_exists(const char *path);
// Contents of a small file that the kernel makes up on reading (/proc, /sys); "" when it cannot be read, at most 1 MiB.
std::string file_small_text(const std::string &path);

// Output: written to `path`.tmp, which is renamed to `path` by file_commit. Every failure removes the temporary file
// and leaves what was at `path` before as it was.
struct file_output {
    int fd = -1;
    std::string path, temporary;
    uint64_t written = 0;
};
std::string file_temporary_path(const char *path);
// Refuses a `path` that exists and is not a regular file. `out` is for one use at a time.
llm_status file_create(const char *path, file_output *out, llm_error *err);
llm_status file_write(file_output *out, const void *data, size_t bytes, llm_error *err);
// Syncs, closes and renames.
llm_status file_commit(file_output *out, llm_error *err);
// Removes what was written; nothing to do after a commit or a failure.
void file_discard(file_output *out);

} // namespace llm

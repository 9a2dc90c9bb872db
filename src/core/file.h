// Where bytes of a model come from: a file, a range of an open descriptor, or memory of the caller.
#pragma once
#include "core/status.h"

namespace llm {

struct file_source {
    int fd = -1;                     // >= 0: read by pread at base + offset
    bool owns_fd = false;
    uint64_t base = 0;               // offset of the source's first byte in the descriptor
    uint64_t size = 0;               // bytes of the source
    const uint8_t *memory = nullptr; // used instead of fd when not NULL; belongs to the caller
};

// A directory, a missing or an unreadable file each give their own sentence.
llm_status file_open(const char *path, file_source *out, llm_error *err);
// Takes a range of `fd` without owning it; length 0 means up to the end.
llm_status file_from_descriptor(int fd, uint64_t offset, uint64_t length, file_source *out, llm_error *err);
file_source file_from_memory(const void *data, size_t size);
// Reads exactly `bytes` at `offset` or fails (LLM_ERR_IO: short file or the system's text). Thread-safe.
llm_status file_read(const file_source *source, uint64_t offset, void *out, size_t bytes, llm_error *err);
// Tells the system that the range will not be read again (drops page cache behind a load); best effort.
void file_forget(const file_source *source, uint64_t offset, uint64_t bytes);
void file_close(file_source *source);

} // namespace llm

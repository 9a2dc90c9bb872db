#if !defined(_FILE_OFFSET_BITS)
#define _FILE_OFFSET_BITS 64
#endif
#include "core/file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>

namespace llm {

static_assert(sizeof(off_t) == 8, "model files are larger than 2 GiB");

// One call moves at most this much: Linux stops at 2 GiB - 4 KiB, other systems fail beyond INT_MAX.
static const size_t MOST_PER_CALL = (size_t)1 << 30;

static int open_retrying(const char *path, int flags, mode_t mode) {
    int fd;
    do fd = open(path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

// In quotes; of a very long path the end, so that the rest of the sentence still fits into an error.
static std::string quoted_path(const char *path) {
    const size_t longest = 240;
    size_t n = strlen(path);
    if (n <= longest) return "'" + std::string(path) + "'";
    const char *end = path + n - longest;
    while (((unsigned char)*end & 0xC0) == 0x80) end++; // at the start of a character
    return "'..." + std::string(end) + "'";
}

static llm_status open_failed(const char *name, int os_error, llm_error *err) {
    if (os_error == ENOENT) return fail(err, LLM_ERR_IO, "%s does not exist", name);
    return fail_os(err, LLM_ERR_IO, os_error, "%s cannot be opened", name);
}

// The size of a regular file; everything else that can be opened (a pipe, a terminal, a folder) is refused.
static llm_status regular_size(int fd, const char *name, uint64_t *size, llm_error *err) {
    struct stat s;
    if (fstat(fd, &s) != 0) return fail_os(err, LLM_ERR_IO, errno, "%s cannot be examined", name);
    if (S_ISDIR(s.st_mode)) return fail(err, LLM_ERR_IO, "%s is a directory, expected a file", name);
    if (!S_ISREG(s.st_mode)) return fail(err, LLM_ERR_IO, "%s is not a regular file", name);
    *size = (uint64_t)s.st_size;
    return LLM_OK;
}

llm_status file_open(const char *path, file_source *out, llm_error *err) {
    if (!path || !*path) return fail(err, LLM_ERR_ARGUMENT, "the path of the file to open is empty");
    file_source source;
    source.name = quoted_path(path); // before there is a descriptor that a failing allocation would leak
    // O_NONBLOCK: a named pipe would otherwise wait for a writer; regular files do not know it.
    source.fd = open_retrying(path, O_RDONLY | O_NONBLOCK, 0);
    if (source.fd < 0) return open_failed(source.name.c_str(), errno, err);
    source.owns_fd = true;
    llm_status status = regular_size(source.fd, source.name.c_str(), &source.size, err);
    if (status != LLM_OK) {
        file_close(&source);
        return status;
    }
    *out = std::move(source);
    return LLM_OK;
}

llm_status file_from_descriptor(int fd, uint64_t offset, uint64_t length, file_source *out, llm_error *err) {
    file_source source;
    source.fd = fd;
    source.name = "descriptor " + std::to_string(fd);
    uint64_t size = 0;
    LLM_TRY(regular_size(fd, source.name.c_str(), &size, err));
    if (offset > size || length > size - offset)
        return fail(err, LLM_ERR_ARGUMENT, "%s: the range of %llu bytes at %llu is outside its file of %llu bytes",
                    source.name.c_str(), (unsigned long long)length, (unsigned long long)offset,
                    (unsigned long long)size);
    source.base = offset;
    source.size = length ? length : size - offset;
    *out = std::move(source);
    return LLM_OK;
}

file_source file_from_memory(const void *data, size_t size) {
    file_source source;
    static const uint8_t nothing = 0;
    source.memory = data ? (const uint8_t *)data : &nothing;
    source.size = data ? size : 0;
    source.name = "memory buffer";
    return source;
}

llm_status file_read(const file_source *source, uint64_t offset, void *out, size_t bytes, llm_error *err) {
    if (offset > source->size || bytes > source->size - offset)
        return fail(err, LLM_ERR_IO, "%s: %zu bytes wanted at %llu, but it ends at %llu", source->name.c_str(), bytes,
                    (unsigned long long)offset, (unsigned long long)source->size);
    if (bytes == 0) return LLM_OK;
    if (source->memory) {
        memcpy(out, source->memory + offset, bytes);
        return LLM_OK;
    }
    uint8_t *to = (uint8_t *)out;
    uint64_t from = source->base + offset;
    while (bytes > 0) {
        ssize_t n = pread(source->fd, to, bytes < MOST_PER_CALL ? bytes : MOST_PER_CALL, (off_t)from);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            return fail_os(err, LLM_ERR_IO, errno, "%s cannot be read at %llu", source->name.c_str(),
                           (unsigned long long)(from - source->base));
        if (n == 0)
            return fail(err, LLM_ERR_IO, "%s became shorter while it was read: it ends at %llu", source->name.c_str(),
                        (unsigned long long)(from - source->base));
        to += n;
        from += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return LLM_OK;
}

void file_forget(const file_source *source, uint64_t offset, uint64_t bytes) {
#if defined(POSIX_FADV_DONTNEED)
    if (source->fd < 0 || bytes == 0) return; // a length of 0 would mean up to the end
    posix_fadvise(source->fd, (off_t)(source->base + offset), (off_t)bytes, POSIX_FADV_DONTNEED);
#else
    (void)source, (void)offset, (void)bytes;
#endif
}

bool file_map_all(const file_source *source, file_map *out) {
    if (source->fd < 0 || source->memory || source->size == 0) return false;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), inside = source->base % page, bytes = inside + source->size;
    if (bytes > SIZE_MAX) return false;
    void *base = mmap(nullptr, (size_t)bytes, PROT_READ, MAP_SHARED, source->fd, (off_t)(source->base - inside));
    if (base == MAP_FAILED) return false;
    *out = {(const uint8_t *)base + inside, base, (size_t)bytes};
    return true;
}

void file_unmap(file_map *map) {
    if (map->base) munmap(map->base, map->bytes);
    *map = file_map();
}

bool file_is_same(const file_source *source, const char *path) {
    struct stat a, b;
    if (source->fd < 0 || fstat(source->fd, &a) != 0 || stat(path, &b) != 0) return false;
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static std::string folder_of(const std::string &path) {
    size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

uint64_t file_free_bytes(const char *path) {
    struct statvfs s;
    if (statvfs(folder_of(path).c_str(), &s) != 0) return UINT64_MAX;
    return (uint64_t)s.f_bavail * s.f_frsize;
}

void file_close(file_source *source) {
    if (source->owns_fd && source->fd >= 0) close(source->fd);
    *source = file_source();
}

bool file_exists(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 || errno != ENOENT;
}

namespace {
struct open_descriptor { // closed on every way out
    int fd;
    ~open_descriptor() {
        if (fd >= 0) close(fd);
    }
};
}

std::string file_small_text(const std::string &path) {
    const size_t most = (size_t)1 << 20;
    open_descriptor file = {open_retrying(path.c_str(), O_RDONLY | O_NONBLOCK, 0)};
    std::string text;
    char piece[4096];
    while (file.fd >= 0 && text.size() < most) {
        ssize_t n = read(file.fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        text.append(piece, (size_t)n);
    }
    return text;
}

std::string file_temporary_path(const char *path) { return std::string(path) + ".tmp"; }

llm_status file_create(const char *path, file_output *out, llm_error *err) {
    if (!path || !*path) return fail(err, LLM_ERR_ARGUMENT, "the path of the file to write is empty");
    struct stat s;
    // Renaming over a device or a pipe would replace it.
    if (stat(path, &s) == 0 && !S_ISREG(s.st_mode))
        return fail(err, LLM_ERR_IO, "'%s' is %s, expected a file name", path,
                    S_ISDIR(s.st_mode) ? "a directory" : "not a regular file");
    file_output output;
    output.path = path;
    output.temporary = file_temporary_path(path);
    output.fd = open_retrying(output.temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (output.fd < 0) return fail_os(err, LLM_ERR_IO, errno, "'%s' cannot be created", output.temporary.c_str());
    *out = std::move(output);
    return LLM_OK;
}

void file_discard(file_output *out) {
    if (out->fd < 0) return;
    close(out->fd);
    unlink(out->temporary.c_str());
    out->fd = -1;
}

static llm_status output_failed(file_output *out, const char *what, llm_error *err) {
    int os_error = errno;
    file_discard(out);
    return fail_os(err, LLM_ERR_IO, os_error, "'%s' %s", out->temporary.c_str(), what);
}

llm_status file_write(file_output *out, const void *data, size_t bytes, llm_error *err) {
    if (out->fd < 0) return fail(err, LLM_ERR_IO, "'%s' is not open for writing", out->path.c_str());
    const uint8_t *from = (const uint8_t *)data;
    while (bytes > 0) {
        ssize_t n = write(out->fd, from, bytes < MOST_PER_CALL ? bytes : MOST_PER_CALL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return output_failed(out, "cannot be written", err);
        from += n;
        out->written += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return LLM_OK;
}

// Some file systems (and descriptors of network mounts) cannot sync and say EINVAL: nothing more can be done there.
static bool sync_retrying(int fd) {
    int result;
    do result = fsync(fd);
    while (result != 0 && errno == EINTR);
    return result == 0 || errno == EINVAL;
}

// Without this a crash soon after could lose the new name, never the contents; so failures do not matter.
static void sync_folder(const char *folder) {
    int fd = open_retrying(folder, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0) return;
    sync_retrying(fd);
    close(fd);
}

llm_status file_commit(file_output *out, llm_error *err) {
    if (out->fd < 0) return fail(err, LLM_ERR_IO, "'%s' is not open for writing", out->path.c_str());
    std::string folder = folder_of(out->path);
    if (!sync_retrying(out->fd)) return output_failed(out, "cannot be synced to disk", err);
    if (rename(out->temporary.c_str(), out->path.c_str()) != 0)
        return output_failed(out, "cannot be renamed into place", err);
    close(out->fd); // after a successful fsync nothing is left that this could lose
    out->fd = -1;
    sync_folder(folder.c_str());
    return LLM_OK;
}

} // namespace llm

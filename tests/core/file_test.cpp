// Sources and outputs, and the sentences of what goes wrong.
#include "test.h"
#include "core/file.h"
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

using namespace llm;

namespace {
struct folder { // of temporary files, removed at the end
    std::string path;
    folder() {
        char name[] = "/tmp/llm-file-XXXXXX";
        path = mkdtemp(name);
    }
    ~folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    std::string operator/(const char *name) const { return path + "/" + name; }
};
}

static void put(const std::string &path, const std::string &bytes) { std::ofstream(path, std::ios::binary) << bytes; }
static std::string get(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
}
static bool exists(const std::string &path) { return access(path.c_str(), F_OK) == 0; }

static std::string open_message(const std::string &path) {
    file_source source;
    llm_error err = {};
    CHECK(file_open(path.c_str(), &source, &err) == LLM_ERR_IO);
    CHECK(source.fd == -1);
    return err.message;
}

TEST_CASE("a file that cannot be opened gives a sentence of its own", "[file]") {
    folder f;
    CHECK(open_message(f / "absent") == "'" + (f / "absent") + "' does not exist");
    CHECK(open_message(f.path) == "'" + f.path + "' is a directory, expected a file");
    REQUIRE(mkfifo((f / "pipe").c_str(), 0600) == 0);
    CHECK(open_message(f / "pipe") == "'" + (f / "pipe") + "' is not a regular file");
    CHECK(open_message("/dev/null") == "'/dev/null' is not a regular file");
    put(f / "file", "x");
    CHECK(open_message((f / "file") + "/below").find("Not a directory") != std::string::npos);
    if (geteuid() != 0) { // root reads everything
        chmod((f / "file").c_str(), 0);
        CHECK(open_message(f / "file").find("cannot be opened: Permission denied") != std::string::npos);
    }
    file_source source;
    CHECK(file_open(nullptr, &source, nullptr) == LLM_ERR_ARGUMENT);
    CHECK(file_open("", &source, nullptr) == LLM_ERR_ARGUMENT);
}

TEST_CASE("paths may hold any UTF-8, and an empty file opens", "[file]") {
    folder f;
    put(f / "модель 模型 🦙 é.gguf", "abc");
    put(f / "empty", "");
    file_source source;
    llm_error err;
    REQUIRE(file_open((f / "модель 模型 🦙 é.gguf").c_str(), &source, &err) == LLM_OK);
    CHECK(source.size == 3);
    file_close(&source);
    CHECK(source.fd == -1);
    REQUIRE(file_open((f / "empty").c_str(), &source, &err) == LLM_OK);
    CHECK(source.size == 0);
    CHECK(file_read(&source, 0, nullptr, 0, &err) == LLM_OK);
    file_close(&source);
}

static void check_reads(const file_source &source, const std::string &bytes) {
    REQUIRE(source.size == bytes.size());
    char buffer[32];
    llm_error err = {};
    for (size_t offset = 0; offset <= bytes.size(); offset++)
        for (size_t n = 0; offset + n <= bytes.size(); n++) {
            REQUIRE(file_read(&source, offset, buffer, n, &err) == LLM_OK);
            REQUIRE(memcmp(buffer, bytes.data() + offset, n) == 0);
        }
    CHECK(file_read(&source, 0, buffer, bytes.size() + 1, &err) == LLM_ERR_IO);
    CHECK(std::string(err.message).find("ends at " + std::to_string(bytes.size())) != std::string::npos);
    CHECK(file_read(&source, UINT64_MAX, buffer, 2, &err) == LLM_ERR_IO);
    file_forget(&source, 0, bytes.size());
}

TEST_CASE("a file, a range of a descriptor and memory read the same", "[file]") {
    folder f;
    const std::string bytes = "0123456789abcdef";
    put(f / "x", bytes);
    file_source source;
    llm_error err;
    REQUIRE(file_open((f / "x").c_str(), &source, &err) == LLM_OK);
    check_reads(source, bytes);
    file_close(&source);
    check_reads(file_from_memory(bytes.data(), bytes.size()), bytes);
    check_reads(file_from_memory(nullptr, 0), "");

    int fd = open((f / "x").c_str(), O_RDONLY);
    lseek(fd, 5, SEEK_SET);
    REQUIRE(file_from_descriptor(fd, 0, 0, &source, &err) == LLM_OK);
    check_reads(source, bytes);
    REQUIRE(file_from_descriptor(fd, 4, 7, &source, &err) == LLM_OK);
    check_reads(source, bytes.substr(4, 7));
    REQUIRE(file_from_descriptor(fd, 10, 0, &source, &err) == LLM_OK);
    check_reads(source, bytes.substr(10));
    file_close(&source);
    CHECK(lseek(fd, 0, SEEK_CUR) == 5); // neither moved nor closed
    CHECK(file_from_descriptor(fd, 10, 7, &source, &err) == LLM_ERR_ARGUMENT);
    CHECK(file_from_descriptor(fd, UINT64_MAX, 2, &source, &err) == LLM_ERR_ARGUMENT);
    close(fd);
    CHECK(file_from_descriptor(fd, 0, 0, &source, &err) == LLM_ERR_IO);
    CHECK(std::string(err.message).find("Bad file descriptor") != std::string::npos);
}

TEST_CASE("offsets are 64 bit, and a file that shrinks is an error", "[file]") {
    folder f;
    put(f / "sparse", "");
    REQUIRE(truncate((f / "sparse").c_str(), 6000000000) == 0);
    file_source source;
    llm_error err;
    REQUIRE(file_open((f / "sparse").c_str(), &source, &err) == LLM_OK);
    CHECK(source.size == 6000000000);
    char last[8] = "xxxxxxx";
    REQUIRE(file_read(&source, 5999999992, last, 8, &err) == LLM_OK);
    CHECK(last[7] == 0);
    REQUIRE(truncate((f / "sparse").c_str(), 5000000000) == 0);
    CHECK(file_read(&source, 4999999996, last, 8, &err) == LLM_ERR_IO);
    CHECK(std::string(err.message).find("became shorter while it was read: it ends at 5000000000") !=
          std::string::npos);
    file_close(&source);
}

TEST_CASE("output appears under its name only when committed", "[file]") {
    folder f;
    const std::string path = f / "out.gguf";
    put(path, "before");
    file_output out;
    llm_error err;
    REQUIRE(file_create(path.c_str(), &out, &err) == LLM_OK);
    REQUIRE(file_write(&out, "after", 5, &err) == LLM_OK);
    CHECK(out.written == 5);
    CHECK(get(path) == "before");
    CHECK(exists(path + ".tmp"));
    REQUIRE(file_commit(&out, &err) == LLM_OK);
    CHECK(get(path) == "after");
    CHECK_FALSE(exists(path + ".tmp"));
    CHECK(file_write(&out, "x", 1, &err) == LLM_ERR_IO);

    REQUIRE(file_create(path.c_str(), &out, &err) == LLM_OK);
    REQUIRE(file_write(&out, "never", 5, &err) == LLM_OK);
    file_discard(&out);
    CHECK(get(path) == "after");
    CHECK_FALSE(exists(path + ".tmp"));
}

TEST_CASE("a failing output leaves nothing behind", "[file]") {
    folder f;
    file_output out;
    llm_error err = {};
    CHECK(file_create((f / "no/such/folder").c_str(), &out, &err) == LLM_ERR_IO);
    CHECK(std::string(err.message).find("No such file or directory") != std::string::npos);
    CHECK(file_create(f.path.c_str(), &out, &err) == LLM_ERR_IO);
    CHECK(std::string(err.message) == "'" + f.path + "' is a directory, expected a file name");
    CHECK(file_create("/dev/null", &out, &err) == LLM_ERR_IO);
    CHECK(std::string(err.message) == "'/dev/null' is not a regular file, expected a file name");
    CHECK(out.fd == -1);

    // A target that becomes a folder meanwhile: the rename fails.
    REQUIRE(file_create((f / "x").c_str(), &out, &err) == LLM_OK);
    REQUIRE(mkdir((f / "x").c_str(), 0700) == 0);
    CHECK(file_commit(&out, &err) == LLM_ERR_IO);
    CHECK(std::string(err.message).find("cannot be renamed into place") != std::string::npos);
    CHECK_FALSE(exists((f / "x") + ".tmp"));

    if (exists("/dev/full")) { // a disk without space
        REQUIRE(symlink("/dev/full", ((f / "full") + ".tmp").c_str()) == 0);
        REQUIRE(file_create((f / "full").c_str(), &out, &err) == LLM_OK);
        CHECK(file_write(&out, "x", 1, &err) == LLM_ERR_IO);
        CHECK(std::string(err.message).find("cannot be written: No space left on device") != std::string::npos);
        CHECK_FALSE(exists((f / "full") + ".tmp"));
    }
}

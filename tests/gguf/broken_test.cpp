// Named ways in which a file can be wrong, each with its status and the heart of its sentence.
#include "test.h"
#include "gguf/sample.h"

using namespace llm;

namespace {
struct broken {
    const char *what;
    std::string bytes;
    llm_status status;
    const char *sentence;
};
}

static raw_bytes make() { return raw_bytes(); }

// One tensor entry and `data` bytes behind it.
static std::string one_tensor(const std::vector<uint64_t> &shape, uint32_t format, uint64_t offset, size_t data) {
    return make().header(3, 1, 0).tensor("t", shape, format, offset).pad().zeros(data).bytes;
}

static std::string deep_arrays(int depth) {
    raw_bytes b = make().header(3, 0, 1).text("k").u32(GGUF_ARRAY);
    for (int i = 0; i < depth; i++) b.u32(GGUF_ARRAY).u64(1);
    return b.u32(GGUF_U8).u64(1).number<uint8_t>(1).bytes;
}

static std::string with_alignment(uint32_t alignment, size_t data) {
    return make()
        .header(3, 1, 1)
        .key_u32("general.alignment", alignment)
        .tensor("t", {8}, 0, 0)
        .pad()
        .zeros(data)
        .bytes;
}

static const uint64_t HUGE_COUNT = (uint64_t)1 << 62;

static std::vector<broken> other_files() {
    const llm_status no = LLM_ERR_NOT_GGUF;
    std::string safetensors = raw_bytes().u64(20).bytes + "{\"a\":{\"dtype\":\"F32\"}}";
    return {
        {"empty", "", no, "it is empty"},
        {"one byte", "G", no, "it looks like text"},
        {"three bytes", std::string("\1\2\3"), no, "it has only 3 bytes"},
        {"HTML", "<!DOCTYPE html><html><head>", no, "looks like an HTML page"},
        {"HTML without doctype", "<html lang=en>", no, "looks like an HTML page"},
        {"ZIP", std::string("PK\3\4\24\0\0\0", 8), no, "looks like a ZIP archive"},
        {"pickle", "\x80\x02}q\1", no, "looks like a Python pickle"},
        {"gzip", "\x1f\x8b\x08\x08xxxx", no, "looks like a gzip file"},
        {"LFS pointer", "version https://git-lfs.github.com/spec/v1\noid", no, "looks like a Git LFS pointer"},
        {"safetensors", safetensors, no, "looks like a safetensors file"},
        {"JSON", "{\"architectures\": []}", no, "looks like JSON"},
        {"text", "Once upon a time", no, "looks like text"},
        {"zeros", std::string(100, 0), no, "it begins with zeros"},
        {"old GGML", std::string("tjgg\3\0\0\0", 8), no, "looks like an old GGML file"},
        {"anything", "\xde\xad\xbe\xef 1234", no, "begins with bytes de ad be ef"},
        {"lower case magic", make().header(3, 0, 0).bytes.replace(0, 4, "gguf"), no, "begins with bytes 67 67 75 66"},
    };
}

static std::vector<broken> bad_headers() {
    const llm_status bad = LLM_ERR_DAMAGED;
    return {
        {"version 0", make().header(0, 0, 0).bytes, LLM_ERR_UNSUPPORTED, "big-endian"},
        {"version 1", make().header(1, 0, 0).bytes, LLM_ERR_UNSUPPORTED, "version 1"},
        {"version 4", make().header(4, 0, 0).bytes, LLM_ERR_TOO_NEW, "version 4; this build (libllm "},
        {"version 65535", make().header(65535, 0, 0).bytes, LLM_ERR_TOO_NEW, "version 65535"},
        {"version of random bytes", make().header(0x89abcdef, 0, 0).bytes, bad, "its GGUF version is"},
        {"big-endian", make().header(0x03000000, 0, 0).bytes, LLM_ERR_UNSUPPORTED, "is a big-endian GGUF file"},
        {"only magic", "GGUF", bad, "ends at byte 4, inside the header"},
        {"too many keys", make().header(3, 0, 1000).zeros(100).bytes, bad,
         "ends at byte 124, too early for the 1000 metadata entries of"},
        {"-1 keys", make().header(3, 0, UINT64_MAX).zeros(100).bytes, bad, "metadata entries"},
        {"too many tensors", make().header(3, 1000, 0).zeros(100).bytes, bad,
         "ends at byte 124, too early for the 1000 tensors of its header"},
        {"-1 tensors", make().header(3, UINT64_MAX, 0).zeros(100).bytes, bad, "tensors of its header"},
        {"an absurd number of keys", make().header(3, 0, 100000).zeros(1300000).bytes, LLM_ERR_UNSUPPORTED,
         "has 100000 metadata entries, expected at most"},
    };
}

static std::vector<broken> bad_metadata() {
    const llm_status bad = LLM_ERR_DAMAGED;
    auto key = [](uint32_t type) { return make().header(3, 0, 1).text("k").u32(type); };
    auto array = [&](uint32_t type, uint64_t n) { return key(GGUF_ARRAY).u32(type).u64(n); };
    return {
        {"key length", make().header(3, 0, 1).u64(HUGE_COUNT).zeros(50).bytes, bad,
         "metadata entry 0 has a name longer"},
        {"key beyond the end", make().header(3, 0, 1).u64(100).zeros(50).bytes, bad, "inside metadata entry 0"},
        {"value type 13", key(13).zeros(50).bytes, bad, "key 'k' has value type 13, expected 0 to 12"},
        {"value type -1", key(UINT32_MAX).zeros(50).bytes, bad, "value type 4294967295"},
        {"string length", key(GGUF_STRING).u64(HUGE_COUNT).zeros(50).bytes, bad, "inside key 'k'"},
        {"string length -1", key(GGUF_STRING).u64(UINT64_MAX).zeros(50).bytes, bad, "inside key 'k'"},
        {"array type", array(13, 1).zeros(50).bytes, bad, "value type 13"},
        {"array count", array(GGUF_U32, HUGE_COUNT).zeros(50).bytes, bad, "elements of key 'k'"},
        {"array count that wraps", array(GGUF_F64, HUGE_COUNT / 2 + 1).zeros(50).bytes, bad, "elements of key 'k'"},
        {"array one too long", array(GGUF_U64, 7).zeros(55).bytes, bad, "too early for the 7 elements of"},
        {"string array count", array(GGUF_STRING, 8).zeros(63).bytes, bad, "too early for the 8 elements of"},
        {"string in an array", array(GGUF_STRING, 2).text("a").u64(HUGE_COUNT).zeros(9).bytes, bad, "inside key 'k'"},
        {"nested array count", array(GGUF_ARRAY, 1).u32(GGUF_U8).u64(51).zeros(50).bytes, bad,
         "too early for the 51 elements of"},
        {"arrays too deep", deep_arrays(20), bad, "has arrays in arrays too deep"},
        {"control characters in a key", make().header(3, 0, 1).text("a\n\x1b[31m\xff").u32(99).zeros(9).bytes, bad,
         "key 'a??[31m?' has value type 99"},
        {"alignment 0", with_alignment(0, 64), bad, "general.alignment is 0, expected a power of two"},
        {"alignment 24", with_alignment(24, 64), bad, "general.alignment is 24, expected a power of two"},
        {"alignment beyond the file", with_alignment(1u << 31, 64), bad, "1 of 1 tensors lie beyond"},
        {"alignment as text", make().header(3, 0, 1).text("general.alignment").u32(GGUF_STRING).text("32").bytes, bad,
         "key 'general.alignment' is a string, expected a whole number"},
    };
}

static std::vector<broken> bad_tensors() {
    const llm_status bad = LLM_ERR_DAMAGED;
    const uint64_t big = (uint64_t)1 << 33;
    raw_bytes two = make().header(3, 2, 0);
    return {
        {"5 dimensions", one_tensor({1, 1, 1, 1, 1}, 0, 0, 64), bad, "tensor 't' has 5 dimensions, expected at most 4"},
        {"-1 dimensions", make().header(3, 1, 0).text("t").u32(UINT32_MAX).zeros(64).bytes, bad, "dimensions"},
        {"a dimension of 0", one_tensor({8, 0}, 0, 0, 64), bad, "has a dimension of size 0"},
        {"more values than can be counted", one_tensor({big, big}, 0, 0, 64), bad, "more values than can be counted"},
        {"more bytes than can be counted", one_tensor({(uint64_t)1 << 62}, 0, 0, 64), bad, "more bytes than"},
        {"row of half a block", one_tensor({48}, 2, 0, 64), bad,
         "has rows of 48 values, expected a multiple of 32 for Q4_0"},
        {"removed format", one_tensor({32}, 4, 0, 64), LLM_ERR_UNSUPPORTED, "format number 4"},
        {"unknown format", one_tensor({32}, 99, 0, 64), LLM_ERR_UNSUPPORTED, "format number 99, which this build"},
        {"name length", make().header(3, 1, 0).u64(HUGE_COUNT).zeros(64).bytes, bad,
         "tensor entry 0 has a name longer"},
        {"offset not aligned", one_tensor({8}, 0, 8, 64), bad, "at offset 8, expected a multiple of 32"},
        {"offset beyond the end", one_tensor({8}, 0, 96, 64), bad, "1 of 1 tensors lie beyond: first 't', 32 bytes at"},
        {"offset that wraps", one_tensor({8}, 0, (uint64_t)0 - 32, 64), bad, "tensors lie beyond"},
        {"data cut by one byte", one_tensor({8}, 0, 32, 63), bad, "tensors lie beyond"},
        {"no data at all", one_tensor({8}, 0, 0, 0), bad, "tensors lie beyond"},
        {"overlap", raw_bytes(two).tensor("a", {16}, 0, 0).tensor("b", {8}, 0, 32).pad().zeros(64).bytes, bad,
         "tensors 'a' and 'b' share bytes at"},
        {"same place", raw_bytes(two).tensor("a", {8}, 0, 32).tensor("b", {8}, 0, 32).pad().zeros(64).bytes, bad,
         "share bytes"},
        {"same name", raw_bytes(two).tensor("a", {8}, 0, 0).tensor("a", {8}, 0, 32).pad().zeros(64).bytes, bad,
         "tensor 'a' is there more than once"},
        {"split without path", make().header(3, 0, 2).key_u32("split.no", 1).key_u32("split.count", 3).bytes,
         LLM_ERR_UNSUPPORTED, "is part 2 of 3 of a model"},
        {"split.count as text", make().header(3, 0, 1).text("split.count").u32(GGUF_STRING).text("3").bytes, bad,
         "key 'split.count' is a string"},
    };
}

static void check_all(const std::vector<broken> &files) {
    for (const broken &b : files) {
        opened o(b.bytes);
        INFO(b.what << ": status " << o.status << ", \"" << o.err.message << "\"");
        CHECK(o.status == b.status);
        CHECK(o.err.code == o.status);
        CHECK(o.message().find(b.sentence) != std::string::npos);
        CHECK(o.message().find("memory buffer") == 0);
        CHECK((o.file.parts.empty() && o.file.tensors.empty() && o.file.metadata.empty())); // as before the call
    }
}

TEST_CASE("what is no GGUF file is told by what it looks like", "[gguf]") { check_all(other_files()); }
TEST_CASE("a broken header has its status and sentence", "[gguf]") { check_all(bad_headers()); }
TEST_CASE("broken metadata has its status and sentence", "[gguf]") { check_all(bad_metadata()); }
TEST_CASE("a broken tensor entry has its status and sentence", "[gguf]") { check_all(bad_tensors()); }

TEST_CASE("what is unusual but right opens", "[gguf]") {
    const std::vector<std::pair<const char *, std::string>> files = {
        {"nothing at all", make().header(3, 0, 0).bytes},
        {"version 2", make().header(2, 0, 0).bytes},
        {"bytes behind the last tensor", one_tensor({8}, 0, 0, 1000)},
        {"a gap between tensors", one_tensor({8}, 0, 64, 96)},
        {"a scalar", one_tensor({}, 0, 0, 4)},
        {"a format that is only listed", one_tensor({256}, 21, 0, 110)},
        {"alignment 1", with_alignment(1, 64)},
        {"arrays in arrays", deep_arrays(5)},
        {"an empty key", make().header(3, 0, 1).key_u32("", 1).bytes},
    };
    for (const auto &[what, bytes] : files) {
        opened o(bytes);
        INFO(what << ": " << o.err.message);
        CHECK(o.status == LLM_OK);
    }
}

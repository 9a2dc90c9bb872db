// Reading whole files: values, tensors, sources, truncation.
#include "test.h"
#include "gguf/sample.h"
#include "temporary.h"
#include <cmath>
#include <fcntl.h>
#include <unistd.h>

using namespace llm;

TEST_CASE("values of every kind are found by key and type", "[gguf]") {
    opened o(sample_file());
    REQUIRE(o.status == LLM_OK);
    const gguf_file *f = &o.file;
    CHECK(f->version == 3);
    CHECK(gguf_string_or(f, "general.architecture", "?") == "llama");
    CHECK(gguf_string_or(f, "general.name", "?") == "");
    CHECK(gguf_u64_or(f, "llama.block_count", 0) == 2);
    CHECK(gguf_f64_or(f, "llama.block_count", 0) == 2.0);
    CHECK(gguf_u64_or(f, "llama.context_length", 0) == (uint64_t)1 << 40);
    CHECK((float)gguf_f64_or(f, "llama.attention.layer_norm_rms_epsilon", 0) == 1e-5f);
    CHECK(gguf_bool_or(f, "tokenizer.ggml.add_bos_token", false));
    CHECK(gguf_f64_or(f, "custom.minus_two", 0) == -2.0);
    const gguf_value *tokens = gguf_find(f, "tokenizer.ggml.tokens");
    REQUIRE(tokens);
    REQUIRE(tokens->strings.size() == 5);
    CHECK(tokens->count == 5);
    CHECK(tokens->strings[0] == "<s>");
    CHECK(tokens->strings[1] == "");
    CHECK(tokens->strings[4] == std::string_view("\0x", 2));
    double score = 0;
    CHECK(gguf_array_f64(gguf_find(f, "tokenizer.ggml.scores"), 2, &score));
    CHECK(score == -2.5);
    CHECK_FALSE(gguf_array_f64(gguf_find(f, "tokenizer.ggml.scores"), 5, &score));
    CHECK_FALSE(gguf_array_f64(tokens, 0, &score));
    CHECK_FALSE(gguf_array_f64(nullptr, 0, &score));
    CHECK(gguf_find(f, "absent") == nullptr);
    REQUIRE(f->warnings.size() == 1);
    CHECK(f->warnings[0] == "key 'custom.nested' holds arrays of arrays, which are not interpreted");
}

TEST_CASE("tensors have shape, format and place", "[gguf]") {
    std::string bytes = sample_file();
    opened o(bytes);
    REQUIRE(o.status == LLM_OK);
    REQUIRE(o.file.tensors.size() == 4);
    const gguf_tensor *t = gguf_find_tensor(&o.file, "token_embd.weight");
    REQUIRE(t == &o.file.tensors[0]);
    CHECK(t->format == FORMAT_Q4_0);
    CHECK(t->n_dims == 2);
    CHECK((t->shape[0] == 32 && t->shape[1] == 5 && t->shape[2] == 1 && t->shape[3] == 1));
    CHECK(t->bytes == 90);
    CHECK(t->offset % 32 == 0);
    CHECK((uint8_t)bytes[t->offset + 1] == 8);
    t = gguf_find_tensor(&o.file, "blk.0.gate");
    REQUIRE(t);
    CHECK(t->n_dims == 0);
    CHECK(t->bytes == 2);
    CHECK(gguf_find_tensor(&o.file, "blk.0") == nullptr);
}

static std::string why(llm_status status, const llm_error &err) {
    CHECK(status == LLM_ERR_DAMAGED);
    CHECK(err.code == status);
    return err.message;
}

TEST_CASE("a missing or malformed key is named with expected and found", "[gguf]") {
    opened o(sample_file());
    REQUIRE(o.status == LLM_OK);
    const gguf_file *f = &o.file;
    uint64_t u = 77;
    double d = 77;
    std::string_view s = "77";
    llm_error err;
    CHECK(why(gguf_get_u64(f, "absent", &u, &err), err) ==
          "memory buffer is damaged: key 'absent' is missing, expected a whole number that is not negative");
    CHECK(why(gguf_get_u64(f, "custom.minus_two", &u, &err), err) ==
          "memory buffer is damaged: key 'custom.minus_two' is -2 (i16), expected a whole number that is not negative");
    CHECK(why(gguf_get_f64(f, "general.name", &d, &err), err) ==
          "memory buffer is damaged: key 'general.name' is a string, expected a number");
    CHECK(why(gguf_get_f64(f, "tokenizer.ggml.scores", &d, &err), err) ==
          "memory buffer is damaged: key 'tokenizer.ggml.scores' is an array of 5 values (f32), expected a number");
    CHECK(why(gguf_get_string(f, "llama.block_count", &s, &err), err) ==
          "memory buffer is damaged: key 'llama.block_count' is 2 (u32), expected a string");
    CHECK(gguf_get_u64(f, "llama.attention.layer_norm_rms_epsilon", &u, nullptr) == LLM_ERR_DAMAGED);
    CHECK(gguf_get_u64(f, "tokenizer.ggml.add_bos_token", &u, nullptr) == LLM_ERR_DAMAGED);
    CHECK((u == 77 && d == 77 && s == "77"));
    CHECK(gguf_u64_or(f, "general.name", 5) == 5);
    CHECK(gguf_bool_or(f, "llama.block_count", true) == true); // 2 is no truth value
}

static uint64_t as_u64(gguf_type type, const std::string &data, bool *ok) {
    opened o(raw_bytes().header(3, 0, 1).text("k").u32(type).bytes + data);
    REQUIRE(o.status == LLM_OK);
    uint64_t v = 0;
    *ok = gguf_get_u64(&o.file, "k", &v, nullptr) == LLM_OK;
    return v;
}

TEST_CASE("numbers convert between types only when exact", "[gguf]") {
    bool ok;
    CHECK((as_u64(GGUF_F32, raw_bytes().number(4096.0f).bytes, &ok) == 4096 && ok));
    CHECK((as_u64(GGUF_F64, raw_bytes().number(9007199254740992.0).bytes, &ok) == 9007199254740992 && ok));
    CHECK((as_u64(GGUF_U64, raw_bytes().number(UINT64_MAX).bytes, &ok) == UINT64_MAX && ok));
    CHECK((as_u64(GGUF_I8, "\x7f", &ok) == 127 && ok));
    for (double bad : {0.5, -1.0, 18446744073709551616.0, (double)NAN, (double)INFINITY}) {
        as_u64(GGUF_F64, raw_bytes().number(bad).bytes, &ok);
        CHECK_FALSE(ok);
    }
    for (uint64_t inexact : {UINT64_MAX, ((uint64_t)1 << 53) + 1}) {
        opened o(raw_bytes().header(3, 0, 1).text("k").u32(GGUF_U64).u64(inexact).bytes);
        CHECK(gguf_f64_or(&o.file, "k", 5) == 5);
    }
}

TEST_CASE("an array of short strings survives moving the file", "[gguf]") {
    opened o(raw_bytes().header(2, 0, 1).text("k").u32(GGUF_ARRAY).u32(GGUF_STRING).u64(2).text("a").text("b").bytes);
    REQUIRE(o.status == LLM_OK);
    CHECK(o.file.version == 2);
    gguf_value moved = std::move(o.file.metadata[0].second);
    CHECK((moved.strings[0] == "a" && moved.strings[1] == "b"));
}

TEST_CASE("oddities that do not hinder reading are warnings", "[gguf]") {
    opened o(raw_bytes()
                 .header(3, 0, 3)
                 .key_u32("twice", 1)
                 .key_u32("twice", 2)
                 .text("truth")
                 .u32(GGUF_BOOL)
                 .number<uint8_t>(7)
                 .bytes);
    REQUIRE(o.status == LLM_OK);
    CHECK(gguf_u64_or(&o.file, "twice", 0) == 1);
    CHECK(gguf_bool_or(&o.file, "truth", false));
    REQUIRE(o.file.warnings.size() == 2);
    CHECK(o.file.warnings[0] == "key 'truth' holds the truth value 7, expected 0 or 1");
    CHECK(o.file.warnings[1] == "key 'twice' is there more than once; the first one counts");
}

TEST_CASE("a path, a range of a descriptor and memory give the same file", "[gguf]") {
    temporary_folder folder;
    std::string bytes = sample_file();
    write_bytes(folder / "模型 🦙.gguf", "12345" + bytes + "tail");
    int fd = open((folder / "模型 🦙.gguf").c_str(), O_RDONLY);
    file_source source;
    gguf_file f;
    llm_error err;
    REQUIRE(file_from_descriptor(fd, 5, bytes.size(), &source, &err) == LLM_OK);
    REQUIRE(gguf_open_source(source, &f, &err) == LLM_OK);
    opened o(bytes);
    REQUIRE(f.tensors.size() == o.file.tensors.size());
    for (size_t i = 0; i < f.tensors.size(); i++) {
        CHECK(f.tensors[i].name == o.file.tensors[i].name);
        CHECK(f.tensors[i].offset == o.file.tensors[i].offset);
    }
    gguf_close(&f);
    CHECK(lseek(fd, 0, SEEK_CUR) == 0); // still open
    close(fd);
    CHECK(gguf_open((folder / "模型 🦙.gguf").c_str(), &f, &err) == LLM_ERR_NOT_GGUF);
    CHECK(gguf_open((folder / "no such").c_str(), &f, &err) == LLM_ERR_IO);
}

// Cut within the padding behind the last tensor a file is still whole.
static size_t needed_bytes(const std::string &bytes) {
    opened o(bytes);
    size_t end = 0;
    for (const gguf_tensor &t : o.file.tensors) end = std::max<size_t>(end, t.offset + t.bytes);
    return end;
}

static void check_cut(const std::string &bytes, size_t length, size_t needed) {
    opened cut(bytes.substr(0, length));
    INFO("length " << length << ": " << cut.err.message);
    REQUIRE(cut.status == (length >= needed ? LLM_OK : length < 4 ? LLM_ERR_NOT_GGUF : LLM_ERR_DAMAGED));
    if (cut.status == LLM_ERR_DAMAGED)
        REQUIRE(cut.message().find("it ends at byte " + std::to_string(length)) != std::string::npos);
}

TEST_CASE("a file cut anywhere is damaged, and the sentence says where it ends", "[gguf]") {
    std::string bytes = sample_file();
    REQUIRE(bytes.size() > 1000);
    size_t needed = needed_bytes(bytes);
    for (size_t length = 0; length <= bytes.size(); length++) check_cut(bytes, length, needed);
}

TEST_CASE("a model cut anywhere is damaged", "[gguf]") {
    if (!have_test_data("arch")) return;
    std::string bytes = read_bytes(test_data() + "/arch/gemma3n/model.gguf");
    size_t needed = needed_bytes(bytes);
    for (size_t length = 0; length < bytes.size(); length += 997 + length / 16) check_cut(bytes, length, needed);

    temporary_folder folder; // the same through the window of a file
    llm_error err;
    gguf_file f;
    for (size_t length = 0; length < bytes.size(); length += 9973 + length / 4) {
        write_bytes(folder / "cut.gguf", bytes.substr(0, length));
        INFO(length);
        REQUIRE(gguf_open((folder / "cut.gguf").c_str(), &f, &err) ==
                (length < 4 ? LLM_ERR_NOT_GGUF : LLM_ERR_DAMAGED));
    }
}

TEST_CASE("all models of the conformance data open without a warning", "[gguf]") {
    size_t n = 0;
    for (const char *folder : {"arch", "embd", "lora", "mmproj", "mtp", "qmodel", "stories260k", "tok", "vocab"}) {
        if (!have_test_data(folder)) continue;
        for (const auto &entry : std::filesystem::recursive_directory_iterator(test_data() + "/" + folder)) {
            if (entry.path().extension() != ".gguf") continue;
            gguf_file f;
            llm_error err = {};
            INFO(entry.path() << ": " << err.message);
            CHECK(gguf_open(entry.path().c_str(), &f, &err) == LLM_OK);
            CHECK(f.warnings.empty());
            CHECK(gguf_find(&f, "general.architecture") != nullptr);
            gguf_close(&f);
            n++;
        }
    }
    if (!test_data().empty()) CHECK(n > 100);
}

// A vocabulary as large as the largest published ones, through the window of a file.
TEST_CASE("string arrays longer than the window arrive whole", "[gguf]") {
    temporary_folder folder;
    std::vector<std::string> tokens;
    for (uint32_t i = 0; i < 262144; i++)
        tokens.push_back(std::string(i % 29, (char)('a' + i % 26)) + std::to_string(i));
    tokens.push_back(std::string(1000000, 'z'));
    gguf_writer *w;
    llm_error err;
    REQUIRE(gguf_writer_open((folder / "v.gguf").c_str(), &w, &err) == LLM_OK);
    gguf_writer_set_strings(w, "tokenizer.ggml.tokens", tokens);
    REQUIRE(gguf_writer_begin_data(w, &err) == LLM_OK);
    REQUIRE(gguf_writer_finish(w, &err) == LLM_OK);
    gguf_file f;
    REQUIRE(gguf_open((folder / "v.gguf").c_str(), &f, &err) == LLM_OK);
    const gguf_value *v = gguf_find(&f, "tokenizer.ggml.tokens");
    REQUIRE(v->strings.size() == tokens.size());
    size_t wrong = 0;
    for (size_t i = 0; i < tokens.size(); i++) wrong += v->strings[i] != tokens[i];
    CHECK(wrong == 0);
    gguf_close(&f);
}

// What is written is what was read, and what goes wrong leaves no file.
#include "test.h"
#include "gguf/sample.h"
#include "temporary.h"

using namespace llm;

static std::string tensor_data(const gguf_file *f, const gguf_tensor *t) {
    std::string data(t->bytes, 0);
    REQUIRE(file_read(&f->parts[t->file], t->offset, &data[0], data.size(), nullptr) == LLM_OK);
    return data;
}

static void copy_file(const gguf_file *f, const std::string &path) {
    gguf_writer *w = nullptr;
    llm_error err = {};
    REQUIRE(gguf_writer_open(path.c_str(), &w, &err) == LLM_OK);
    for (const auto &[key, value] : f->metadata) gguf_writer_set_value(w, key, value);
    for (const gguf_tensor &t : f->tensors) gguf_writer_add_tensor(w, t.name, t.format, t.n_dims, t.shape);
    REQUIRE(gguf_writer_begin_data(w, &err) == LLM_OK);
    for (const gguf_tensor &t : f->tensors) {
        std::string data = tensor_data(f, &t);
        REQUIRE(gguf_writer_write(w, data.data(), data.size(), &err) == LLM_OK);
    }
    REQUIRE(gguf_writer_finish(w, &err) == LLM_OK);
}

static void check_equal(const gguf_file *a, const gguf_file *b) {
    REQUIRE(a->metadata.size() == b->metadata.size());
    for (size_t i = 0; i < a->metadata.size(); i++) {
        const gguf_value *x = &a->metadata[i].second, *y = &b->metadata[i].second;
        INFO(a->metadata[i].first);
        CHECK(a->metadata[i].first == b->metadata[i].first);
        CHECK((x->type == y->type && x->is_array == y->is_array && x->count == y->count));
        CHECK((x->data == y->data && x->strings == y->strings));
    }
    REQUIRE(a->tensors.size() == b->tensors.size());
    for (size_t i = 0; i < a->tensors.size(); i++) {
        const gguf_tensor *x = &a->tensors[i], *y = &b->tensors[i];
        INFO(x->name);
        CHECK((x->name == y->name && x->format == y->format && x->n_dims == y->n_dims));
        CHECK(memcmp(x->shape, y->shape, sizeof x->shape) == 0);
        CHECK(tensor_data(a, x) == tensor_data(b, y));
    }
}

static void check_round_trip(const std::string &from, const std::string &to) {
    gguf_file before, after;
    llm_error err = {};
    INFO(from);
    REQUIRE(gguf_open(from.c_str(), &before, &err) == LLM_OK);
    copy_file(&before, to);
    REQUIRE(gguf_open(to.c_str(), &after, &err) == LLM_OK);
    check_equal(&before, &after);
    gguf_close(&before);
    gguf_close(&after);
}

TEST_CASE("reading and writing keeps every byte", "[gguf]") {
    temporary_folder folder;
    write_bytes(folder / "sample.gguf", sample_file());
    check_round_trip(folder / "sample.gguf", folder / "copy.gguf");
    CHECK(read_bytes(folder / "copy.gguf") == sample_file());
    if (!have_test_data("arch")) return;
    size_t n = 0;
    for (const auto &entry : std::filesystem::directory_iterator(test_data() + "/arch")) {
        std::string path = entry.path().string() + "/model.gguf";
        check_round_trip(path, folder / "copy.gguf");
        CHECK(read_bytes(folder / "copy.gguf") == read_bytes(path)); // the other writer lays files out alike
        n++;
    }
    CHECK(n > 50);
}

static gguf_writer *begin(const std::string &path) {
    gguf_writer *w = nullptr;
    llm_error err = {};
    REQUIRE(gguf_writer_open(path.c_str(), &w, &err) == LLM_OK);
    return w;
}

TEST_CASE("the alignment key is honoured, and setting a key again replaces it", "[gguf]") {
    temporary_folder folder;
    gguf_writer *w = begin(folder / "x.gguf");
    gguf_writer_set_u32(w, "general.alignment", 64);
    gguf_writer_set_u32(w, "general.alignment", 4096);
    const uint64_t shape[] = {3};
    gguf_writer_add_tensor(w, "a", FORMAT_F32, 1, shape);
    gguf_writer_add_tensor(w, "b", FORMAT_F32, 1, shape);
    REQUIRE(gguf_writer_begin_data(w, nullptr) == LLM_OK);
    for (int i = 0; i < 24; i++) REQUIRE(gguf_writer_write(w, "x", 1, nullptr) == LLM_OK);
    REQUIRE(gguf_writer_finish(w, nullptr) == LLM_OK);
    opened o(read_bytes(folder / "x.gguf"));
    REQUIRE(o.status == LLM_OK);
    CHECK(o.file.alignment == 4096);
    CHECK(o.file.metadata.size() == 1);
    CHECK((o.file.tensors[0].offset == 4096 && o.file.tensors[1].offset == 8192));
}

// Ends the writer and expects no file, complete or not, in its folder.
static std::string finish_refused(gguf_writer *w, const temporary_folder &folder) {
    llm_error err = {};
    CHECK(gguf_writer_finish(w, &err) == LLM_ERR_ARGUMENT);
    CHECK(std::filesystem::is_empty(folder.path));
    return err.message;
}

TEST_CASE("too little, too much and untimely data leave no file", "[gguf]") {
    temporary_folder folder;
    const uint64_t shape[] = {4};
    llm_error err = {};
    gguf_writer *w = begin(folder / "x.gguf");
    gguf_writer_add_tensor(w, "a", FORMAT_F32, 1, shape);
    REQUIRE(gguf_writer_begin_data(w, &err) == LLM_OK);
    REQUIRE(gguf_writer_write(w, "0123456789", 10, &err) == LLM_OK);
    CHECK(finish_refused(w, folder) == "'" + (folder / "x.gguf") +
                                           "' cannot be written: less data came than was declared (0 of 1 tensors "
                                           "complete; 10 of 16 bytes of 'a')");
    w = begin(folder / "x.gguf");
    REQUIRE(gguf_writer_begin_data(w, &err) == LLM_OK);
    CHECK(gguf_writer_write(w, "x", 1, &err) == LLM_ERR_ARGUMENT);
    CHECK(std::string(err.message).find("more data came than was declared") != std::string::npos);
    CHECK(gguf_writer_finish(w, &err) == LLM_ERR_IO); // it was given up
    CHECK(std::filesystem::is_empty(folder.path));

    w = begin(folder / "x.gguf");
    CHECK(finish_refused(w, folder).find("the header is missing") != std::string::npos);
    w = begin(folder / "x.gguf");
    CHECK(gguf_writer_write(w, "x", 1, &err) == LLM_ERR_ARGUMENT);
    gguf_writer_abandon(w);
    w = begin(folder / "x.gguf");
    REQUIRE(gguf_writer_begin_data(w, &err) == LLM_OK);
    gguf_writer_set_u32(w, "late", 1);
    CHECK(finish_refused(w, folder).find("key 'late' came after the data was begun") != std::string::npos);
    w = begin(folder / "x.gguf");
    gguf_writer_abandon(w);
    CHECK(std::filesystem::is_empty(folder.path));
}

static std::string refused(void (*add)(gguf_writer *w)) {
    temporary_folder folder;
    gguf_writer *w = begin(folder / "x.gguf");
    add(w);
    llm_error err = {};
    CHECK(gguf_writer_begin_data(w, &err) == LLM_ERR_ARGUMENT);
    CHECK(std::filesystem::is_empty(folder.path));
    gguf_writer_abandon(w);
    return std::string(err.message).substr(folder.path.size() + strlen("'/x.gguf"));
}

TEST_CASE("declarations that make no sense are refused by name", "[gguf]") {
    static const uint64_t shape[] = {32, 0, 1, 1, 1}, half[] = {16};
    CHECK(refused([](gguf_writer *w) { gguf_writer_add_tensor(w, "a", FORMAT_F32, 2, shape); }) ==
          "' cannot be written: tensor 'a' has a dimension of size 0");
    CHECK(refused([](gguf_writer *w) { gguf_writer_add_tensor(w, "a", FORMAT_F32, 5, shape); }) ==
          "' cannot be written: tensor 'a' has more than 4 dimensions");
    CHECK(refused([](gguf_writer *w) { gguf_writer_add_tensor(w, "a", FORMAT_Q4_0, 1, half); }) ==
          "' cannot be written: tensor 'a' has rows of 16 values, expected a multiple of 32 for Q4_0");
    CHECK(refused([](gguf_writer *w) { gguf_writer_add_tensor(w, "a", (format_id)99, 1, shape); }) ==
          "' cannot be written: tensor 'a' has an unknown format");
    CHECK(refused([](gguf_writer *w) {
              gguf_writer_add_tensor(w, "a", FORMAT_F32, 1, shape);
              gguf_writer_add_tensor(w, "a", FORMAT_F32, 1, shape);
          }) == "' cannot be written: tensor 'a' was added twice");
    CHECK(refused([](gguf_writer *w) { gguf_writer_set_u32(w, "general.alignment", 48); }) ==
          "' cannot be written: key 'general.alignment' is not a power of two of type u32");
    CHECK(refused([](gguf_writer *w) { gguf_writer_set_u32(w, "", 1); }).find("has no name") != std::string::npos);
}

TEST_CASE("a writer that cannot create its file says so", "[gguf]") {
    gguf_writer *w = nullptr;
    llm_error err = {};
    CHECK(gguf_writer_open("/nonexistent/x.gguf", &w, &err) == LLM_ERR_IO);
    CHECK(std::string(err.message) == "'/nonexistent/x.gguf.tmp' cannot be created: No such file or directory");
    CHECK(w == nullptr);
    gguf_writer_abandon(nullptr);
}

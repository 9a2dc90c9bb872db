// Models in several files.
#include "test.h"
#include "gguf/sample.h"
#include "temporary.h"

using namespace llm;

// Part `no` of `count`, with one tensor of 8 floats.
static void write_part(const std::string &path, uint32_t no, uint32_t count, const std::string &tensor,
                       uint32_t all_tensors) {
    gguf_writer *w = nullptr;
    llm_error err = {};
    REQUIRE(gguf_writer_open(path.c_str(), &w, &err) == LLM_OK);
    if (no == 0) gguf_writer_set_string(w, "general.architecture", "llama");
    gguf_value place; // as other programs write it: u16
    place.type = GGUF_U16;
    place.data = raw_bytes().number((uint16_t)no).bytes;
    gguf_writer_set_value(w, "split.no", place);
    place.data = raw_bytes().number((uint16_t)count).bytes;
    gguf_writer_set_value(w, "split.count", place);
    gguf_writer_set_u32(w, "split.tensors.count", all_tensors);
    const uint64_t shape[] = {8};
    gguf_writer_add_tensor(w, tensor, FORMAT_F32, 1, shape);
    REQUIRE(gguf_writer_begin_data(w, &err) == LLM_OK);
    std::string data(32, (char)('0' + no));
    REQUIRE(gguf_writer_write(w, data.data(), data.size(), &err) == LLM_OK);
    REQUIRE(gguf_writer_finish(w, &err) == LLM_OK);
}

static std::string part_name(uint32_t number, uint32_t count) {
    char name[64];
    snprintf(name, sizeof name, "m-%05u-of-%05u.gguf", number, count);
    return name;
}

static void write_model(const temporary_folder &folder, uint32_t count) {
    for (uint32_t no = 0; no < count; no++)
        write_part(folder / part_name(no + 1, count), no, count, "t" + std::to_string(no), count);
}

static std::string open_error(const std::string &path, llm_status expected) {
    gguf_file f;
    llm_error err = {};
    CHECK(gguf_open(path.c_str(), &f, &err) == expected);
    gguf_close(&f);
    return err.message;
}

TEST_CASE("any part opens the whole model", "[gguf]") {
    temporary_folder folder;
    write_model(folder, 3);
    for (uint32_t number = 1; number <= 3; number++) {
        gguf_file f;
        llm_error err = {};
        REQUIRE(gguf_open((folder / part_name(number, 3)).c_str(), &f, &err) == LLM_OK);
        CHECK(gguf_string_or(&f, "general.architecture", "") == "llama");
        CHECK(gguf_u64_or(&f, "split.no", 9) == 0);
        REQUIRE(f.parts.size() == 3);
        REQUIRE(f.tensors.size() == 3);
        for (uint32_t i = 0; i < 3; i++) {
            const gguf_tensor *t = gguf_find_tensor(&f, "t" + std::to_string(i));
            REQUIRE(t);
            CHECK(t->file == i);
            char data[32];
            REQUIRE(file_read(&f.parts[t->file], t->offset, data, 32, &err) == LLM_OK);
            CHECK(data[31] == (char)('0' + i));
        }
        gguf_close(&f);
    }
}

TEST_CASE("all missing parts are named in one sentence", "[gguf]") {
    temporary_folder folder;
    write_model(folder, 4);
    for (uint32_t number : {1u, 4u}) std::filesystem::remove(folder / part_name(number, 4));
    std::string message = open_error(folder / part_name(2, 4), LLM_ERR_IO);
    CHECK(message == "2 of 4 parts of the model are missing beside '" + (folder / part_name(2, 4)) +
                         "': m-00001-of-00004.gguf, m-00004-of-00004.gguf");

    write_part(folder / part_name(5, 60), 4, 60, "t", 60);
    message = open_error(folder / part_name(5, 60), LLM_ERR_IO);
    CHECK(message.find("59 of 60 parts") == 0);
    CHECK(message.find("those with number 1-4, 6-60") != std::string::npos);
}

TEST_CASE("parts that do not belong together are refused", "[gguf]") {
    temporary_folder folder;
    write_model(folder, 2);
    write_part(folder / part_name(2, 2), 0, 2, "t1", 2);
    CHECK(open_error(folder / part_name(1, 2), LLM_ERR_DAMAGED)
              .find("should be part 2 of 2 by its name, but says that "
                    "it is part 1 of 2") != std::string::npos);
    CHECK(open_error(folder / part_name(2, 2), LLM_ERR_DAMAGED).find("should be part 2 of 2") != std::string::npos);
    write_part(folder / part_name(2, 2), 1, 2, "t0", 2);
    CHECK(open_error(folder / part_name(1, 2), LLM_ERR_DAMAGED).find("tensor 't0' is there more than once") !=
          std::string::npos);
    write_part(folder / part_name(1, 2), 0, 2, "a", 3);
    CHECK(open_error(folder / part_name(2, 2), LLM_ERR_DAMAGED).find("all parts have 2 tensors, expected 3") !=
          std::string::npos);
    write_bytes(folder / part_name(2, 2), sample_file());
    CHECK(open_error(folder / part_name(1, 2), LLM_ERR_DAMAGED).find("says that it is part 1 of 1") !=
          std::string::npos);
    write_bytes(folder / part_name(2, 2), "<html>");
    CHECK(open_error(folder / part_name(1, 2), LLM_ERR_NOT_GGUF).find("HTML") != std::string::npos);
}

TEST_CASE("a renamed part says how parts are named, a renamed whole model opens", "[gguf]") {
    temporary_folder folder;
    write_part(folder / "renamed.gguf", 0, 2, "t", 2);
    CHECK(open_error(folder / "renamed.gguf", LLM_ERR_UNSUPPORTED).find("is part 1 of 2 of a model") !=
          std::string::npos);
    write_bytes(folder / part_name(2, 7), sample_file());
    CHECK(open_error(folder / part_name(2, 7), LLM_OK) == "");
    write_part(folder / part_name(1, 1), 0, 1, "t", 1);
    CHECK(open_error(folder / part_name(1, 1), LLM_OK) == "");
}

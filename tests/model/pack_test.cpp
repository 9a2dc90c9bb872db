// Packed files: the same bits as the original on every tier, however they are opened; strict about everything that may
// be wrong with one; and written without ever touching the input.
#include "gguf/gguf.h"
#include "run/library.h"
#include "temporary.h"
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <unistd.h>

using namespace llm_test;

namespace {

const char *const own_models[] = {"stories260K-f32.gguf", "qmodel-q4_0.gguf", "qmodel-q4_k_m.gguf",  "gpt2.gguf",
                                  "llama-bias.gguf",      "qwen2.gguf",       "llama-gqa-tied.gguf", "qwen3.gguf",
                                  "gemma3.gguf"};

void pack(const std::string &from, const std::string &to) {
    llm_error err = {};
    expect_ok(llm_pack(from.c_str(), to.c_str(), nullptr, nullptr, &err), err);
}

std::vector<float> logits_with(llm_model *model) {
    context_handle context = make_context(model, context_options(32));
    uint32_t n_vocab = model_info(model).n_vocab;
    return logits_of(context.get(), random_ids(11, n_vocab, 5), n_vocab);
}

llm_estimate estimate_of(const std::string &path, const llm_model_options *options = nullptr) {
    llm_estimate e = {};
    llm_error err = {};
    expect_ok(llm_estimate_memory(path.c_str(), options, nullptr, &e, &err), err);
    return e;
}

llm_status load_bytes(const std::string &bytes, std::string *message = nullptr) {
    llm_model *model = nullptr;
    llm_error err = {};
    llm_status status = llm_model_load_buffer(bytes.data(), bytes.size(), nullptr, &model, &err);
    model_handle owned(model);
    if (message) *message = err.message;
    return status;
}

struct open_file {
    int fd;
    explicit open_file(const std::string &path) : fd(open(path.c_str(), O_RDONLY)) {}
    ~open_file() { close(fd); }
};

model_handle load_descriptor(int fd, uint64_t offset, uint64_t length) {
    llm_model *model = nullptr;
    llm_error err = {};
    expect_ok(llm_model_load_fd(fd, offset, length, nullptr, &model, &err), err);
    return model_handle(model);
}

} // namespace

TEST_CASE("a packed file gives the bits of its original on every tier", "[pack]") {
    temporary_folder f;
    for (const char *name : own_models) {
        pack(own_data(name), f / "packed.gguf");
        model_handle original = load_model(own_data(name));
        std::vector<float> expected = logits_with(original.get());
        for (size_t i = 0; const char *tier = llm_cpu_tier(i); i++) {
            CAPTURE(name, tier);
            model_handle packed = load_model(f / "packed.gguf", tier);
            CHECK(same_bits(expected, logits_with(packed.get())));
            CHECK(model_info(packed.get()).hash == model_info(original.get()).hash);
        }
    }
}

TEST_CASE("every block format gives the same bits packed", "[pack]") {
    temporary_folder f;
    size_t n_formats = 0;
    for (const llm::block_format *format = llm::format_table(nullptr); format->name; format++) {
        if (!llm::format_supported(format)) continue;
        CAPTURE(format->name);
        llm_error err = {};
        llm_status status = llm_synth("tiny-256", format->name, 1, (f / "m.gguf").c_str(), nullptr, nullptr, &err);
        if (status == LLM_ERR_NOT_FOUND) continue; // not a format that random weights are made in
        expect_ok(status, err);
        pack(f / "m.gguf", f / "packed.gguf");
        std::vector<float> expected = logits_with(load_model(f / "m.gguf").get());
        for (const char *tier : {(const char *)nullptr, "ref"})
            CHECK(same_bits(expected, logits_with(load_model(f / "packed.gguf", tier).get())));
        n_formats++;
    }
    CHECK(n_formats >= 20);
}

TEST_CASE("a packed file is mapped where that can be, else read, with the same bits", "[pack]") {
    temporary_folder f;
    pack(own_data("qmodel-q4_k_m.gguf"), f / "packed.gguf");
    const std::string packed = read_bytes(f / "packed.gguf");
    model_handle original = load_model(own_data("qmodel-q4_k_m.gguf"));
    const std::vector<float> expected = logits_with(original.get());
    for (size_t offset : {0, 64, 4096, 1, 32, 4100}) {
        CAPTURE(offset);
        write_bytes(f / "within", std::string(offset, 'x') + packed + "behind");
        open_file file(f / "within");
        model_handle model = load_descriptor(file.fd, offset, packed.size());
        std::filesystem::remove(f / "within");
        CHECK(same_bits(expected, logits_with(model.get())));
    }
    llm_model *model = nullptr;
    llm_error err = {};
    std::string unaligned = "x" + packed;
    expect_ok(llm_model_load_buffer(unaligned.data() + 1, packed.size(), nullptr, &model, &err), err);
    model_handle from_memory(model);
    unaligned.assign(unaligned.size(), 0);
    CHECK(same_bits(expected, logits_with(from_memory.get())));
    llm_model_options read_it = {};
    read_it.no_map = true;
    expect_ok(llm_model_load((f / "packed.gguf").c_str(), &read_it, &model, &err), err);
    model_handle not_mapped(model);
    std::filesystem::resize_file(f / "packed.gguf", 0); // would end the process if it were mapped
    CHECK(same_bits(expected, logits_with(not_mapped.get())));
}

TEST_CASE("mapped weights are counted apart, and not against the limit", "[pack]") {
    if (std::string(llm_cpu_tier(0)) == "ref") return; // reads them, into the original's blocks
    temporary_folder f;
    pack(own_data("qmodel-q4_0.gguf"), f / "packed.gguf");
    llm_estimate plain = estimate_of(own_data("qmodel-q4_0.gguf")), packed = estimate_of(f / "packed.gguf");
    CHECK(plain.mapped == 0);
    CHECK(packed.weights == 0);
    CHECK(packed.mapped == plain.weights);
    CHECK(packed.load_peak < plain.load_peak);
    llm_model_options o = {};
    o.no_map = true;
    CHECK(estimate_of(f / "packed.gguf", &o).weights == plain.weights);
    o.cpu_tier = "ref";
    o.no_map = false;
    CHECK(estimate_of(f / "packed.gguf", &o).mapped == 0);
    o = {};
    o.mem_limit = 1;
    llm_model *model = nullptr;
    llm_error err = {};
    CHECK(llm_model_load(own_data("qmodel-q4_0.gguf").c_str(), &o, &model, &err) == LLM_ERR_BUDGET);
    expect_ok(llm_model_load((f / "packed.gguf").c_str(), &o, &model, &err), err);
    llm_model_free(model);
}

TEST_CASE("a packed file lists its formats and keeps names, shapes and keys", "[pack]") {
    temporary_folder f;
    pack(own_data("qmodel-q4_k_m.gguf"), f / "packed.gguf");
    llm_file *was = nullptr, *is = nullptr;
    REQUIRE(llm_file_open(own_data("qmodel-q4_k_m.gguf").c_str(), &was, nullptr) == LLM_OK);
    REQUIRE(llm_file_open((f / "packed.gguf").c_str(), &is, nullptr) == LLM_OK);
    REQUIRE(llm_file_n_tensors(is) == llm_file_n_tensors(was));
    size_t n_packed = 0;
    for (size_t i = 0; i < llm_file_n_tensors(is); i++) {
        llm_file_tensor a = {}, b = {};
        REQUIRE(llm_file_tensor_at(was, i, &a, nullptr) == LLM_OK);
        REQUIRE(llm_file_tensor_at(is, i, &b, nullptr) == LLM_OK);
        CHECK(std::string(a.name) == b.name);
        CHECK(std::equal(a.shape, a.shape + 4, b.shape));
        bool packed = std::string(b.format) == std::string(a.format) + " packed";
        n_packed += packed;
        CHECK((packed || std::string(a.format) == b.format));
        CHECK((a.n_dims == 2) == packed);
    }
    CHECK(n_packed > 0);
    llm_file_free(was);
    llm_file_free(is);
}

TEST_CASE("a packed file cut anywhere is damaged", "[pack]") {
    temporary_folder f;
    pack(own_data("qwen2.gguf"), f / "packed.gguf");
    const std::string packed = read_bytes(f / "packed.gguf");
    llm::gguf_file file;
    REQUIRE(llm::gguf_open((f / "packed.gguf").c_str(), &file, nullptr) == LLM_OK);
    uint64_t header = UINT64_MAX, end = 0;
    for (const llm::gguf_tensor &t : file.tensors) {
        header = std::min(header, t.offset);
        end = std::max(end, t.offset + t.bytes);
    }
    llm::gguf_close(&file);
    auto cut_at = [&](size_t n) {
        llm_status status = load_bytes(packed.substr(0, n));
        if (status != LLM_ERR_DAMAGED && status != LLM_ERR_NOT_GGUF) FAIL("cut at " << n << ": " << status);
    };
    for (size_t n = 0; n <= header; n++) cut_at(n);
    for (size_t n = header; n < end; n += 997) cut_at(n);
    cut_at(end - 1);
    CHECK(load_bytes(packed.substr(0, end)) == LLM_OK);
}

namespace {

// The packed file with one thing written anew.
struct rewritten {
    std::string bytes;
    explicit rewritten(const std::string &packed) : bytes(packed) {}
    // Replaces what follows `key` and skips `skip` bytes first.
    template <class T> rewritten &after(const std::string &key, size_t skip, T value) {
        size_t at = bytes.find(key);
        REQUIRE(at != std::string::npos);
        memcpy(&bytes[at + key.size() + skip], &value, sizeof value);
        return *this;
    }
};

struct wrong {
    const char *what;
    std::function<void(rewritten &)> change;
    llm_status status;
    const char *sentence;
};

} // namespace

TEST_CASE("what is wrong with a packed file has its status and sentence", "[pack]") {
    temporary_folder f;
    pack(own_data("qwen2.gguf"), f / "packed.gguf");
    const std::string packed = read_bytes(f / "packed.gguf");
    const std::string version = "libllm.packed.version", sizes = "libllm.packed.bytes", tensor = "blk.0.attn_q.weight";
    const uint64_t large = (uint64_t)1 << 40;
    // Behind a key: its type (4 bytes), the value; an array: 9, type of the elements (4), count (8), elements. Behind a
    // tensor's name: dimensions (4), two sizes (16), type (4), offset.
    const wrong all[] = {
        {"newer layout", [&](rewritten &r) { r.after(version, 4, 2u); }, LLM_ERR_TOO_NEW, "is packed in layout 2"},
        {"layout 0", [&](rewritten &r) { r.after(version, 4, 0u); }, LLM_ERR_UNSUPPORTED, "layout 0, expected 1"},
        {"version is a float", [&](rewritten &r) { r.after(version, 0, 6u).after(version, 4, 1.5f); }, LLM_ERR_DAMAGED,
         "expected a whole number"},
        {"no version", [&](rewritten &r) { r.bytes.replace(r.bytes.find(version), 1, "x"); }, LLM_ERR_DAMAGED,
         "does not say in which layout"},
        {"no sizes", [&](rewritten &r) { r.bytes.replace(r.bytes.find(sizes), 1, "x"); }, LLM_ERR_DAMAGED,
         "is no array of"},
        {"sizes of another type", [&](rewritten &r) { r.after(sizes, 4, 11u); }, LLM_ERR_DAMAGED, "is no array of"},
        {"a size of another tensor", [&](rewritten &r) { r.after(sizes, 16, (uint64_t)64); }, LLM_ERR_DAMAGED, ""},
        {"a size beyond the file", [&](rewritten &r) { r.after(sizes, 16, large); }, LLM_ERR_DAMAGED, "lie beyond"},
        {"no size", [&](rewritten &r) { r.after(sizes, 16, (uint64_t)0); }, LLM_ERR_DAMAGED, "into 0 bytes"},
        {"not packed, and of another size", [&](rewritten &r) { r.after(tensor, 20, 1u); }, LLM_ERR_DAMAGED,
         "bytes, expected"},
        {"packed as another format", [&](rewritten &r) { r.after(tensor, 20, 0x10002u); }, LLM_ERR_DAMAGED, ""},
        {"packed as what has no layout", [&](rewritten &r) { r.after(tensor, 20, 0x10000u + 27); }, LLM_ERR_UNSUPPORTED,
         "which is not supported"},
        {"an unknown type", [&](rewritten &r) { r.after(tensor, 20, 0x10000u + 5); }, LLM_ERR_UNSUPPORTED,
         "format number 65541"},
        {"a packed norm", [&](rewritten &r) { r.after("blk.0.attn_norm.weight", 12, 0x10000u); }, LLM_ERR_DAMAGED,
         "expected plain numbers"},
    };
    REQUIRE(load_bytes(packed) == LLM_OK);
    for (const wrong &w : all) {
        rewritten r(packed);
        w.change(r);
        std::string message;
        CAPTURE(w.what);
        CHECK(load_bytes(r.bytes, &message) == w.status);
        CHECK(message.find(w.sentence) != std::string::npos);
        CAPTURE(message);
        CHECK(!message.empty());
    }
}

TEST_CASE("packing refuses to write over what it reads", "[pack]") {
    temporary_folder f;
    const std::string original = read_bytes(own_data("qwen2.gguf")), in = f / "in.gguf";
    write_bytes(in, original);
    std::filesystem::create_hard_link(in, f / "hard.gguf");
    std::filesystem::create_symlink(in, f / "soft.gguf");
    std::filesystem::create_hard_link(in, f / "out.gguf.tmp"); // where out.gguf is written first
    for (const char *out : {"in.gguf", "hard.gguf", "soft.gguf", "out.gguf"}) {
        CAPTURE(out);
        llm_error err = {};
        CHECK(llm_pack(in.c_str(), (f / out).c_str(), nullptr, nullptr, &err) == LLM_ERR_ARGUMENT);
        CHECK(std::string(err.message).find("would destroy the input") != std::string::npos);
        CHECK(read_bytes(in) == original);
    }
    pack(in, f / "packed.gguf");
    llm_error err = {};
    CHECK(llm_pack((f / "packed.gguf").c_str(), (f / "again.gguf").c_str(), nullptr, nullptr, &err) == LLM_ERR_REFUSED);
    CHECK(llm_pack((f / "none").c_str(), (f / "again.gguf").c_str(), nullptr, nullptr, &err) == LLM_ERR_IO);
    CHECK(llm_pack(in.c_str(), (f / "none/again.gguf").c_str(), nullptr, nullptr, &err) == LLM_ERR_IO);
    CHECK(llm_pack(nullptr, in.c_str(), nullptr, nullptr, &err) == LLM_ERR_ARGUMENT);
    CHECK(!std::filesystem::exists(f / "again.gguf"));
    CHECK(read_bytes(in) == original);
}

namespace {

// A model with 2^30 words in its vocabulary, of which only the headers are on the disk: the file has holes.
uint64_t write_sparse(const std::string &path) {
    llm::gguf_file file;
    llm_error err = {};
    expect_ok(llm::gguf_open(own_data("qwen2.gguf").c_str(), &file, &err), err);
    llm::gguf_writer *w = nullptr;
    expect_ok(llm::gguf_writer_open(path.c_str(), &w, &err), err);
    for (const auto &[key, value] : file.metadata) llm::gguf_writer_set_value(w, key, value);
    for (const llm::gguf_tensor &t : file.tensors) {
        uint64_t shape[] = {t.shape[0], t.name == "token_embd.weight" ? (uint64_t)1 << 30 : t.shape[1]};
        llm::gguf_writer_add_tensor(w, t.name, t.format, t.n_dims, shape);
    }
    expect_ok(llm::gguf_writer_begin_data(w, &err), err);
    const uint64_t bytes = llm::gguf_writer_file_bytes(w);
    std::filesystem::rename(path + ".tmp", path);
    llm::gguf_writer_abandon(w);
    llm::gguf_close(&file);
    std::error_code too_large; // for this file system
    std::filesystem::resize_file(path, bytes, too_large);
    return too_large ? 0 : bytes;
}

} // namespace

TEST_CASE("packing asks for room before it begins", "[pack]") {
    temporary_folder f;
    const uint64_t bytes = write_sparse(f / "in.gguf");
    if (bytes == 0 || std::filesystem::space(f.path).available >= bytes) return; // it would fit
    llm_error err = {};
    CHECK(llm_pack((f / "in.gguf").c_str(), (f / "out.gguf").c_str(), nullptr, nullptr, &err) == LLM_ERR_IO);
    CHECK(std::string(err.message).find("are free on its file system") != std::string::npos);
    CHECK(std::distance(std::filesystem::directory_iterator(f.path), {}) == 1);
}

TEST_CASE("packing that is stopped leaves nothing", "[pack]") {
    temporary_folder f;
    for (int at : {0, 1, 7}) {
        int left = at;
        auto stop = [](void *user, float) { return (*(int *)user)-- > 0; };
        CHECK(llm_pack(own_data("qmodel-q4_0.gguf").c_str(), (f / "out").c_str(), stop, &left, nullptr) ==
              LLM_CANCELLED);
        CHECK(std::filesystem::is_empty(f.path));
    }
}

TEST_CASE("loading stops where the progress says so, and gives everything back", "[pack]") {
    temporary_folder f;
    pack(own_data("qmodel-q4_0.gguf"), f / "packed.gguf");
    for (const std::string &path : {own_data("qmodel-q4_0.gguf"), f / "packed.gguf"})
        for (int at : {0, 1, 3}) {
            int left = at;
            llm_model_options o = {};
            o.progress = [](void *user, float) { return (*(int *)user)-- > 0; };
            o.progress_user = &left;
            o.n_threads = 1;
            o.no_map = true;
            llm_model *model = nullptr;
            CHECK(llm_model_load(path.c_str(), &o, &model, nullptr) == LLM_CANCELLED);
            CHECK(model == nullptr);
        }
}

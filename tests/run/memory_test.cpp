// Peak memory as the system counts it (VmHWM), loading included, beside what the estimate says. Each measurement is a
// process of its own: the peak of one cannot be taken back.
#include "run/library.h"
#include "temporary.h"
#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llm_test;

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&                           \
    !defined(LLM_STATIC_PROGRAM)

namespace {

constexpr uint64_t MIB = (uint64_t)1 << 20;

uint64_t status_bytes(const std::string &name) {
    const std::string text = read_bytes("/proc/self/status");
    size_t at = text.find(name + ":");
    return at == std::string::npos ? 0 : std::stoull(text.substr(at + name.size() + 1)) * 1024;
}

struct peaks {
    uint64_t loaded, run; // above what the process had before, after loading and after reading a full context
    uint64_t shared;      // of the latter: pages of files
};

void use(const std::string &path, bool no_map, const llm_context_options &co, peaks *out) {
    write_bytes("/proc/self/clear_refs", "5");                                         // the peak counts from here
    auto of_files = [] { return status_bytes("RssFile") + status_bytes("RssShmem"); }; // tmpfs counts as the latter
    const uint64_t before = status_bytes("VmRSS"), files_before = of_files();
    llm_model_options mo = {};
    mo.n_threads = 2;
    mo.no_map = no_map;
    llm_model *made = nullptr;
    llm_error err = {};
    expect_ok(llm_model_load(path.c_str(), &mo, &made, &err), err);
    model_handle model(made);
    out->loaded = status_bytes("VmHWM") - before;
    context_handle context = make_context(model.get(), co);
    feed(context.get(), random_ids(co.n_ctx, model_info(model.get()).n_vocab, 1));
    out->run = status_bytes("VmHWM") - before;
    out->shared = of_files() - files_before;
}

// In a child, so that nothing of this process counts.
peaks measure(const std::string &path, bool no_map, const llm_context_options &co) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        peaks p = {};
        bool done = false;
        try {
            use(path, no_map, co, &p);
            done = write(ends[1], &p, sizeof p) == sizeof p;
        } catch (...) {
        }
        _exit(done ? 0 : 1);
    }
    close(ends[1]);
    peaks p = {};
    bool read_all = read(ends[0], &p, sizeof p) == sizeof p;
    close(ends[0]);
    waitpid(child, nullptr, 0);
    REQUIRE(read_all);
    return p;
}

// The share of a file that is in the page cache.
double cached_share(const std::string &path) {
    size_t bytes = std::filesystem::file_size(path), page = (size_t)sysconf(_SC_PAGESIZE),
           n = (bytes + page - 1) / page;
    int fd = open(path.c_str(), O_RDONLY);
    void *map = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    REQUIRE(map != MAP_FAILED);
    std::vector<unsigned char> there(n);
    REQUIRE(mincore(map, bytes, there.data()) == 0);
    munmap(map, bytes);
    return (double)std::count_if(there.begin(), there.end(), [](unsigned char c) { return c & 1; }) / (double)n;
}

} // namespace

TEST_CASE("what was read stays in the page cache where memory is plentiful", "[memory]") {
    llm_machine_info info = {};
    REQUIRE(llm_machine_get_info(&info, nullptr) == LLM_OK);
    if (info.memory_available < 256 * MIB) return;
    temporary_folder f;
    llm_error err = {};
    expect_ok(llm_synth("stories-15m", "Q8_0", 1, (f / "m.gguf").c_str(), nullptr, nullptr, &err), err);
    load_model(f / "m.gguf");
    CHECK(cached_share(f / "m.gguf") > 0.9);
}

TEST_CASE("peak memory is weights, cache and little else, and the estimate knows it", "[memory]") {
    temporary_folder f;
    llm_error err = {};
    expect_ok(llm_synth("smol-135m", "Q8_0", 1, (f / "plain.gguf").c_str(), nullptr, nullptr, &err), err);
    expect_ok(llm_pack((f / "plain.gguf").c_str(), (f / "packed.gguf").c_str(), nullptr, nullptr, &err), err);
    llm_context_options co = context_options(512);
    co.n_threads = 2;
    struct {
        const char *file;
        bool no_map;
    } ways[] = {{"plain.gguf", false}, {"packed.gguf", true}, {"packed.gguf", false}};
    for (auto &way : ways) {
        llm_model_options mo = {};
        mo.n_threads = 2;
        mo.no_map = way.no_map;
        llm_estimate e = {};
        expect_ok(llm_estimate_memory((f / way.file).c_str(), &mo, &co, &e, &err), err);
        peaks p = measure(f / way.file, way.no_map, co);
        const uint64_t weights = e.weights + e.mapped;
        CAPTURE(way.file, way.no_map, weights / MIB, e.vocab, e.kv, e.scratch, e.load_peak, p.loaded, p.run, p.shared);
        CHECK(weights > 100 * MIB);
        CHECK(p.loaded <= 1.1 * double(weights) + 64.0 * MIB);
        CHECK(p.run <= 1.1 * double(weights) + double(e.kv) + 64.0 * MIB);
        const double loading = double(e.weights + e.vocab + e.load_peak);
        const double running = double(weights + e.vocab + e.kv + e.scratch);
        CHECK(std::abs(double(p.run) - std::max(loading, running)) <= 0.05 * double(p.run));
        if (e.mapped == 0) CHECK(std::abs(double(p.loaded) - loading) <= 0.05 * double(p.loaded));
        if (e.mapped) CHECK(p.loaded < 32 * MIB);
        CHECK(p.shared >= e.mapped);
        CHECK(p.shared <= e.mapped + 8 * MIB);
    }
}

#endif

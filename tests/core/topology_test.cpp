// Default threads on machines of all kinds. tests/core/machines holds what their /sys and /proc say, a line a file:
// "path: text", with \n for the ends of lines.
#include "core/cgroup.h"
#include "core/machine.h"
#include "core/topology.h"
#include "temporary.h"
#include "test.h"
#include <filesystem>
#include <sstream>

using namespace llm;

namespace {

std::string with_line_ends(std::string text) {
    for (size_t at; (at = text.find("\\n")) != std::string::npos;) text.replace(at, 2, "\n");
    return text;
}

// Puts a machine's files below a folder.
struct fake_machine {
    temporary_folder folder;
    explicit fake_machine(const std::string &name) {
        std::istringstream lines(read_bytes(std::string(LLM_SOURCE_DIR) + "/tests/core/machines/" + name + ".txt"));
        for (std::string line; std::getline(lines, line);) {
            size_t colon = line.find(": ");
            if (line.empty() || line[0] == '#' || colon == std::string::npos) continue;
            put(line.substr(0, colon), with_line_ends(line.substr(colon + 2)) + "\n");
        }
    }
    void put(const std::string &path, const std::string &text) {
        std::filesystem::create_directories(std::filesystem::path(folder.path + path).parent_path());
        write_bytes(folder.path + path, text);
    }
    processor_topology topology(const std::vector<uint32_t> &allowed = {}) {
        return topology_read(folder.path, allowed);
    }
};

struct expectation {
    const char *machine;
    std::vector<uint32_t> allowed; // empty: all
    uint32_t n_cores, n_fast_cores;
    double quota;
    uint32_t n_threads;
    const char *why;
};

} // namespace

TEST_CASE("threads follow core classes, siblings, affinity and quota", "[core]") {
    const expectation all[] = {
        {"server-2-cores", {}, 2, 2, 0, 2, "one for each of 2 cores"},
        {"server-2-cores", {1}, 1, 1, 0, 1, "1 of 2 processors are in the affinity mask"},
        {"phone", {}, 8, 6, 0, 6, "6 of 8 cores are of the fast class"},
        {"phone", {0, 1}, 2, 2, 0, 2, "2 of 8 processors are in the affinity mask"},
        {"phone", {0, 7}, 2, 1, 0, 1, "1 of 2 cores are of the fast class"},
        {"hybrid-laptop", {}, 6, 2, 0, 2, "2 of 6 cores are of the fast class"},
        {"hybrid-laptop", {4, 5, 6, 7}, 4, 4, 0, 4, "4 of 8 processors are in the affinity mask"},
        {"siblings", {}, 4, 4, 0, 4, "one for each of 4 cores; 8 processors share them"},
        {"siblings", {0, 4, 1}, 2, 2, 0, 2, "one for each of 2 cores; 3 processors share them"},
        {"container-v2", {}, 8, 8, 3.5, 3, "the container's quota is 3.50 processors"},
        {"container-v2-nested", {}, 8, 8, 2, 2, "the container's quota is 2.00 processors"},
        {"container-v2-fraction", {}, 8, 8, 0.5, 1, "the container's quota is 0.50 processors"},
        {"container-v1", {}, 8, 8, 4, 4, "the container's quota is 4.00 processors"},
        {"container-v1-host-path", {}, 8, 8, 1.5, 1, "the container's quota is 1.50 processors"},
        {"container-v2-roomy", {}, 8, 8, 16, 8, "one for each of 8 cores"},
    };
    for (const expectation &e : all) {
        CAPTURE(e.machine, e.allowed);
        processor_topology t = fake_machine(e.machine).topology(e.allowed);
        CHECK(t.n_cores == e.n_cores);
        CHECK(t.n_fast_cores == e.n_fast_cores);
        CHECK(t.quota == e.quota);
        CHECK(t.n_threads == e.n_threads);
        CHECK(t.why == e.why);
    }
}

TEST_CASE("memory left is the machine's and the container's", "[core]") {
    fake_machine plain("server-2-cores"), v2("container-v2"), v1("container-v1");
    machine_memory m = machine_memory_read(plain.folder.path);
    CHECK(m.total == 24683952ull * 1024);
    CHECK(m.available == 23874364ull * 1024);
    CHECK(m.huge_pages == LLM_HUGE_PAGES_ADVISED);
    CHECK(m.huge_page_bytes == 2097152);
    CHECK(m.huge_bytes_used == 4096ull * 1024);
    CHECK(cgroup_memory_left(plain.folder.path) == UINT64_MAX);
    // limit 4 GiB, 3 GiB taken, of which 1 GiB is page cache
    CHECK(machine_memory_available(v2.folder.path) == (uint64_t)2 << 30);
    CHECK(machine_memory_available(v1.folder.path) == (uint64_t)1 << 30);
    temporary_folder nothing;
    CHECK(machine_memory_available(nothing.path) == UINT64_MAX);
    CHECK(machine_memory_read(nothing.path).huge_pages == LLM_HUGE_PAGES_NONE);
    CHECK(topology_read(nothing.path, {0, 1, 2}).n_threads == 3);
}

TEST_CASE("what the kernel's files say may be odd", "[core]") {
    CHECK(parse_processor_list("0-3,8,10-11\n") == std::vector<uint32_t>{0, 1, 2, 3, 8, 10, 11});
    CHECK(parse_processor_list("") == std::vector<uint32_t>{});
    CHECK(parse_processor_list("x") == std::vector<uint32_t>{});
    CHECK(parse_processor_list("3-1,2") == std::vector<uint32_t>{2});
    CHECK(parse_processor_list("0-99999999").size() == 65536);
    fake_machine m("container-v2");
    m.put("/sys/fs/cgroup/work/cpu.max", "");
    CHECK(m.topology().quota == 0);
    m.put("/sys/fs/cgroup/work/cpu.max", "100000");
    CHECK(m.topology().quota == 0);
    m.put("/sys/fs/cgroup/work/cpu.max", "-5 100000");
    CHECK(m.topology().quota == 0);
    m.put("/proc/self/cgroup", "0::/../elsewhere\n");
    m.put("/sys/fs/cgroup/cpu.max", "100000 100000");
    CHECK(m.topology().quota == 1);
    m.put("/proc/self/mountinfo", "no mounts\n - \n");
    CHECK(m.topology().quota == 0);
}

TEST_CASE("this machine has a default of at least one thread", "[core]") {
    processor_topology t = topology_of_machine();
    CHECK(t.n_threads >= 1);
    CHECK(t.n_threads <= t.n_allowed);
    CHECK(t.n_threads == default_thread_count());
    CHECK(!t.why.empty());
    llm_machine_info info = {};
    info.size = sizeof info;
    REQUIRE(llm_machine_get_info(&info, nullptr) == LLM_OK);
    CHECK(info.n_threads == t.n_threads);
    CHECK(info.n_threads_why == t.why);
    CHECK(std::string(info.cpu_tier) == llm_cpu_tier(0));
    CHECK(llm_machine_get_info(nullptr, nullptr) == LLM_ERR_ARGUMENT);
    llm_machine_info small = {};
    small.size = offsetof(llm_machine_info, n_allowed);
    small.n_allowed = 77;
    REQUIRE(llm_machine_get_info(&small, nullptr) == LLM_OK);
    CHECK(small.n_processors == info.n_processors);
    CHECK(small.n_allowed == 77);
}

// Formats: proc(5), and "Transparent Hugepage Support" of the kernel's documentation.
#include "core/machine.h"
#include "core/cgroup.h"
#include "core/file.h"
#include <algorithm>
#include <stdlib.h>
#include <string.h>
#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace llm {

namespace {

// The kibibytes of "Name:   123 kB" as bytes; 0 when the name is not there.
uint64_t field_bytes(const std::string &text, const char *name) {
    size_t at = text.find(name);
    return at == std::string::npos ? 0 : strtoull(text.c_str() + at + strlen(name), nullptr, 10) * 1024;
}

llm_huge_pages huge_pages_mode(const std::string &root) {
    std::string modes = file_small_text(root + "/sys/kernel/mm/transparent_hugepage/enabled");
    if (modes.find("[always]") != std::string::npos) return LLM_HUGE_PAGES_ALWAYS;
    return modes.find("[madvise]") != std::string::npos ? LLM_HUGE_PAGES_ADVISED : LLM_HUGE_PAGES_NONE;
}

uint64_t available_in(const std::string &root, const std::string &meminfo) {
    uint64_t available = field_bytes(meminfo, "MemAvailable:");
    return available ? std::min(available, cgroup_memory_left(root)) : 0;
}

} // namespace

machine_memory machine_memory_read(const std::string &root) {
    machine_memory m;
    std::string meminfo = file_small_text(root + "/proc/meminfo");
    m.total = field_bytes(meminfo, "MemTotal:");
    m.available = available_in(root, meminfo);
    m.huge_pages = huge_pages_mode(root);
    std::string size = file_small_text(root + "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
    m.huge_page_bytes = strtoull(size.c_str(), nullptr, 10);
    m.huge_bytes_used = field_bytes(file_small_text(root + "/proc/self/smaps_rollup"), "AnonHugePages:");
#if defined(__APPLE__)
    size_t n = sizeof m.total;
    sysctlbyname("hw.memsize", &m.total, &n, nullptr, 0);
#endif
    return m;
}

uint64_t machine_memory_available(const std::string &root) {
    uint64_t available = available_in(root, file_small_text(root + "/proc/meminfo"));
    return available ? available : UINT64_MAX;
}

} // namespace llm

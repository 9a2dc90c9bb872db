// How many processors this process may really use.
#include "core/pool.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thread>
#if defined(__linux__)
#include <sched.h>
#endif

namespace llm {

namespace {

#if defined(__linux__)
// First line of a small file; false when it cannot be read.
bool read_line(const char *path, char *line, size_t capacity) {
    FILE *f = fopen(path, "re");
    if (!f) return false;
    bool ok = fgets(line, (int)capacity, f) != nullptr;
    fclose(f);
    return ok;
}

// Container quota in processors, rounded down; 0: none.
uint32_t quota() {
    char line[128], period_line[128];
    long long limit = 0, period = 0;
    if (read_line("/sys/fs/cgroup/cpu.max", line, sizeof line)) {
        if (sscanf(line, "%lld %lld", &limit, &period) != 2) return 0;
    } else if (read_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", line, sizeof line) &&
               read_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us", period_line, sizeof period_line)) {
        limit = atoll(line);
        period = atoll(period_line);
    }
    if (limit <= 0 || period <= 0) return 0;
    return limit < period ? 1 : (uint32_t)(limit / period);
}

uint32_t allowed() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return (uint32_t)CPU_COUNT(&set);
    return std::thread::hardware_concurrency();
}
#else
uint32_t quota() { return 0; }
uint32_t allowed() { return std::thread::hardware_concurrency(); }
#endif

} // namespace

uint32_t processor_count() {
    uint32_t n = allowed(), limit = quota();
    if (limit && limit < n) n = limit;
    return n < 1 ? 1 : n > 1024 ? 1024 : n;
}

} // namespace llm

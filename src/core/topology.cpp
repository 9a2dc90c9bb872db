#include "core/topology.h"
#include "core/cgroup.h"
#include "core/file.h"
#include <algorithm>
#include <map>
#include <stdio.h>
#include <stdlib.h>
#include <thread>
#if defined(__linux__)
#include <sched.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace llm {

std::vector<uint32_t> parse_processor_list(const std::string &text) {
    std::vector<uint32_t> list;
    for (const char *at = text.c_str(); *at >= '0' && *at <= '9';) {
        char *end;
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (*end == '-') last = strtoul(end + 1, &end, 10);
        for (unsigned long i = first; i <= last && list.size() < 65536; i++) list.push_back((uint32_t)i);
        at = *end == ',' ? end + 1 : end;
        if (*end != ',') break;
    }
    return list;
}

namespace {

constexpr uint32_t MOST_THREADS = 1024; // as pool_create

// A core belongs to the fast class when its speed is at least this share of the fastest core's. The big cores of one
// phone differ by up to a third among themselves (prime and big ones), its little ones have less than half.
constexpr double FAST_SHARE = 0.6;

uint32_t thread_limit(double quota) {
    if (quota <= 0) return MOST_THREADS;
    return quota < 1 ? 1 : quota < MOST_THREADS ? (uint32_t)quota : MOST_THREADS;
}

// One thread per fast core. A second thread on a core's sibling would fight for the same multipliers, and a slow core
// would hold the last chunk of most phases.
void choose_threads(processor_topology *t) {
    uint32_t cores = std::max(1u, std::min(t->n_fast_cores, MOST_THREADS)), limit = thread_limit(t->quota);
    t->n_threads = std::min(cores, limit);
    char text[160];
    if (limit < cores)
        snprintf(text, sizeof text, "the container's quota is %.2f processors", t->quota);
    else if (t->n_fast_cores < t->n_cores)
        snprintf(text, sizeof text, "%u of %u cores are of the fast class", t->n_fast_cores, t->n_cores);
    else if (t->n_cores < t->n_allowed)
        snprintf(text, sizeof text, "one for each of %u cores; %u processors share them", t->n_cores, t->n_allowed);
    else if (t->n_allowed < t->n_processors)
        snprintf(text, sizeof text, "%u of %u processors are in the affinity mask", t->n_allowed, t->n_processors);
    else
        snprintf(text, sizeof text, "one for each of %u cores", t->n_cores);
    t->why = text;
}

struct core {
    double speed = 0; // in units that depend on where it was found, the same for all cores of a machine
};

std::string processor_file(const std::string &root, uint32_t processor, const char *name) {
    return file_small_text(root + "/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/" + name);
}

// Number of the core's first processor: names the core.
uint32_t core_of(const std::string &root, uint32_t processor) {
    for (const char *name : {"topology/core_cpus_list", "topology/thread_siblings_list"}) {
        std::vector<uint32_t> siblings = parse_processor_list(processor_file(root, processor, name));
        if (!siblings.empty()) return siblings[0];
    }
    return processor;
}

double speed_of(const std::string &root, uint32_t processor, const char *file) {
    return atof(processor_file(root, processor, file).c_str());
}

// Speeds of the cores by the first source that all of them have. Efficiency cores of Intel run at three quarters of
// the frequency and do less in a cycle besides: they are told by the performance counters' own list.
void measure_cores(const std::string &root, std::map<uint32_t, core> *cores) {
    for (const char *file : {"cpu_capacity", "cpufreq/cpuinfo_max_freq"}) {
        bool all = true;
        for (auto &[processor, c] : *cores) all &= (c.speed = speed_of(root, processor, file)) > 0;
        if (all) break;
        for (auto &entry : *cores) entry.second.speed = 1;
    }
    for (uint32_t processor : parse_processor_list(file_small_text(root + "/sys/devices/cpu_atom/cpus"))) {
        auto slow = cores->find(processor);
        if (slow != cores->end()) slow->second.speed = 0;
    }
}

} // namespace

processor_topology topology_read(const std::string &root, const std::vector<uint32_t> &allowed) {
    processor_topology t;
    std::vector<uint32_t> online = parse_processor_list(file_small_text(root + "/sys/devices/system/cpu/online"));
    const std::vector<uint32_t> &mine = allowed.empty() ? online : allowed;
    t.n_processors = (uint32_t)std::max(online.size(), mine.size());
    t.n_allowed = (uint32_t)mine.size();
    std::map<uint32_t, core> cores;
    for (uint32_t processor : mine) cores[core_of(root, processor)];
    measure_cores(root, &cores);
    double fastest = 0;
    for (const auto &entry : cores) fastest = std::max(fastest, entry.second.speed);
    t.n_cores = (uint32_t)cores.size();
    for (const auto &entry : cores) t.n_fast_cores += entry.second.speed >= FAST_SHARE * fastest;
    t.quota = cgroup_processor_quota(root);
    choose_threads(&t);
    return t;
}

#if defined(__linux__)
processor_topology topology_of_machine() {
    std::vector<uint32_t> allowed;
    cpu_set_t set; // machines of more than 1024 processors fail here and count as free of a mask
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (uint32_t i = 0; i < CPU_SETSIZE; i++)
            if (CPU_ISSET(i, &set)) allowed.push_back(i);
    processor_topology t = topology_read("", allowed);
    if (t.n_allowed) return t;
    t.n_processors = t.n_allowed = t.n_cores = t.n_fast_cores = std::thread::hardware_concurrency();
    choose_threads(&t);
    return t;
}
#else
// Systems without files about their processors: the count alone, on Apple's that of the performance cores too.
processor_topology topology_of_machine() {
    processor_topology t;
    t.n_processors = t.n_allowed = t.n_cores = t.n_fast_cores = std::thread::hardware_concurrency();
#if defined(__APPLE__)
    int n = 0;
    size_t size = sizeof n;
    if (sysctlbyname("hw.physicalcpu", &n, &size, nullptr, 0) == 0 && n > 0) t.n_cores = t.n_fast_cores = (uint32_t)n;
    if (sysctlbyname("hw.perflevel0.physicalcpu", &n, &size, nullptr, 0) == 0 && n > 0) t.n_fast_cores = (uint32_t)n;
#endif
    choose_threads(&t);
    return t;
}
#endif

uint32_t default_thread_count() { return topology_of_machine().n_threads; }

} // namespace llm

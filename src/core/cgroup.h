// Limits of the control groups that this process is in: a container's share of processors and memory. Versions 1 and 2,
// the process's own group and everything above it that is visible. Formats: "Control Group v2" and "cgroup-v1" of the
// kernel's documentation, proc(5) for /proc/self/cgroup and /proc/self/mountinfo.
// Paths are below `root` ("" for the machine itself), so that recorded machines can be tested.
#pragma once
#include <stdint.h>
#include <string>

namespace llm {

// Processors' worth of time, the least of all groups; 0: no limit.
double cgroup_processor_quota(const std::string &root);
// Bytes that may still be taken, page cache that can be dropped counted as free; UINT64_MAX: no limit.
uint64_t cgroup_memory_left(const std::string &root);

} // namespace llm

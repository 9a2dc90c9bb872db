// How many threads to start: what the machine has, what this process may use of it, and why a number was chosen.
// Paths are below `root` ("" for the machine itself), so that recorded machines can be tested.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string>
#include <vector>

namespace llm {

struct processor_topology {
    uint32_t n_processors = 0; // online
    uint32_t n_allowed = 0;    // in the affinity mask
    uint32_t n_cores = 0;      // physical cores that those belong to
    uint32_t n_fast_cores = 0; // of them, cores of the fast class
    double quota = 0;          // processors that the container grants; 0: as many as there are
    uint32_t n_threads = 1;    // one per fast core, at most what the quota covers in full
    std::string why;           // half a sentence: "2 of 8 cores are of the fast class"
};

// `allowed`: numbers of the processors in the affinity mask; empty: all that are online.
processor_topology topology_read(const std::string &root, const std::vector<uint32_t> &allowed);
processor_topology topology_of_machine();

// The default number of threads: topology_of_machine().n_threads.
uint32_t default_thread_count();

// "0-3,8" as numbers; stops at the first character that does not fit.
std::vector<uint32_t> parse_processor_list(const std::string &text);

} // namespace llm

// Facts about the machine's memory. Paths are below `root` ("" for the machine itself).
#pragma once
#include "core/status.h"
#include <string>

namespace llm {

struct machine_memory {
    uint64_t total = 0, available = 0; // available: without swapping, within the container's limit; 0: unknown
    llm_huge_pages huge_pages = LLM_HUGE_PAGES_NONE;
    uint64_t huge_page_bytes = 0;
    uint64_t huge_bytes_used = 0; // anonymous memory of this process that is in huge pages now
};

machine_memory machine_memory_read(const std::string &root);
// Only machine_memory::available: cheaper. UINT64_MAX: unknown.
uint64_t machine_memory_available(const std::string &root);

} // namespace llm

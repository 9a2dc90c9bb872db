#include "api/object.h"
#include "backend/backend.h"
#include "core/machine.h"
#include "core/topology.h"
#include <stdio.h>
#include <string.h>

using namespace llm;

const char *llm_cpu_tier(size_t index) {
    for (const backend *const *b = backend_table(); *b; b++)
        if ((*b)->available() && index-- == 0) return (*b)->name;
    return nullptr;
}

const char *llm_cpu_tier_missing(size_t index, const char **needs) {
    for (const backend *const *b = backend_table(); *b; b++)
        if (!(*b)->available() && index-- == 0) {
            if (needs) *needs = (*b)->needs;
            return (*b)->name;
        }
    return nullptr;
}

llm_status llm_machine_get_info(llm_machine_info *out, llm_error *err) {
    return api_run(err, [&] {
        if (!out) return fail(err, LLM_ERR_ARGUMENT, "out is NULL");
        llm_machine_info info = {};
        processor_topology t = topology_of_machine();
        machine_memory m = machine_memory_read("");
        info.size = out->size;
        info.cpu_tier = llm_cpu_tier(0);
        info.n_processors = t.n_processors;
        info.n_allowed = t.n_allowed;
        info.n_cores = t.n_cores;
        info.n_fast_cores = t.n_fast_cores;
        info.quota = t.quota;
        info.n_threads = t.n_threads;
        snprintf(info.n_threads_why, sizeof info.n_threads_why, "%s", t.why.c_str());
        info.memory_total = m.total;
        info.memory_available = m.available;
        info.huge_pages = m.huge_pages;
        info.huge_page_bytes = m.huge_page_bytes;
        info.huge_bytes_used = m.huge_bytes_used;
        size_t size = out->size && out->size < sizeof info ? out->size : sizeof info;
        memcpy((void *)out, &info, size);
        return LLM_OK;
    });
}

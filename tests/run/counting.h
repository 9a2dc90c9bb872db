// What the test binary's heap sees: operator new is replaced (counting.cpp), and malloc where the C library allows.
#pragma once
#include "llm.h"
#include <atomic>
#include <set>
#include <stddef.h>

namespace llm_test {

struct heap_counters {
    std::atomic<bool> counting{false};
    std::atomic<uint64_t> n_taken{0}; // by operator new and malloc while counting
    std::atomic<int64_t> n_alive{0};  // by operator new: taken minus freed, always
    std::atomic<int64_t> fail_in{-1}; // operator new number fail_in from now fails, once; -1: none
    std::atomic<bool> failed{false};  // it did
};
extern heap_counters heap;

// Allocations of everything in the block, all threads.
struct count_allocations {
    count_allocations() {
        heap.n_taken = 0;
        heap.counting = true;
    }
    uint64_t stop() {
        heap.counting = false;
        return heap.n_taken;
    }
    ~count_allocations() { stop(); }
};

// A hook for large memory: counts what is out, and can fail the n-th request.
struct counting_allocator {
    llm_allocator hook;
    std::atomic<int64_t> n_alive{0}, n_taken{0}, fail_in{-1};
    counting_allocator();
    counting_allocator(const counting_allocator &) = delete;
};

} // namespace llm_test

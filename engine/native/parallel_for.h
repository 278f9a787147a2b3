// Work on numbered tasks, each done once by whichever thread is free.
//
// The caller works too, and returns when all is done. Helpers are started for one call and end with
// it: about 20 us each, which is little beside the work that they are called for, and nothing of
// them is left for a fork or an interpreter's end to stumble over. Where the system gives no more
// threads, those that there are do the work. What `work` wrote, the caller sees.

#pragma once

#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace parallel {

typedef void (*Work)(void* data, size_t index);

inline void parallel_for(Work work, void* data, size_t count, size_t helpers) {
    std::atomic<size_t> next{0};
    auto some = [&] {
        for (size_t index; (index = next.fetch_add(1, std::memory_order_relaxed)) < count;)
            work(data, index);
    };
    std::vector<std::thread> threads;
    threads.reserve(helpers);
    try {
        while (threads.size() < helpers) threads.emplace_back(some);
    } catch (const std::system_error&) {
    }
    some();
    for (auto& thread : threads) thread.join();
}

// Processors that this process may use.
inline size_t processors() {
    return std::thread::hardware_concurrency();
}

}  // namespace parallel

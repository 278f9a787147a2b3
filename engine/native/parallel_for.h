// Parallel work on numbered tasks, each done once by the next free thread.
//
// The caller works too, and returns when all tasks are done; it sees everything that `work` wrote.
// Helpers are started for one call and end with it. That takes about 20 us each, little compared to
// the work, and leaves no threads for a fork or the end of the interpreter. If the system has no
// more threads, the existing ones do the work.

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

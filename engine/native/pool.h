// Memory for the engine's vectors: touched ahead of time, and reused.
//
// The first write to a fresh page of memory stops a thread for as long as ten masks take, and
// cached grammars need fresh pages all the time. So blocks come from regions whose pages were
// touched in advance (`prepare`), and freed blocks go to free lists by size.
//
// Sizes     multiples of 16 bytes up to 64, then four to each power of two, up to LARGEST; a larger
//           block is mapped alone, and returned to the system when it is freed.
// Bounds    free blocks are kept until they are a large part of the mapped memory. `trim` then
//           joins
//           adjacent ones to runs and returns their pages to the system until they are used again;
//           long runs are unmapped.
// Failure   ends the process: most of the engine could not continue after a failed allocation.
// Threads   one lock, held for a few instructions; it is free in a forked child.
// Debug     with ENGINE_DEBUG every block comes from `operator new`, where sanitizers see it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

#include <pthread.h>
#include <sys/mman.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace engine {

class Pool {
 public:
  static constexpr size_t REGION = size_t{16} << 20;
  static constexpr size_t LARGEST = size_t{2} << 20;
  // Free bytes at which a trim pays: it takes 200 ms of a processor for 500 MB of small blocks, and
  // page faults when the memory is used again.
  static constexpr size_t SPARE = size_t{32} << 20;
  // Adjacent free bytes that make a run; its first page is kept.
  static constexpr size_t LEAST_RUN = size_t{16} << 10;
  // Runs of this size are unmapped, so that the process does not run out of addresses.
  static constexpr size_t LEAST_UNMAPPED = size_t{4} << 20;

  void* take(size_t bytes) {
    if (bytes > LARGEST) return map_alone(bytes);
    const unsigned kind = kind_of(bytes);
    lock();
    Block* block = free_[kind];
    if (block != nullptr) {
      free_[kind] = block->next;
    } else {
      block = carve(size_of(kind));
    }
    if (block != nullptr) taken_ += size_of(kind);
    unlock();
    if (block == nullptr) fail(REGION);
    return block;
  }

  void give(void* memory, size_t bytes) {
    if (bytes > LARGEST) {
      munmap(memory, bytes);
      alone_ -= bytes;
      return;
    }
    const unsigned kind = kind_of(bytes);
    Block* block = static_cast<Block*>(memory);
    lock();
    block->next = free_[kind];
    free_[kind] = block;
    taken_ -= size_of(kind);
    given_ += size_of(kind);
    unlock();
  }

  // The bytes that a block of this size takes.
  static size_t block_bytes(size_t bytes) {
    if (bytes > LARGEST) return (bytes + PAGE - 1) & ~(PAGE - 1);
    return bytes == 0 ? 0 : size_of(kind_of(bytes));
  }

  // Returns whether the caller must `trim`: more than SPARE and a fifth of the mapped bytes are
  // free, and as many were freed since the last trim.
  bool claim_trim() {
    lock();
    const size_t spare = std::max(SPARE, mapped_ / 5);
    const bool is_mine = given_ > spare && mapped_ - taken_ - left() > spare;
    if (is_mine) given_ = 0;
    unlock();
    return is_mine;
  }

  // Returns free memory to the system. It holds the lock only to take the free lists and to put
  // them back; in the meantime other threads use fresh blocks.
  void trim() {
    Block* free[KINDS];
    lock();
    std::copy_n(free_, KINDS, free);
    std::fill_n(free_, KINDS, nullptr);
    Run* runs[RUN_KINDS];
    std::copy_n(runs_, RUN_KINDS, runs);
    std::fill_n(runs_, RUN_KINDS, nullptr);
    given_ = 0;
    Lists lists;
    // a thread in `prepare` touches memory that may have been used and freed since
    lists.unmaps = !claimed_;
    unlock();
    std::vector<FreePiece> pieces;
    size_t absent = 0;
    for (Run* run : runs) {
      for (; run != nullptr; run = run->next) {
        pieces.push_back({reinterpret_cast<uintptr_t>(run), run->size, KINDS});
        absent += run->absent;
      }
    }
    for (unsigned kind = 0; kind < KINDS; ++kind) {
      for (Block* block = free[kind]; block != nullptr; block = block->next) {
        pieces.push_back({reinterpret_cast<uintptr_t>(block), size_of(kind), kind});
      }
    }
    std::sort(pieces.begin(), pieces.end());
    join(pieces, &lists);
    lock();
    mapped_ += absent;
    mapped_ -= lists.absent;
    for (unsigned kind = 0; kind < KINDS; ++kind) {
      if (lists.first[kind] == nullptr) continue;
      lists.last[kind]->next = free_[kind];
      free_[kind] = lists.first[kind];
    }
    for (unsigned kind = 0; kind < RUN_KINDS; ++kind) {
      if (lists.runs[kind] == nullptr) continue;
      lists.last_run[kind]->next = runs_[kind];
      runs_[kind] = lists.runs[kind];
    }
    unlock();
#ifdef __GLIBC__
    malloc_trim(0);
#endif
  }

  // Whether a caller should `claim` and `prepare`: less than half a region is touched and unused.
  bool is_low() const { return low_.load(std::memory_order_relaxed); }

  // Returns whether the caller must `prepare` or `decline`.
  bool claim() {
    lock();
    const bool is_mine = low_.exchange(false, std::memory_order_relaxed);
    claimed_ = claimed_ || is_mine;
    unlock();
    return is_mine;
  }

  void decline() {
    lock();
    claimed_ = false;
    unlock();
  }

  // Touches the rest of a region that came into use untouched, or the next region. Takes
  // milliseconds, without the lock.
  void prepare() {
    lock();
    char* region = at_;
    const size_t size = left();
    const bool in_use = !touched_ && size >= REGION / 2;
    unlock();
    if (in_use) {
      touch(region, size);
      lock();
      touched_ = touched_ || end_ == region + size;
      claimed_ = false;
      unlock();
      return;
    }
    region = map_region();
    if (region != nullptr) touch(region, REGION);
    lock();
    claimed_ = false;
    if (ready_ == nullptr) {
      ready_ = region;
      region = nullptr;
    }
    unlock();
    if (region != nullptr) munmap(region, REGION);
  }

  size_t taken() {
    lock();
    const size_t taken = taken_ + alone_;
    unlock();
    return taken;
  }

  size_t mapped() {
    lock();
    const size_t mapped = mapped_ + alone_;
    unlock();
    return mapped;
  }

  static Pool& instance() {
    // Never destroyed: vectors of other modules may outlive this one's statics.
    static Pool* pool = new Pool;
    return *pool;
  }

 private:
  struct Block {
    Block* next;
  };
  // A run of free memory; the system holds `absent` bytes of its pages.
  struct Run {
    Run* next;
    size_t size, absent;
  };
  // A free block while a trim sorts it; of kind KINDS: a run.
  struct FreePiece {
    uintptr_t begin;
    size_t size;
    unsigned kind;
    bool operator<(const FreePiece& other) const { return begin < other.begin; }
  };
  static constexpr unsigned KINDS = 64;
  static constexpr size_t PAGE = 4096;
  // Kinds of runs; each is twice as long as the previous one.
  static constexpr unsigned RUN_KINDS = 9;
  // Runs tried for one kind: only in the first kind some are too short.
  static constexpr unsigned TRIED_RUNS = 8;
  struct Lists {
    Block* first[KINDS] = {};
    Block* last[KINDS] = {};
    Run* runs[RUN_KINDS] = {};
    Run* last_run[RUN_KINDS] = {};
    size_t absent = 0;
    bool unmaps = false;

    void add(uintptr_t begin, unsigned kind) {
      Block* block = reinterpret_cast<Block*>(begin);
      block->next = first[kind];
      if (block->next == nullptr) last[kind] = block;
      first[kind] = block;
    }

    // Splits memory into the largest blocks that fit.
    void add_all(uintptr_t begin, uintptr_t end) {
      for (unsigned kind = KINDS; kind-- > 0;) {
        for (; begin + size_of(kind) <= end; begin += size_of(kind)) add(begin, kind);
      }
    }
  };

  Pool() {
    pthread_atfork([] { instance().lock(); }, [] { instance().unlock(); }, [] {
      instance().claimed_ = false;  // the preparing thread belongs to the parent
      instance().unlock();
    });
  }

  static unsigned kind_of(size_t bytes) {
    if (bytes <= 64) return bytes == 0 ? 0 : static_cast<unsigned>((bytes - 1) >> 4);
    const unsigned power = 63 - static_cast<unsigned>(__builtin_clzll(bytes - 1));
    return 4 * (power - 5) + static_cast<unsigned>((bytes - 1 - (size_t{1} << power)) >> (power - 2));
  }

  static size_t size_of(unsigned kind) {
    if (kind < 4) return 16 * (size_t{kind} + 1);
    const unsigned power = kind / 4 + 5;
    return (size_t{1} << power) + ((size_t{kind} & 3) + 1) * (size_t{1} << (power - 2));
  }

  static unsigned run_kind(size_t bytes) {
    unsigned kind = 0;
    while (kind + 1 < RUN_KINDS && bytes >= LEAST_RUN << (kind + 1)) ++kind;
    return kind;
  }

  [[noreturn]] static void fail(size_t bytes) {
    std::fprintf(stderr, "switchyard: out of memory: the system gave no %zu bytes\n", bytes);
    std::abort();
  }

  static char* map_region() {
    void* region = mmap(nullptr, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return region == MAP_FAILED ? nullptr : static_cast<char*>(region);
  }

  // Other threads may write here at the same time, so the contents must not change.
  static void touch(char* memory, size_t size) {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(memory) & ~uintptr_t{PAGE - 1};
    const uintptr_t end = reinterpret_cast<uintptr_t>(memory) + size;
#ifdef MADV_POPULATE_WRITE
    if (madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE) == 0) return;
#endif
    for (uintptr_t page = begin; page < end; page += PAGE) {
      __atomic_fetch_or(reinterpret_cast<char*>(page), 0, __ATOMIC_RELAXED);
    }
  }

  void* map_alone(size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail(bytes);
    alone_ += bytes;
    return memory;
  }

  // Takes a fresh block, under the lock; the rest of a used region goes to the free lists.
  Block* carve(size_t size) {
    if (left() < size && !take_run(size)) {
      char* region = ready_ != nullptr ? ready_ : map_region();
      if (region == nullptr) return nullptr;
      list_left();
      touched_ = ready_ != nullptr;
      ready_ = nullptr;
      at_ = region;
      end_ = region + REGION;
      mapped_ += REGION;
    }
    Block* block = reinterpret_cast<Block*>(at_);
    at_ += size;
    if (!claimed_ && ready_ == nullptr && (!touched_ || left() < REGION / 2)) {
      low_.store(true, std::memory_order_relaxed);
    }
    return block;
  }

  // Joins sorted adjacent pieces to runs, and lists the blocks that form none.
  static void join(const std::vector<FreePiece>& pieces, Lists* lists) {
    for (size_t first = 0, next = 0; first < pieces.size(); first = next) {
      const uintptr_t begin = pieces[first].begin;
      uintptr_t end = begin;
      while (next < pieces.size() && pieces[next].begin == end) end += pieces[next++].size;
      if (end - begin >= LEAST_RUN) {
        keep_run(begin, end, lists);
        continue;
      }
      for (size_t k = first; k < next; ++k) lists->add(pieces[k].begin, pieces[k].kind);
    }
  }

  static void keep_run(uintptr_t begin, uintptr_t end, Lists* lists) {
    uintptr_t low = (begin + PAGE - 1) & ~uintptr_t{PAGE - 1};
    const uintptr_t high = end & ~uintptr_t{PAGE - 1};
    const bool is_long = lists->unmaps && end - begin >= LEAST_UNMAPPED;
    if (is_long && munmap(reinterpret_cast<void*>(low), high - low) == 0) {
      lists->absent += high - low;
      lists->add_all(begin, low);
      lists->add_all(high, end);
      return;
    }
    low = (begin + sizeof(Run) + PAGE - 1) & ~uintptr_t{PAGE - 1};
    Run* run = reinterpret_cast<Run*>(begin);
    run->size = end - begin;
    const bool is_given = madvise(reinterpret_cast<void*>(low), high - low, MADV_DONTNEED) == 0;
    run->absent = is_given ? high - low : 0;
    lists->absent += run->absent;
    const unsigned kind = run_kind(run->size);
    run->next = lists->runs[kind];
    if (run->next == nullptr) lists->last_run[kind] = run;
    lists->runs[kind] = run;
  }

  // Continues in one of the shortest runs that are long enough, under the lock. Returns whether
  // there is one.
  bool take_run(size_t size) {
    for (unsigned kind = run_kind(size); kind < RUN_KINDS; ++kind) {
      Run** at = &runs_[kind];
      for (unsigned k = 0; k < TRIED_RUNS && *at != nullptr; ++k, at = &(*at)->next) {
        Run* run = *at;
        if (run->size < size) continue;
        *at = run->next;
        mapped_ += run->absent;
        list_left();
        at_ = reinterpret_cast<char*>(run);
        end_ = at_ + run->size;
        touched_ = true;  // a page at a time: these are few
        return true;
      }
    }
    return false;
  }

  // Lists the rest of the memory in use as the largest blocks that fit.
  void list_left() {
    for (unsigned kind = KINDS; kind-- > 0;) {
      if (size_of(kind) > LARGEST) continue;
      while (left() >= size_of(kind)) {
        Block* block = reinterpret_cast<Block*>(at_);
        at_ += size_of(kind);
        block->next = free_[kind];
        free_[kind] = block;
      }
    }
  }

  // Unused bytes of the region in use.
  size_t left() const { return static_cast<size_t>(end_ - at_); }

  void lock() {
    while (busy_.test_and_set(std::memory_order_acquire)) sched_yield();
  }

  void unlock() { busy_.clear(std::memory_order_release); }

  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  Block* free_[KINDS] = {};
  Run* runs_[RUN_KINDS] = {};
  char* at_ = nullptr;
  char* end_ = nullptr;
  char* ready_ = nullptr;
  size_t taken_ = 0;
  size_t mapped_ = 0;
  size_t given_ = 0;      // freed since the last trim
  std::atomic<size_t> alone_{0};  // bytes of blocks that are mapped alone
  bool touched_ = false;  // whether the region in use was touched
  bool claimed_ = false;  // a thread is in `prepare`
  std::atomic<bool> low_{true};
};

template <class T>
struct Pooled {
  using value_type = T;

  Pooled() = default;
  template <class U>
  Pooled(const Pooled<U>&) {}

  T* allocate(size_t n) {
    if (n > SIZE_MAX / sizeof(T)) throw std::bad_alloc();
#ifdef ENGINE_DEBUG
    return static_cast<T*>(::operator new(n * sizeof(T)));
#else
    return static_cast<T*>(Pool::instance().take(n * sizeof(T)));
#endif
  }

  void deallocate(T* memory, size_t n) {
#ifdef ENGINE_DEBUG
    ::operator delete(memory);
#else
    Pool::instance().give(memory, n * sizeof(T));
#endif
  }

  template <class U>
  bool operator==(const Pooled<U>&) const {
    return true;
  }
  template <class U>
  bool operator!=(const Pooled<U>&) const {
    return false;
  }
};

template <class T>
using vector = std::vector<T, Pooled<T>>;

// Bytes of a vector's own memory, without memory that its elements hold.
template <class T>
size_t held_bytes(const vector<T>& of) {
  return Pool::block_bytes(of.capacity() * sizeof(T));
}

}  // namespace engine

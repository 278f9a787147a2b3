// Memory for everything that the engine's vectors hold: touched ahead of time, and used again.
//
// A first write to a fresh page of memory stops a thread for as long as ten masks take, and grammars
// that are kept need fresh pages all the time. So blocks come from regions whose pages were touched
// before anyone waits (`prepare`), and freed blocks go to lists by size and are taken again.
//
// Sizes     multiples of 16 bytes up to 64, then four to each power of two, up to LARGEST; a larger
//           block is mapped by itself and given back to the system.
// Bounds    free blocks are kept: memory stays at its peak, which the bounds on grammars bound.
// Threads   one lock, held for a few instructions; it is free in a forked child.
// Debug     with ENGINE_DEBUG every block comes from `operator new`, where sanitizers see it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include <pthread.h>
#include <sys/mman.h>

namespace engine {

class Pool {
 public:
  static constexpr size_t REGION = size_t{16} << 20;
  static constexpr size_t LARGEST = size_t{2} << 20;

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
    if (block == nullptr) throw std::bad_alloc();
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
    unlock();
  }

  // Whether somebody should `claim` and `prepare`: less than half a region is touched and not spent.
  bool is_low() const { return low_.load(std::memory_order_relaxed); }

  // Whether it falls to the caller to `prepare`, or to `decline`.
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

  // Touches what is left of a region that came into use untouched, or the next one. Takes
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
  static constexpr unsigned KINDS = 64;
  static constexpr size_t PAGE = 4096;

  Pool() {
    pthread_atfork([] { instance().lock(); }, [] { instance().unlock(); }, [] {
      instance().claimed_ = false;  // the thread that would prepare is the parent's
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

  static char* map_region() {
    void* region = mmap(nullptr, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return region == MAP_FAILED ? nullptr : static_cast<char*>(region);
  }

  // Other threads may write there meanwhile: what is there stays.
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
    if (memory == MAP_FAILED) throw std::bad_alloc();
    alone_ += bytes;
    return memory;
  }

  // A fresh block, under the lock; what is left of a spent region goes to the lists.
  Block* carve(size_t size) {
    if (left() < size) {
      char* region = ready_ != nullptr ? ready_ : map_region();
      if (region == nullptr) return nullptr;
      touched_ = ready_ != nullptr;
      ready_ = nullptr;
      for (unsigned kind = KINDS; kind-- > 0;) {
        if (size_of(kind) > LARGEST) continue;
        while (left() >= size_of(kind)) {
          Block* block = reinterpret_cast<Block*>(at_);
          at_ += size_of(kind);
          block->next = free_[kind];
          free_[kind] = block;
        }
      }
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

  // Bytes of the region in use that no block has yet.
  size_t left() const { return static_cast<size_t>(end_ - at_); }

  void lock() {
    while (busy_.test_and_set(std::memory_order_acquire)) sched_yield();
  }

  void unlock() { busy_.clear(std::memory_order_release); }

  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  Block* free_[KINDS] = {};
  char* at_ = nullptr;
  char* end_ = nullptr;
  char* ready_ = nullptr;
  size_t taken_ = 0;
  size_t mapped_ = 0;
  std::atomic<size_t> alone_{0};  // bytes of blocks that are mapped by themselves
  bool touched_ = false;  // the region in use
  bool claimed_ = false;  // somebody prepares
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

}  // namespace engine

// ObjectPool: keeps objects for reuse, such as the frames of concurrent runs.
//
// A few objects are handed over without a lock. Each thread gets the one that it released last, so threads that acquire
// and release in a loop share no cache line. Further objects are in a list behind a mutex.
//
//     std::unique_ptr<Frame> frame = frame_pool_.Acquire();   // null: the pool is empty, make a new frame
//     …
//     frame_pool_.Release(std::move(frame));
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/base/thread_number.h"

namespace epiphyte::core {

// ObjectSlots: the lock-free part of the pool. It doesn't own objects: its owner acquires and deletes the remaining
// ones.
template <typename T>
class ObjectSlots {
 public:
  // Returns this thread's object, or another thread's, because threads come and go. Null when all slots are empty.
  T* Acquire() {
    const uint32_t own = ThreadNumber();
    for (uint32_t i = 0; i < kPlaces; ++i) {
      std::atomic<T*>& kept = places_[(own + i) % kPlaces].kept;
      if (kept.load(std::memory_order_relaxed) == nullptr) continue;
      if (T* object = kept.exchange(nullptr, std::memory_order_acquire)) return object;
    }
    return nullptr;
  }
  // Keeps `object` and returns the object that was in the slot before, or null.
  T* Release(T* object) { return places_[ThreadNumber() % kPlaces].kept.exchange(object, std::memory_order_acq_rel); }

 private:
  static constexpr uint32_t kPlaces = 8;
  struct alignas(64) Place {
    std::atomic<T*> kept{nullptr};
  };
  std::array<Place, kPlaces> places_;
};

template <typename T>
class ObjectPool {
 public:
  ObjectPool() = default;
  ~ObjectPool() {
    while (T* object = spare_.Acquire()) delete object;
  }
  ObjectPool(const ObjectPool&) = delete;
  ObjectPool& operator=(const ObjectPool&) = delete;

  std::unique_ptr<T> Acquire() {
    if (T* object = spare_.Acquire()) return std::unique_ptr<T>(object);
    const std::lock_guard lock(mutex_);
    if (others_.empty()) return nullptr;
    std::unique_ptr<T> object = std::move(others_.back());
    others_.pop_back();
    return object;
  }
  void Release(std::unique_ptr<T> object) {
    std::unique_ptr<T> other(spare_.Release(object.release()));
    if (other == nullptr) return;
    const std::lock_guard lock(mutex_);
    others_.push_back(std::move(other));
  }

 private:
  ObjectSlots<T> spare_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> others_;
};

}  // namespace epiphyte::core

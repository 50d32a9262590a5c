// Objects that are kept for the next who needs one: what is made for each of several users at a time, and used again. A
// few are handed over without a lock, each thread's last one to that thread first, so that threads which do this all
// the time share nothing; further ones through a list that a mutex guards.
//
//     std::unique_ptr<Frame> frame = spare_frames_.Take();   // null: none is kept, make one
//     …
//     spare_frames_.Give(std::move(frame));
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

// Those that are handed over without a lock. Owns nothing: who destroys it takes what is left.
template <typename T>
class Spare {
 public:
  // This thread's; else another's, as threads come and go; null when there is none.
  T* Take() {
    const uint32_t own = ThreadNumber();
    for (uint32_t i = 0; i < kPlaces; ++i) {
      std::atomic<T*>& kept = places_[(own + i) % kPlaces].kept;
      if (kept.load(std::memory_order_relaxed) == nullptr) continue;
      if (T* object = kept.exchange(nullptr, std::memory_order_acquire)) return object;
    }
    return nullptr;
  }
  // Keeps `object` and gives back what was kept in its place before, or null.
  T* Give(T* object) { return places_[ThreadNumber() % kPlaces].kept.exchange(object, std::memory_order_acq_rel); }

 private:
  static constexpr uint32_t kPlaces = 8;
  struct alignas(64) Place {
    std::atomic<T*> kept{nullptr};
  };
  std::array<Place, kPlaces> places_;
};

template <typename T>
class Spares {
 public:
  Spares() = default;
  ~Spares() {
    while (T* object = spare_.Take()) delete object;
  }
  Spares(const Spares&) = delete;
  Spares& operator=(const Spares&) = delete;

  std::unique_ptr<T> Take() {
    if (T* object = spare_.Take()) return std::unique_ptr<T>(object);
    const std::lock_guard lock(mutex_);
    if (others_.empty()) return nullptr;
    std::unique_ptr<T> object = std::move(others_.back());
    others_.pop_back();
    return object;
  }
  void Give(std::unique_ptr<T> object) {
    std::unique_ptr<T> other(spare_.Give(object.release()));
    if (other == nullptr) return;
    const std::lock_guard lock(mutex_);
    others_.push_back(std::move(other));
  }

 private:
  Spare<T> spare_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> others_;
};

}  // namespace epiphyte::core

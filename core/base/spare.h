// Objects that are kept for the next who needs one: what is made for each of several users at a time, and used again. One
// is handed over without a lock, further ones through a list that a mutex guards, so that with one user at a time the
// mutex is never taken.
//
//     std::unique_ptr<Frame> frame = spare_frames_.Take();   // null: none is kept, make one
//     …
//     spare_frames_.Give(std::move(frame));
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace epiphyte::core {

// The one that is handed over without a lock. Owns nothing: who destroys it takes what is left.
template <typename T>
class Spare {
 public:
  T* Take() {
    if (kept_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    return kept_.exchange(nullptr, std::memory_order_acquire);
  }
  // Keeps `object` and gives back what was kept before, or null.
  T* Give(T* object) { return kept_.exchange(object, std::memory_order_acq_rel); }

 private:
  std::atomic<T*> kept_{nullptr};
};

template <typename T>
class Spares {
 public:
  Spares() = default;
  ~Spares() { delete spare_.Take(); }
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

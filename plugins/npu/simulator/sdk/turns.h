// Turns for work that can't overlap: among waiting callers the one with the highest priority is next, and among equal
// ones the one that came first.
//
//   const Turns::Turn turn(turns, priority, [&] { return !cancelled; });
//   if (turn) ...                             // ours until the end of the block
//
// A caller with a low priority waits as long as others keep coming with a higher one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <utility>

namespace epiphyte::npusim {

class Turns {
 public:
  class Turn {
   public:
    // Waits for the turn. `still_wanted` is called a few times per 100 ms meanwhile, on the caller's thread; it may be
    // empty. If it returns false there is no turn. Its exceptions reach the caller.
    Turn(Turns& turns, int32_t priority, const std::function<bool()>& still_wanted)
        : turns_(turns), taken_(turns.Take(priority, still_wanted)) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
      if (taken_) turns_.GiveBack();
    }
    explicit operator bool() const { return taken_; }

   private:
    Turns& turns_;
    const bool taken_;
  };

 private:
  using Place = std::pair<int64_t, uint64_t>;  // by urgency, then by arrival

  bool Take(int32_t priority, const std::function<bool()>& still_wanted) {
    std::unique_lock lock(mutex_);
    const Place place{-int64_t{priority}, ++arrivals_};
    waiting_.insert(place);
    const auto mine = [&] { return !taken_ && *waiting_.begin() == place; };
    const auto leave = [&] {
      waiting_.erase(place);
      changed_.notify_all();
    };
    while (!changed_.wait_for(lock, std::chrono::milliseconds(30), mine)) {
      if (!still_wanted) continue;
      lock.unlock();
      bool wanted = false;
      try {
        wanted = still_wanted();
      } catch (...) {
        lock.lock();
        leave();
        throw;
      }
      lock.lock();
      if (!wanted) {
        leave();
        return false;
      }
    }
    waiting_.erase(place);
    taken_ = true;
    return true;
  }

  void GiveBack() {
    const std::lock_guard lock(mutex_);
    taken_ = false;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<Place> waiting_;
  uint64_t arrivals_ = 0;
  bool taken_ = false;
};

}  // namespace epiphyte::npusim

#include "epiphyte/kit/plugin/point_listeners.hpp"

#include <optional>
#include <utility>

namespace epiphyte::kit {

PointListeners::~PointListeners() {
  {
    const Lock lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void PointListeners::Add(uint64_t point, PointListener listener) {
  const Lock lock(mutex_);
  // A new thread serves the point unless a thread is idle or waits for this point or an earlier one. A thread that
  // waits for a later point would call the listener too late.
  const bool is_served = idle_ > 0 || (!awaited_.empty() && *awaited_.begin() <= point);
  if (!is_served) threads_.emplace_back([this] { Serve(); });
  listeners_.emplace(point, std::move(listener));
  changed_.notify_one();
}

void PointListeners::Serve() {
  Lock lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [this] { return is_ending_ || !listeners_.empty(); });
    --idle_;
    if (listeners_.empty()) return;
    const uint64_t point = listeners_.begin()->first;
    const auto awaited = awaited_.insert(point);
    std::vector<PointListener> reached;
    reached.push_back(std::move(listeners_.begin()->second));
    listeners_.erase(listeners_.begin());

    lock.unlock();
    std::optional<Error> failure;
    try {
      wait_(point);
    } catch (const Error& error) {
      failure = error;
    } catch (const std::exception& error) {
      failure.emplace(EP_STATUS_EP_FAIL, error.what());
    }
    lock.lock();

    awaited_.erase(awaited);
    // Earlier points are reached too. A failure concerns this point only; the stream may not even have such a point.
    const auto end = listeners_.upper_bound(point);
    for (auto next = failure ? listeners_.lower_bound(point) : listeners_.begin(); next != end;
         next = listeners_.erase(next))
      reached.push_back(std::move(next->second));
    lock.unlock();
    for (const PointListener& listener : reached) listener(failure ? &*failure : nullptr);
    reached.clear();
    lock.lock();
  }
}

}  // namespace epiphyte::kit

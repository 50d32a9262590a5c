// PointListeners: implements EpDeviceApi::OnReached for streams that can wait for a point. A thread waits for the
// earliest point that has a listener, and calls the listener. Without listeners there is no thread.
//
//   kit::PointListeners listeners([&](uint64_t point) { stream.Synchronize(point, UINT64_MAX); });
//   listeners.Add(point, [](const kit::Error* failure) { … });
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::kit {

// Callback for a point of a stream. It is called with null when the point is reached, and with a failure when the point
// can't be reached any more.
using PointListener = std::function<void(const Error* failure)>;

// [any thread]
class PointListeners {
 public:
  // `wait` returns when a point is reached, and throws when the point can't be reached any more. Several threads call
  // it at once.
  explicit PointListeners(std::function<void(uint64_t point)> wait) : wait_(std::move(wait)) {}
  // Returns when all listeners were called and no call is in progress. Do not destroy it in a listener.
  ~PointListeners();
  PointListeners(const PointListeners&) = delete;
  PointListeners& operator=(const PointListeners&) = delete;

  // `listener` is called once. It must not throw.
  void Add(uint64_t point, PointListener listener);

 private:
  using Lock = std::unique_lock<std::mutex>;
  void Serve();

  const std::function<void(uint64_t point)> wait_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<uint64_t, PointListener> listeners_;
  std::multiset<uint64_t> awaited_;  // points that threads wait for
  std::vector<std::thread> threads_;
  size_t idle_ = 0;  // threads that wait for listeners
  bool is_ending_ = false;
};

}  // namespace epiphyte::kit

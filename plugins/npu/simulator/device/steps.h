// Steps: lets a long command notice that its run is to end. A verified command can take hours: for example a pool with
// a window of 16,384 elements for each of 2^28 results.
//
//   Steps steps([&] { return !run.IsCancelled(); });
//   for (each row) { steps.Count(columns); Compute(row); }   // throws Steps::Stopped
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace epiphyte::npusim {

class Steps {
 public:
  // Thrown when the run is to end.
  struct Stopped {};

  // `go_on` is called from time to time; false ends the run. It may be empty.
  explicit Steps(std::function<bool()> go_on) : go_on_(std::move(go_on)) {}

  // Counts elements that are about to be computed.
  void Count(uint64_t steps) {
    if (steps < left_) {
      left_ -= steps;
    } else {
      Ask();
    }
  }

 private:
  // Steps that take some milliseconds.
  static constexpr uint64_t kBetweenQuestions = uint64_t{1} << 22;

  void Ask() {
    left_ = kBetweenQuestions;
    if (go_on_ && !go_on_()) throw Stopped{};
  }

  std::function<bool()> go_on_;
  uint64_t left_ = kBetweenQuestions;
};

// Like steps->Count. A null `steps` counts nothing, for commands that run without one.
inline void Count(Steps* steps, uint64_t count) {
  if (steps != nullptr) steps->Count(count);
}

}  // namespace epiphyte::npusim

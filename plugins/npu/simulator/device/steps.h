// Steps: lets one long command hear that its run is to end. A verified command can still be hours of work: a pool with
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

  // `go_on` is asked now and then; false ends the run. May be empty.
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
  // Some milliseconds of work.
  static constexpr uint64_t kBetweenQuestions = uint64_t{1} << 22;

  void Ask() {
    left_ = kBetweenQuestions;
    if (go_on_ && !go_on_()) throw Stopped{};
  }

  std::function<bool()> go_on_;
  uint64_t left_ = kBetweenQuestions;
};

// For a command that may be run without any: null counts nothing.
inline void Count(Steps* steps, uint64_t count) {
  if (steps != nullptr) steps->Count(count);
}

}  // namespace epiphyte::npusim

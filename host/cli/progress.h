// Progress: a bar on standard error while something long is going on. It shows only on a terminal, only after a
// second, and is gone when the object is. It fills as Update says; until then a block moves back and forth. What the
// work is at, as far as Update tells, stands beside it.
//
//   Progress progress("compiling resnet50.onnx");
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "epiphyte/options.hpp"

namespace epiphyte::cli {

class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  // [any thread]
  void Update(const SessionProgress& at);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void Show();
  std::string Bar(int step) const;

  std::string what_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  double fraction_ = -1;  // below 0: not known
  std::string detail_;
  std::thread thread_;
};

}  // namespace epiphyte::cli

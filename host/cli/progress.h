// Progress: a bar on standard error during long work. It appears only on a terminal and only after a second, and the
// destructor removes it. Update sets its length; before the first Update, a block moves back and forth. Beside the bar
// is the text of the last Update.
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
  double fraction_ = -1;  // negative: unknown
  std::string detail_;
  std::thread thread_;
};

}  // namespace epiphyte::cli

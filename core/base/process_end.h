// ProcessEnd: stops the core's work before exit() runs the destructors of the libraries that the core uses.
//
// exit() destroys static objects of libonnx, protobuf and other libraries while other threads may still read a model.
// Calls that use such objects are counted. When exit() is called, running calls are told to stop, and exit() waits for
// them, for some seconds at most. Later calls are refused, and remaining objects end with the process. The plugins'
// counterpart is epiphyte/kit/abi/process_end.hpp.
//
//   ProcessEnd::Notice();          // once, when the objects exist
//   const ProcessEnd::Call call;   // throws CANCELED when the process ends
//   for (…) { ProcessEnd::ThrowIfBegun(); … }
#pragma once

#include <atomic>

namespace epiphyte::core {

class ProcessEnd {
 public:
  // From now on the end of the process is noticed before any object that exists already is destroyed. [any thread]
  static void Notice();
  // Throws CANCELED once exit() was called. [any thread]
  static void ThrowIfBegun() {
    if (has_begun_.load(std::memory_order_relaxed)) [[unlikely]]
      Throw();
  }

  // Work that exit() waits for, on the thread that constructs this object. Construct it on the stack.
  class Call {
   public:
    Call();
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
  };

 private:
  [[noreturn]] static void Throw();
  static void Begin();

  static constinit std::atomic<bool> has_begun_;
};

}  // namespace epiphyte::core

// Process end: keeps the core from working beside the destructors of the libraries that it is made of.
//
// exit() destroys the static objects of libonnx, of protobuf and of others while other threads may still read a model.
// Calls that use such objects are counted. When exit() is called, the calls under way are told to give up, exit() waits
// until they have, for some seconds at most, and later ones are refused. What there is then goes with the process. The
// plugins' side is the kit's (epiphyte/kit/abi/process_end.hpp).
//
//   ProcessEnd::Notice();          // once, when the objects exist
//   const ProcessEnd::Call call;   // throws CANCELED when the process ends
//   for (…) { ProcessEnd::ThrowIfBegun(); … }
#pragma once

#include <atomic>

namespace epiphyte::core {

class ProcessEnd {
 public:
  // From now on the end is noticed before anything is destroyed that was made before. [any thread]
  static void Notice();
  // Throws CANCELED once exit() was called. [any thread]
  static void ThrowIfBegun() {
    if (has_begun_.load(std::memory_order_relaxed)) [[unlikely]]
      Throw();
  }

  // Work that exit() waits for, on its thread. On the stack.
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

// Process end: keeps a plugin from working beside the destructors of the libraries that it is made of.
//
// exit() destroys a library's static objects while other threads may still be in that library. The kit counts the calls
// that the host makes into the plugin. When exit() is called, calls under way are told to give up, exit() waits until
// they have, for some seconds at most, and later calls are refused or, where they release something, do nothing. What
// there is then goes with the process. A host may have sessions in static variables, so such calls do come.
//
// Handlers that are registered last are called first. The kit registers one when the plugin is initialized, and when a
// call that compiles, loads or executes is done for the first time. A plugin that opens a library later says so:
//
//   driver = dlopen("libdriver.so", RTLD_NOW);
//   kit::ProcessEnd::Notice();
//
//   // In work that takes long and asks neither Task nor Run whether it was cancelled:
//   for (…) { kit::ProcessEnd::ThrowIfBegun(); … }
#pragma once

#include <atomic>
#include <cstdint>

#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::kit {

class ProcessEnd {
 public:
  // exit() was called, and waits for the calls under way: give up what takes long. [any thread]
  static bool HasBegun() { return has_begun_.load(std::memory_order_relaxed); }
  // It waits no longer: nothing of a library that has destructors may be used any more. [any thread]
  static bool IsOver() { return is_over_.load(std::memory_order_relaxed); }
  // Throws CANCELED once it has begun.
  static void ThrowIfBegun() {
    if (HasBegun()) [[unlikely]]
      Throw();
  }
  // From now on the end is noticed before anything is destroyed that was made before. [any thread]
  static void Notice();

  // One call of the host's, on its thread. On the stack.
  class Call {
   public:
    Call();
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    // False: the process ends, and nothing may be done.
    explicit operator bool() const { return may_go_on_; }

   private:
    bool may_go_on_;
  };

 private:
  [[noreturn]] static void Throw();
  static void Begin();

  static constinit std::atomic<bool> has_begun_;
  static constinit std::atomic<bool> is_over_;
};

// As Guard, for what the host calls; it fails with CANCELED when the process ends.
template <typename Body>
EpStatus* GuardCall(const EpHostInfo& host, Body&& body) noexcept {
  const ProcessEnd::Call call;
  return Guard(host, [&] {
    ProcessEnd::ThrowIfBegun();
    body();
  });
}

// The same for calls that release something and give no status.
template <typename Body>
void ReleaseCall(Body&& body) noexcept {
  if (const ProcessEnd::Call call; call) body();
}

}  // namespace epiphyte::kit

// ProcessEnd: keeps a plugin from running while the process destroys the libraries that the plugin consists of.
//
// exit() destroys static objects of a library while other threads may still run in that library. So the kit counts the
// host's calls into the plugin. When exit() is called, the kit tells calls in progress to give up, and exit() waits a
// few seconds at most until they return. Later calls are refused; later calls that release something do nothing, and
// the process frees those objects. Such calls happen: a host may keep sessions in static variables.
//
// Exit handlers run in reverse order of registration. The kit registers a handler when the plugin is initialized. It
// registers again in the first call that compiles, in the first that loads a context, and in the first that executes. A
// plugin that opens a library later must register again, too:
//
//   driver = dlopen("libdriver.so", RTLD_NOW);
//   kit::ProcessEnd::Notice();
//
//   // In long work that does not ask Task or Run for cancellation:
//   for (…) { kit::ProcessEnd::ThrowIfBegun(); … }
#pragma once

#include <atomic>
#include <cstdint>

#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::kit {

class ProcessEnd {
 public:
  // True once exit() was called: it waits for calls in progress, so give up long work. [any thread]
  static bool HasBegun() { return has_begun_.load(std::memory_order_relaxed); }
  // True once exit() waits no longer: use no library with destructors any more. [any thread]
  static bool IsOver() { return is_over_.load(std::memory_order_relaxed); }
  // Throws CANCELED when HasBegun.
  static void ThrowIfBegun() {
    if (HasBegun()) [[unlikely]]
      Throw();
  }
  // Registers an exit handler that runs before the destructors of everything that exists now. [any thread]
  static void Notice();

  // One call of the host into the plugin, on the caller's thread. Make it on the stack.
  class Call {
   public:
    Call();
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    // False: the process ends, and the call must do nothing.
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

// Does what Guard does, for functions that the host calls. Fails with CANCELED when the process ends.
template <typename Body>
EpStatus* GuardCall(const EpHostInfo& host, Body&& body) noexcept {
  const ProcessEnd::Call call;
  return Guard(host, [&] {
    ProcessEnd::ThrowIfBegun();
    body();
  });
}

// Does what GuardCall does, for functions that release something and return no status.
template <typename Body>
void ReleaseCall(Body&& body) noexcept {
  if (const ProcessEnd::Call call; call) body();
}

}  // namespace epiphyte::kit

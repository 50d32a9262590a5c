// CallScopedHandle: handle of an object that a plugin may use only during one call into it (a sink, the values of a
// run).
//
// The plugin gets a number instead of an address. The host looks the number up among the calls that this thread is in
// and never follows it. A foreign handle, the handle of a call that has ended, and a handle used on another thread are
// not found. No number is given out twice.
//
//   CallScopedHandle<EpCapabilitySink> open(&sink);            // as long as the call
//   plugin->GetCapability(provider, graph, open.handle());
//   …
//   EpCapabilitySink* sink = CallScopedHandle<EpCapabilitySink>::Find(handle);      // null: refuse it
#pragma once

#include <atomic>
#include <cstdint>

namespace epiphyte::core {

template <typename Object>
class CallScopedHandle {
 public:
  explicit CallScopedHandle(Object* object) : object_(object), outer_(innermost_) { innermost_ = this; }
  // This handle is not always the innermost one. A plugin may use the handle of an outer call within an inner one, and
  // some objects are opened at their first use.
  ~CallScopedHandle() {
    CallScopedHandle** at = &innermost_;
    while (*at != this) at = &(*at)->outer_;
    *at = outer_;
  }
  CallScopedHandle(const CallScopedHandle&) = delete;
  CallScopedHandle& operator=(const CallScopedHandle&) = delete;

  // An odd number, which no object's address is.
  Object* handle() const { return reinterpret_cast<Object*>(2 * number_ + 1); }

  // Returns null when no such handle is open on this thread.
  static Object* Find(const Object* handle) {
    for (const CallScopedHandle* call = innermost_; call != nullptr; call = call->outer_) {
      if (call->handle() == handle) return call->object_;
    }
    return nullptr;
  }
  // Returns the innermost open object that `matches`.
  template <typename Matches>
  static Object* FindIf(Matches matches) {
    for (const CallScopedHandle* call = innermost_; call != nullptr; call = call->outer_) {
      if (matches(*call->object_)) return call->object_;
    }
    return nullptr;
  }

 private:
  // List of all open calls of the thread. There may be several: an adapter plugin opens sessions of its own in a call.
  static inline thread_local CallScopedHandle* innermost_ = nullptr;
  static inline std::atomic<uintptr_t> last_number_{0};
  const uintptr_t number_ = last_number_.fetch_add(1, std::memory_order_relaxed);
  Object* object_;
  CallScopedHandle* outer_;
};

}  // namespace epiphyte::core

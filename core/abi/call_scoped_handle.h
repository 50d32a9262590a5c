// CallScopedHandle: the objects that a plugin may use while one call into it lasts (a sink, the values of a run).
//
// The plugin gets a number instead of an address, and what it passes back is looked up among the calls that this thread
// is in, never followed: a foreign handle, one of a call that has ended, and one that is used on another thread are all
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
  // Not always the innermost: a plugin may use what an outer call gave it inside of an inner one, and some objects are
  // opened at their first use.
  ~CallScopedHandle() {
    CallScopedHandle** at = &innermost_;
    while (*at != this) at = &(*at)->outer_;
    *at = outer_;
  }
  CallScopedHandle(const CallScopedHandle&) = delete;
  CallScopedHandle& operator=(const CallScopedHandle&) = delete;

  // Odd, as no address of an object is.
  Object* handle() const { return reinterpret_cast<Object*>(2 * number_ + 1); }

  // Null when `handle` is none that is open on this thread.
  static Object* Find(const Object* handle) {
    for (const CallScopedHandle* call = innermost_; call != nullptr; call = call->outer_) {
      if (call->handle() == handle) return call->object_;
    }
    return nullptr;
  }
  // The innermost one that `matches`.
  template <typename Matches>
  static Object* FindIf(Matches matches) {
    for (const CallScopedHandle* call = innermost_; call != nullptr; call = call->outer_) {
      if (matches(*call->object_)) return call->object_;
    }
    return nullptr;
  }

 private:
  // A plugin may be inside several calls on one thread: an adapter opens sessions of its own in them.
  static inline thread_local CallScopedHandle* innermost_ = nullptr;
  static inline std::atomic<uintptr_t> last_number_{0};
  const uintptr_t number_ = last_number_.fetch_add(1, std::memory_order_relaxed);
  Object* object_;
  CallScopedHandle* outer_;
};

}  // namespace epiphyte::core

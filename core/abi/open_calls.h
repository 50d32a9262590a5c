// OpenCall: the objects that a plugin may use while one call into it lasts (a sink, the values of a run), by address.
//
// A handle that a plugin passes back is compared with those of the calls that this thread is in, never followed: a
// foreign one, one of a call that has ended, and one that is used on another thread are all not found.
//
//   OpenCall<EpCapabilitySink> open(&sink);            // as long as the call
//   if (OpenCall<EpCapabilitySink>::Find(handle) == nullptr) return NotOpen();
#pragma once

namespace epiphyte::core {

template <typename Object>
class OpenCall {
 public:
  explicit OpenCall(Object* object) : object_(object), outer_(innermost_) { innermost_ = this; }
  ~OpenCall() { innermost_ = outer_; }
  OpenCall(const OpenCall&) = delete;
  OpenCall& operator=(const OpenCall&) = delete;

  // Null when `handle` is none that is open on this thread.
  static Object* Find(const Object* handle) {
    return FindIf([handle](const Object& object) { return &object == handle; });
  }
  // The innermost one that `matches`.
  template <typename Matches>
  static Object* FindIf(Matches matches) {
    for (const OpenCall* call = innermost_; call != nullptr; call = call->outer_) {
      if (matches(*call->object_)) return call->object_;
    }
    return nullptr;
  }

 private:
  // A plugin may be inside several calls on one thread: an adapter opens sessions of its own in them.
  static inline thread_local OpenCall* innermost_ = nullptr;
  Object* object_;
  OpenCall* outer_;
};

}  // namespace epiphyte::core

// DebugProfile: a trace that stores nothing. Each span is checked against the rules as it arrives.
//
//   DebugProfile profile;                  // the trace begins
//   run.ProfileWith(profile.handle());
#pragma once

#include <atomic>
#include <cstdint>

#include "epiphyte/ep_profile.h"

namespace epiphyte::conformance {

class DebugProfile {
 public:
  DebugProfile();
  ~DebugProfile();
  DebugProfile(const DebugProfile&) = delete;
  DebugProfile& operator=(const DebugProfile&) = delete;

  EpProfile* handle() const { return handle_; }
  uint64_t span_count() const { return spans_; }

  // Accepts all spans or none. [any thread]
  EpStatus* Add(const EpProfileSpan* const* spans, uint64_t count);

 private:
  const int64_t began_;
  std::atomic<uint64_t> spans_{0};
  EpProfile* handle_;
};

}  // namespace epiphyte::conformance

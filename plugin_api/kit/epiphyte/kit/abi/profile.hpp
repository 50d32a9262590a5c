// Profile: adds the plugin's own time spans to the session's trace. See epiphyte/ep_profile.h.
//
//   void Execute(const kit::Run& run) override {
//     const kit::Profile profile(host, run.handle());        // false, and free, when the session isn't profiled
//     const kit::Profile::Span span(profile, "multiply");    // from here to the end of the block
//     …
//     if (profile) profile.Add("copy", clock.ToHost(began), clock.ToHost(ended), "queue 1");
//   }
#pragma once

#include <cstdint>

#include "epiphyte/ep_profile.h"
#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::kit {

class Profile {
 public:
  Profile() = default;
  Profile(const EpHostInfo& host, const EpRun* run) : Profile(host) {
    if (api_ != nullptr) profile_ = api_->OfRun(run);
  }
  Profile(const EpHostInfo& host, const EpTask* task) : Profile(host) {
    if (api_ != nullptr) profile_ = api_->OfTask(task);
  }

  // False: nothing is recorded.
  explicit operator bool() const { return profile_ != nullptr; }
  // Nanoseconds on the host's clock; 0 when nothing is recorded.
  int64_t Now() const { return profile_ == nullptr ? 0 : api_->Now(); }
  // Adds a span. `track` is the row in the trace; null: the provider's row. Throws for an invalid span.
  void Add(const char* name, int64_t start_ns, int64_t end_ns, const char* track = nullptr) const {
    if (profile_ == nullptr) return;
    EpProfileSpan span = {};
    span.struct_size = sizeof(span);
    span.name = name;
    span.track = track;
    span.start_ns = start_ns;
    span.end_ns = end_ns;
    const EpProfileSpan* const spans[] = {&span};
    ThrowIfFailed(*host_, api_->AddSpans(profile_, spans, 1));
  }

  // Records the time from its construction to its destruction. `name` and `profile` must outlive it.
  class Span {
   public:
    Span(const Profile& profile, const char* name) : profile_(profile), name_(name), start_(profile.Now()) {}
    ~Span() {
      try {
        profile_.Add(name_, start_, profile_.Now());
      } catch (...) {
        // Losing a span is no reason to fail.
      }
    }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    const Profile& profile_;
    const char* name_;
    int64_t start_;
  };

 private:
  explicit Profile(const EpHostInfo& host)
      : host_(&host), api_(static_cast<const EpProfileApi*>(host.GetExtension(&host, EP_PROFILE_EXTENSION))) {}

  const EpHostInfo* host_ = nullptr;
  const EpProfileApi* api_ = nullptr;
  EpProfile* profile_ = nullptr;
};

// Converts times of a device's clock to the host's clock. The constructor takes the device's ticks and the host's time
// at one moment, and the length of a tick. If the clocks drift, make a new object now and then.
class DeviceClock {
 public:
  DeviceClock(uint64_t ticks, int64_t host_ns, double ns_per_tick)
      : ticks_(ticks), host_ns_(host_ns), ns_per_tick_(ns_per_tick) {}

  int64_t ToHost(uint64_t ticks) const {
    // The difference is negative for ticks before the constructor's moment. The counter may wrap around.
    const auto passed = static_cast<int64_t>(ticks - ticks_);
    return host_ns_ + static_cast<int64_t>(static_cast<double>(passed) * ns_per_tick_);
  }

 private:
  uint64_t ticks_;
  int64_t host_ns_;
  double ns_per_tick_;
};

}  // namespace epiphyte::kit

// Profile: the plugin's own spans of time in the session's trace. See epiphyte/ep_profile.h.
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
  // Nanoseconds of the host's clock; 0 when nothing is recorded.
  int64_t Now() const { return profile_ == nullptr ? 0 : api_->Now(); }
  // `track`: the row; null: the provider's own. Throws for a span that can't be.
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

  // The time between its construction and its end. `name` and `profile` outlive it.
  class Span {
   public:
    Span(const Profile& profile, const char* name) : profile_(profile), name_(name), start_(profile.Now()) {}
    ~Span() {
      try {
        profile_.Add(name_, start_, profile_.Now());
      } catch (...) {
        // A span that is lost is no reason to fail.
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

// A device's clock, by the ticks that it showed at one moment of the host's and how long a tick is. Where the two
// drift, make a new one now and then.
class DeviceClock {
 public:
  DeviceClock(uint64_t ticks, int64_t host_ns, double ns_per_tick)
      : ticks_(ticks), host_ns_(host_ns), ns_per_tick_(ns_per_tick) {}

  int64_t ToHost(uint64_t ticks) const {
    // Ticks before the moment count back; the counter may wrap around.
    const auto passed = static_cast<int64_t>(ticks - ticks_);
    return host_ns_ + static_cast<int64_t>(static_cast<double>(passed) * ns_per_tick_);
  }

 private:
  uint64_t ticks_;
  int64_t host_ns_;
  double ns_per_tick_;
};

}  // namespace epiphyte::kit

// Profile: one provider's access to the trace of a session.
//
//   Profile profile(sink, "vulkan");
//   … profile.handle() …                  // what the plugin gets, as long as this object lives
//
// The plugin gets a number, which is looked up. No number is given out twice.
#pragma once

#include <cstdint>
#include <string>

#include "core/abi/span_sink.h"
#include "epiphyte/ep_profile.h"

namespace epiphyte::core {

class Profile {
 public:
  // `sink` must outlive this object.
  Profile(SpanSink& sink, std::string provider);
  // Waits for the spans that the plugin's threads are adding.
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  EpProfile* handle() const;
  // Adds all spans to the profile of `handle`, or none. Throws INVALID_ARGUMENT for a handle without a profile, and for
  // impossible spans.
  static void Add(const EpProfile* handle, const EpProfileSpan* const* spans, uint64_t count);

 private:
  void AddChecked(const EpProfileSpan* const* spans, uint64_t count);

  SpanSink& sink_;
  const std::string provider_;
  uintptr_t number_ = 0;
  bool reported_ = false;  // a warning about clipped times was logged
};

}  // namespace epiphyte::core

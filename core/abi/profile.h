// Profile: a session's trace, as one provider of it writes into it.
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
  // `sink` outlives it.
  Profile(SpanSink& sink, std::string provider);
  // Waits for what the plugin's threads are adding.
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  EpProfile* handle() const;
  // Of a handle that has a profile; throws INVALID_ARGUMENT otherwise, and for spans that can't be. All of them are
  // added, or none.
  static void Add(const EpProfile* handle, const EpProfileSpan* const* spans, uint64_t count);

 private:
  void AddChecked(const EpProfileSpan* const* spans, uint64_t count);

  SpanSink& sink_;
  const std::string provider_;
  uintptr_t number_ = 0;
  bool reported_ = false;  // that something was clipped
};

}  // namespace epiphyte::core

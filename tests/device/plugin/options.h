// Options of the provider, described in tests/device/test_device.h.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "epiphyte/ep_provider.h"

namespace epiphyte::test::device {

struct Options {
  std::set<std::string> claims;
  std::set<std::string> second;
  bool each = false;
  uint32_t memories = 2;  // one of EP_MEMORIES_…
  bool host_io = false;
  bool is_async = true;
  bool aliases = false;
  bool adopts = false;
  bool has_states = false;
  bool is_exclusive = false;
  const char* fault = nullptr;  // an entry of kTestDeviceFaults

  // Reads the options. Throws INVALID_ARGUMENT for an invalid value.
  static Options Of(const EpProviderConfig& config);
};

}  // namespace epiphyte::test::device

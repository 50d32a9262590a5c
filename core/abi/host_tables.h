// The host's side of the C ABI: the tables that a plugin gets. One constant set for the process.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/base/error.h"
#include "epiphyte/ep_host.h"

namespace epiphyte::core {

const EpHostInfo* HostInfo();

// Takes over a status that a plugin returned. Null does nothing; any other status becomes an Error with a message that
// starts with `context` ("provider 'vulkan': Compile: …"). Codes outside the table, and statuses that aren't the
// host's, become EP_FAIL.
void ThrowIfFailed(EpStatus* status, std::string_view context);
// Number of statuses that are not released yet. A rise after a failure is a leak.
size_t LiveStatusCount();
// Returns the running exception as a status, for trampolines. Call it inside catch (...).
EpStatus* CurrentExceptionToStatus() noexcept;

}  // namespace epiphyte::core
